//! A part of a flash as a flash.

use embedded_storage::nor_flash::{ErrorType, MultiwriteNorFlash, NorFlash, ReadNorFlash};

/// The flash from `base` on, an address of the driver and a multiple of what it erases at once.
///
/// For drivers that show the whole flash; others have partitions of their own, as those of
/// `embassy-embedded-hal`.
#[derive(Clone, Copy, Debug)]
pub struct FlashPart<F> {
    flash: F,
    base: u32,
}

impl<F> FlashPart<F> {
    /// The flash from `base` on.
    pub const fn new(flash: F, base: u32) -> Self {
        Self { flash, base }
    }

    /// An address of the driver. Past the address space it is one that the driver refuses.
    const fn place(&self, offset: u32) -> u32 {
        self.base.saturating_add(offset)
    }
}

impl<F: ErrorType> ErrorType for FlashPart<F> {
    type Error = F::Error;
}

impl<F: ReadNorFlash> ReadNorFlash for FlashPart<F> {
    const READ_SIZE: usize = F::READ_SIZE;

    fn read(&mut self, offset: u32, bytes: &mut [u8]) -> Result<(), Self::Error> {
        self.flash.read(self.place(offset), bytes)
    }

    fn capacity(&self) -> usize {
        self.flash.capacity().saturating_sub(self.base as usize)
    }
}

impl<F: NorFlash> NorFlash for FlashPart<F> {
    const WRITE_SIZE: usize = F::WRITE_SIZE;
    const ERASE_SIZE: usize = F::ERASE_SIZE;

    fn erase(&mut self, from: u32, to: u32) -> Result<(), Self::Error> {
        self.flash.erase(self.place(from), self.place(to))
    }

    fn write(&mut self, offset: u32, bytes: &[u8]) -> Result<(), Self::Error> {
        self.flash.write(self.place(offset), bytes)
    }
}

impl<F: MultiwriteNorFlash> MultiwriteNorFlash for FlashPart<F> {}
