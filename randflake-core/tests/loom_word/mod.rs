//! The native 64-bit word over loom's atomics.

use loom::sync::atomic::{AtomicU64, Ordering};
use randflake_core::AtomicWord;

/// With the orderings of the native words.
pub(crate) struct LoomWord(AtomicU64);

impl AtomicWord for LoomWord {
    type Value = u64;

    fn new(value: u64) -> Self {
        Self(AtomicU64::new(value))
    }

    fn load(&self) -> u64 {
        self.0.load(Ordering::Acquire)
    }

    fn load_relaxed(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }

    fn compare_exchange(&self, current: u64, new: u64) -> bool {
        self.0
            .compare_exchange(current, new, Ordering::AcqRel, Ordering::Relaxed)
            .is_ok()
    }
}
