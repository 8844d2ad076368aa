//! Where the processor loads and stores 32 bits at once.

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

    // Entering and leaving the section orders what is around it; inside, the order among single loads and
    // stores of one word is that of the program.

    #[inline]
    pub(super) fn get(&self, _: CriticalSection<'_>) -> u32 {
        self.0.load(Ordering::Relaxed)
    }

    #[inline]
    pub(super) fn set(&self, _: CriticalSection<'_>, value: u32) {
        self.0.store(value, Ordering::Relaxed);
    }
}
