//! Keeps a block from being replaced while anybody issues from it.

use randflake_core::AtomicWord;

/// Counts who is inside. Nobody waits at it: an interrupt that finds it closed is refused, and so is whoever wants to
/// close it while a thread is inside.
#[repr(transparent)]
pub(crate) struct Gate<W>(W);

/// As zeroed memory is.
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

    /// Whether it was open. Whoever enters leaves.
    #[inline]
    pub(crate) fn enter(&self) -> bool {
        self.add(1)
    }

    #[inline]
    pub(crate) fn leave(&self) {
        self.add(1_u32.wrapping_neg());
    }

    /// Whether it was open.
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

    /// Whether nobody is inside, so that it is closed now.
    pub(crate) fn close(&self) -> bool {
        let inside = self.0.load();
        inside < OPEN || inside == OPEN && self.0.compare_exchange(OPEN, CLOSED)
    }

    /// After the first time it is set up. For the one who has closed it.
    pub(crate) fn set_up(&self) {
        self.0.compare_exchange(NOT_SET_UP, CLOSED);
    }

    /// For the one who has closed it.
    pub(crate) fn open(&self) {
        self.0.compare_exchange(CLOSED, OPEN);
    }
}
