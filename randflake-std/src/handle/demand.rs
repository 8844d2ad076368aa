//! Demand of an elastic handle, from its callers to its keeper: two flags, so that a refused call costs only a
//! load.

use core::sync::atomic::{AtomicBool, Ordering};

#[derive(Debug)]
pub(super) struct Demand {
    /// A call found the tick exhausted since the keeper looked.
    ran_out: AtomicBool,
    /// The keeper could acquire more: it has less than the maximum, and the store has not just refused.
    can_take: AtomicBool,
}

impl Demand {
    pub(super) fn new() -> Self {
        Self {
            ran_out: AtomicBool::new(false),
            can_take: AtomicBool::new(true),
        }
    }

    /// Notes that a tick is exhausted. Returns whether to wake the keeper.
    pub(super) fn ran_out(&self) -> bool {
        // A load first: while a tick is exhausted every call comes here, and a swap by each would make the threads contend.
        !self.ran_out.load(Ordering::Relaxed)
            && !self.ran_out.swap(true, Ordering::AcqRel)
            && self.can_take()
    }

    /// Whether the keeper must acquire at once: a tick ran out, and it can take more.
    pub(super) fn is_urgent(&self) -> bool {
        // Without `can_take` the keeper would never pause in a full namespace: callers set the flag
        // again as soon as it is cleared.
        self.can_take() && self.ran_out.load(Ordering::Acquire)
    }

    /// Whether a tick ran out since [`clear`](Demand::clear).
    pub(super) fn has_run_out(&self) -> bool {
        self.ran_out.load(Ordering::Acquire)
    }

    /// Forgets the exhausted ticks so far: the keeper has seen them.
    pub(super) fn clear(&self) {
        self.ran_out.store(false, Ordering::Release);
    }

    pub(super) fn can_take(&self) -> bool {
        self.can_take.load(Ordering::Acquire)
    }

    pub(super) fn set_can_take(&self, can_take: bool) {
        self.can_take.store(can_take, Ordering::Release);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_keeper_is_woken_by_the_first_refusal_and_if_it_can_take_more() {
        let demand = Demand::new();
        assert!(demand.can_take() && !demand.has_run_out() && !demand.is_urgent());
        assert!(demand.ran_out());
        assert!(demand.has_run_out() && demand.is_urgent());
        assert!(!demand.ran_out(), "it knows");
        demand.clear();
        assert!(!demand.has_run_out() && !demand.is_urgent());
        demand.set_can_take(false);
        assert!(!demand.ran_out());
        assert!(demand.has_run_out() && !demand.can_take() && !demand.is_urgent());
        demand.set_can_take(true);
        assert!(demand.is_urgent());
    }
}
