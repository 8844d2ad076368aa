//! One word that excludes calls that would disturb each other. No call waits: one that comes at a
//! wrong time is refused.

use randflake_core::AtomicWord;

/// Who is in the library, and what is there for them.
///
/// ```text
/// calls inside (29 bits) | CLAIMED | OPEN | SET_UP
/// ```
///
/// - Calls that read the configuration or the block are *inside*: any number, from threads and
///   interrupts.
/// - A call that changes either *claims* the gate for all of its time, with all callbacks: another
///   one that comes meanwhile, from a second task, an interrupt or one of the callbacks, is
///   refused.
/// - It withdraws what it replaces, `SET_UP` or `OPEN`, which fails while a call is inside.
#[repr(transparent)]
pub(crate) struct Gate<W>(W);

/// There is a configuration. Zeroed memory has none, so a static `rf_t` refuses until `rf_init` was
/// called.
pub(crate) const SET_UP: u32 = 1;
/// Ids may be taken from the block.
pub(crate) const OPEN: u32 = 2;
const CLAIMED: u32 = 4;
/// One call inside.
const INSIDE: u32 = 8;
/// The bits that count them.
const COUNT: u32 = INSIDE.wrapping_neg();

impl<W: AtomicWord<Value = u32>> Gate<W> {
    /// Whether all of these are there.
    pub(crate) fn has(&self, flags: u32) -> bool {
        self.0.load() & flags == flags
    }

    /// Whether `rf_init` was never called, and is not in progress.
    pub(crate) fn is_untouched(&self) -> bool {
        self.0.load() == 0
    }

    /// Enters if this is there, and returns whether it is. Who enters must [`leave`](Self::leave).
    #[inline]
    pub(crate) fn enter(&self, flag: u32) -> bool {
        self.add(flag, flag, INSIDE)
    }

    #[inline]
    pub(crate) fn leave(&self) {
        self.add(0, 0, INSIDE.wrapping_neg());
    }

    /// Becomes the only call that may change something, unless there is one. It must
    /// [`release`](Self::release).
    pub(crate) fn claim(&self) -> bool {
        self.add(CLAIMED, 0, CLAIMED)
    }

    pub(crate) fn release(&self) {
        self.add(0, 0, CLAIMED.wrapping_neg());
    }

    /// Takes these away so that nobody enters for them, unless a call is inside. Only for the call
    /// that has claimed.
    pub(crate) fn withdraw(&self, flags: u32) -> bool {
        // Nobody else changes them.
        let held = self.0.load() & flags;
        self.add(COUNT, 0, held.wrapping_neg())
    }

    /// Puts these in place. Only for the call that has claimed.
    pub(crate) fn provide(&self, flags: u32) {
        let missing = flags & !self.0.load();
        self.add(0, 0, missing);
    }

    /// Adds to the word if its bits under a mask are these, and returns whether they are.
    #[inline(never)]
    fn add(&self, mask: u32, bits: u32, change: u32) -> bool {
        loop {
            let word = self.0.load();
            if word & mask != bits {
                return false;
            }
            if self.0.compare_exchange(word, word.wrapping_add(change)) {
                return true;
            }
        }
    }
}
