//! Keeps a block from being replaced while anybody issues from it.

use randflake_core::AtomicWord;

/// Counts the calls of `rf_next` that are in progress. Nobody waits: an interrupt that finds the gate closed is refused,
/// and so is a caller that wants to close it while a thread is inside.
#[repr(transparent)]
pub(crate) struct Gate<W>(W);

/// Value of zeroed memory: a static `rf_t` refuses until `rf_init` was called.
const NOT_SET_UP: u32 = 0;
const CLOSED: u32 = 1;
/// Open, with nobody inside.
const OPEN: u32 = 2;

impl<W: AtomicWord<Value = u32>> Gate<W> {
    pub(crate) fn is_set_up(&self) -> bool {
        self.0.load() != NOT_SET_UP
    }

    pub(crate) fn is_open(&self) -> bool {
        self.0.load() >= OPEN
    }

    /// Enters if the gate is open, and returns whether it did. Who enters must [`leave`](Self::leave).
    #[inline]
    pub(crate) fn enter(&self) -> bool {
        self.add(1)
    }

    #[inline]
    pub(crate) fn leave(&self) {
        self.add(1_u32.wrapping_neg());
    }

    /// Changes the count if the gate is open, and returns whether it was.
    #[inline(never)]
    fn add(&self, change: u32) -> bool {
        loop {
            let inside = self.0.load();
            if inside < OPEN {
                return false;
            }
            if self.0.compare_exchange(inside, inside.wrapping_add(change)) {
                return true;
            }
        }
    }

    /// Closes the gate unless a call is inside, and returns whether it is closed.
    pub(crate) fn close(&self) -> bool {
        let inside = self.0.load();
        inside < OPEN || inside == OPEN && self.0.compare_exchange(OPEN, CLOSED)
    }

    /// Marks the `rf_t` as initialized; only its first call changes something. Call it with the gate closed.
    pub(crate) fn set_up(&self) {
        self.0.compare_exchange(NOT_SET_UP, CLOSED);
    }

    /// Opens the gate again. Only for the caller that has closed it.
    pub(crate) fn open(&self) {
        self.0.compare_exchange(CLOSED, OPEN);
    }
}
