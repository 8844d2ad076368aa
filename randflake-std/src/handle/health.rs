//! Whether a handle can issue, for a readiness probe.

use core::time::Duration;
use std::sync::Arc;

use crate::lease::StoreError;

/// Whether a handle can issue: see [`Handle::health`](super::Handle::health).
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum Health {
    /// It issues, and the store answers.
    Ready {
        /// How long until the last lease ends, unless it is renewed.
        remaining: Duration,
    },
    /// It issues and its leases are renewed, but the load asks for more node ids than the store has granted of the
    /// [range that is allowed](super::Builder::node_ids): a namespace is full. Calls are refused, or wait, where a tick
    /// runs out.
    Short {
        /// How long until the last lease ends, unless it is renewed.
        remaining: Duration,
        /// Why the store granted no more.
        error: Arc<StoreError>,
    },
    /// It issues, until its leases end: the last call of the store failed.
    Degraded {
        /// How long until the last lease ends.
        remaining: Duration,
        /// Why the call failed.
        error: Arc<StoreError>,
    },
    /// No lease can be used now; the keeper sees to others.
    NotReady {
        /// How long until a lease begins that is held already; `None` if there is none.
        begins_in: Option<Duration>,
        /// Why the last call of the store failed; `None` when it succeeded.
        error: Option<Arc<StoreError>>,
    },
    /// The handle was closed.
    Closed,
}

impl Health {
    /// Whether the handle can issue now: what a readiness probe asks.
    #[must_use]
    pub const fn is_ready(&self) -> bool {
        matches!(
            self,
            Self::Ready { .. } | Self::Short { .. } | Self::Degraded { .. }
        )
    }
}
