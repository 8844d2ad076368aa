//! A device that runs on what the tool has written: its flash in memory, and the log of the firmware.

use std::collections::BTreeMap;

use randflake_std::randflake_core::{HorizonLog, LogFlash};

/// Pages of flash, the first of which is at an address.
pub(crate) struct Flash {
    pub(crate) at: u32,
    pub(crate) bytes: Vec<u8>,
    page_bytes: u32,
    /// How many pages were erased.
    pub(crate) erases: u64,
}

impl Flash {
    /// Flash that others have used before.
    pub(crate) fn used(at: u32, pages: u32, page_bytes: u32) -> Self {
        Self {
            at,
            bytes: vec![0x5a; (pages * page_bytes) as usize],
            page_bytes,
            erases: 0,
        }
    }

    /// Programs an image, as far as it is of this flash.
    pub(crate) fn program(&mut self, image: &BTreeMap<u32, u8>) {
        let bytes = image.range(self.at..);
        for ((_, byte), cell) in bytes.zip(&mut self.bytes) {
            *cell = *byte;
        }
    }

    /// Opens the horizon as firmware does.
    pub(crate) fn open<const SLOT: usize>(&mut self) -> HorizonLog<SLOT> {
        HorizonLog::open(self).unwrap()
    }
}

impl LogFlash for Flash {
    type Error = core::convert::Infallible;

    fn page_bytes(&self) -> u32 {
        self.page_bytes
    }

    fn capacity(&self) -> u32 {
        u32::try_from(self.bytes.len()).unwrap()
    }

    fn read(&mut self, at: u32, slot: &mut [u8]) -> Result<(), Self::Error> {
        slot.copy_from_slice(&self.bytes[at as usize..][..slot.len()]);
        Ok(())
    }

    fn write(&mut self, at: u32, slot: &[u8]) -> Result<(), Self::Error> {
        let cells = &mut self.bytes[at as usize..][..slot.len()];
        for (cell, byte) in cells.iter_mut().zip(slot) {
            *cell &= byte;
        }
        Ok(())
    }

    fn erase(&mut self, page: u32) -> Result<(), Self::Error> {
        self.erases += 1;
        self.bytes[page as usize..][..self.page_bytes as usize].fill(0xff);
        Ok(())
    }
}
