//! State of a handle: its health, for a readiness probe, and its leases.

use core::fmt::{self, Display, Formatter};
use core::time::Duration;
use std::sync::Arc;

use randflake_core::Lease;
use randflake_lease::date::span;
use randflake_lease::{Losses, StoreError};

/// Whether a handle can issue: see [`Handle::health`](super::Handle::health).
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum Health {
    /// Issues ids, and the store answers.
    Ready {
        /// How long until the last lease expires, unless it is renewed.
        remaining: Duration,
    },
    /// Issues ids and renews its leases, but the load needs more node ids of the [allowed
    /// range](super::Builder::node_ids) than are free: the namespace is full. Calls are refused, or
    /// wait, when a tick is exhausted.
    Short {
        /// How long until the last lease ends, unless it is renewed.
        remaining: Duration,
        /// Why the store granted no more.
        error: Arc<StoreError>,
    },
    /// Issues ids until its leases expire: the last call of the store failed.
    Degraded {
        /// How long until the last lease ends.
        remaining: Duration,
        /// Why the call failed.
        error: Arc<StoreError>,
    },
    /// Has no lease that can be used now; the keeper is acquiring one.
    NotReady {
        /// Why the last call of the store failed; `None` if it succeeded.
        error: Option<Arc<StoreError>>,
    },
    /// The handle was closed.
    Closed,
    /// This process is a forked child of the one that built the handle, which issues nothing here.
    InForkedChild,
}

/// One line for logs and probes.
impl Display for Health {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match self {
            Self::Ready { remaining } => {
                write!(f, "ready: the last lease expires in {}", span(*remaining))
            }
            Self::Short { remaining, error } => write!(
                f,
                "short of node ids, and the last lease expires in {}: {error}",
                span(*remaining)
            ),
            Self::Degraded { remaining, error } => write!(
                f,
                "degraded: ids are issued for another {}, and the store fails: {error}",
                span(*remaining)
            ),
            Self::NotReady { error: Some(error) } => write!(f, "not ready: {error}"),
            Self::NotReady { error: None } => f.write_str("not ready: a lease is being acquired"),
            Self::Closed => f.write_str("closed"),
            Self::InForkedChild => f.write_str("not ready: this process is a forked child"),
        }
    }
}

impl Health {
    /// Whether the handle can issue ids now, for a readiness probe.
    #[must_use]
    pub const fn is_ready(&self) -> bool {
        // Not whether the store answers: in its outage all instances of a service would fail their
        // probes at once, while their leases still allow ids.
        matches!(
            self,
            Self::Ready { .. } | Self::Short { .. } | Self::Degraded { .. }
        )
    }
}

/// The leases of a handle, what was lost and why the store failed: see
/// [`Handle::lease`](super::Handle::lease).
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct LeaseStatus<L> {
    /// One lease for each node id.
    pub leases: Vec<Lease<L>>,
    /// How long until the last of them expires, unless renewed; zero if all have expired, and no
    /// further id is issued under them.
    pub remaining: Duration,
    /// How many leases were lost, by reason.
    pub losses: Losses,
    /// Why the last call of the store failed; `None` if it succeeded.
    pub last_error: Option<Arc<StoreError>>,
    /// Why the store has not granted as many node ids of the [allowed
    /// range](super::Builder::node_ids) as the load needs; `None` if it has.
    pub shortage: Option<Arc<StoreError>>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_health_is_one_line() {
        let error = Arc::new(StoreError::unavailable("refused"));
        let remaining = Duration::from_secs(40);
        for (health, line) in [
            (
                Health::Ready { remaining },
                "ready: the last lease expires in 40s",
            ),
            (
                Health::Degraded { remaining, error },
                "degraded: ids are issued for another 40s, and the store fails: ",
            ),
            (
                Health::NotReady { error: None },
                "not ready: a lease is being acquired",
            ),
            (Health::Closed, "closed"),
        ] {
            let said = health.to_string();
            assert!(said.starts_with(line), "{said}");
            assert_eq!(said.lines().count(), 1);
        }
    }
}
