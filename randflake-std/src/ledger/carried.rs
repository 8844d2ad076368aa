//! The store's clock between two answers.

use core::time::Duration;

use crate::clock::Monotonic;

/// By how much a store's clock may differ from what is expected of it before it counts as having leapt: what a server
/// that slews its clock, and two clocks that drift, do between two renewals.
pub(super) const LEAP: Duration = Duration::from_secs(1);

/// What the store's clock showed, carried on by this machine's monotonic clock.
#[derive(Clone, Copy, Debug)]
pub(super) struct Carried {
    store: Duration,
    sent: Monotonic,
    received: Monotonic,
}

impl Carried {
    /// An answer just received, to a request sent at `sent`.
    pub(super) fn new(store: Duration, sent: Monotonic) -> Self {
        Self {
            store,
            sent,
            received: Monotonic::exact(),
        }
    }

    /// What it shows now, at the least.
    pub(super) fn now(&self) -> Duration {
        self.store + Monotonic::exact().since(self.received)
    }

    /// Between which times it must show another answer, to a request sent at `sent`, unless it leapt.
    pub(super) fn expected(&self, sent: Monotonic) -> (Duration, Duration) {
        let least = self.store + sent.since(self.received);
        let most = self.store + Monotonic::exact().since(self.sent);
        (least.saturating_sub(LEAP), most + LEAP)
    }
}
