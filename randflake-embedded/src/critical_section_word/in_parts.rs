//! Cell for processors that load and store 32 bits in parts (AVR).

use core::cell::Cell;

use critical_section::{CriticalSection, Mutex};

#[derive(Debug)]
pub(super) struct SharedCell(Mutex<Cell<u32>>);

impl SharedCell {
    pub(super) const fn new(value: u32) -> Self {
        Self(Mutex::new(Cell::new(value)))
    }

    #[inline]
    pub(super) fn load(&self) -> u32 {
        // Without it an interrupt between two bytes would leave a value that was never stored.
        critical_section::with(|cs| self.get(cs))
    }

    #[inline]
    pub(super) fn load_relaxed(&self) -> u32 {
        self.load()
    }

    #[inline]
    pub(super) fn get(&self, cs: CriticalSection<'_>) -> u32 {
        self.0.borrow(cs).get()
    }

    #[inline]
    pub(super) fn set(&self, cs: CriticalSection<'_>, value: u32) {
        self.0.borrow(cs).set(value);
    }
}
