//! Cell for processors that load and store 32 bits in one instruction.

use core::sync::atomic::{AtomicU32, Ordering};

use critical_section::CriticalSection;

#[derive(Debug)]
pub(super) struct SharedCell(AtomicU32);

impl SharedCell {
    pub(super) const fn new(value: u32) -> Self {
        Self(AtomicU32::new(value))
    }

    #[inline]
    pub(super) fn load(&self) -> u32 {
        self.0.load(Ordering::Acquire)
    }

    #[inline]
    pub(super) fn load_relaxed(&self) -> u32 {
        self.0.load(Ordering::Relaxed)
    }

    // Relaxed is enough inside a critical section: entering and leaving it orders the accesses
    // around it.

    #[inline]
    pub(super) fn get(&self, _: CriticalSection<'_>) -> u32 {
        self.0.load(Ordering::Relaxed)
    }

    #[inline]
    pub(super) fn set(&self, _: CriticalSection<'_>, value: u32) {
        self.0.store(value, Ordering::Relaxed);
    }
}
