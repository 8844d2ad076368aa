//! What callers of an elastic handle tell its keeper: two flags, so that a refused call costs no more than a look.

use core::sync::atomic::{AtomicBool, Ordering};

#[derive(Debug)]
pub(super) struct Demand {
    /// Somebody found no id left of a tick since the keeper looked.
    ran_out: AtomicBool,
    /// The keeper could take more at once: not when it has all that are allowed, nor when the store has just refused.
    can_take: AtomicBool,
}

impl Demand {
    pub(super) fn new() -> Self {
        Self {
            ran_out: AtomicBool::new(false),
            can_take: AtomicBool::new(true),
        }
    }

    /// Notes that a tick ran out, and says whether the keeper is to be woken.
    pub(super) fn ran_out(&self) -> bool {
        !self.ran_out.load(Ordering::Relaxed)
            && !self.ran_out.swap(true, Ordering::AcqRel)
            && self.can_take()
    }

    /// Whether the keeper is to look at once.
    pub(super) fn is_urgent(&self) -> bool {
        self.can_take() && self.ran_out.load(Ordering::Acquire)
    }

    /// Whether a tick ran out since [`answered`](Demand::answered).
    pub(super) fn has_run_out(&self) -> bool {
        self.ran_out.load(Ordering::Acquire)
    }

    /// What was noted so far is dealt with.
    pub(super) fn answered(&self) {
        self.ran_out.store(false, Ordering::Release);
    }

    pub(super) fn can_take(&self) -> bool {
        self.can_take.load(Ordering::Acquire)
    }

    pub(super) fn set_can_take(&self, can_take: bool) {
        self.can_take.store(can_take, Ordering::Release);
    }
}
