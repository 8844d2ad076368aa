//! Whether a handle can issue, for a readiness probe.

use core::time::Duration;
use std::sync::Arc;

use crate::vocabulary::StoreError;

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
    /// range](super::Builder::node_ids) than are free: the namespace is full. Calls are refused, or wait, when a tick
    /// is exhausted.
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
