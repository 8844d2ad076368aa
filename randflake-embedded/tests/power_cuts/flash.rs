//! A model of NOR flash whose power may be cut at any byte.

use embedded_storage::nor_flash::{
    ErrorType, MultiwriteNorFlash, NorFlash, NorFlashErrorKind, ReadNorFlash, check_erase,
    check_read, check_write,
};

use crate::random::Random;

pub(crate) const PAGE: usize = 64;
const SIZE: usize = 2 * PAGE;
const SLOT: usize = 8;

/// How many bytes are changed at once, so that a cut leaves all of it torn.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Grain {
    pub(crate) write: usize,
    pub(crate) erase: usize,
}

#[derive(Clone, Debug)]
pub(crate) struct Flash {
    grain: Grain,
    /// What each cell holds, where it is not torn.
    cells: [u8; SIZE],
    /// Bits that a cut has left between 0 and 1.
    torn: [u8; SIZE],
    /// What the cells read as, from this boot to the next.
    shown: [u8; SIZE],
    /// How many grains are written or erased before the power is cut.
    fuel: u32,
}

impl Flash {
    pub(crate) fn new(grain: Grain) -> Self {
        Self {
            grain,
            cells: [0xff; SIZE],
            torn: [0; SIZE],
            shown: [0xff; SIZE],
            fuel: 0,
        }
    }

    /// Power comes back: each torn bit reads as something, and as that until the next boot. Neighbours
    /// agree or do not: torn cells may all be near the threshold, or each differ.
    pub(crate) fn boot(&mut self, fuel: u32, random: &mut Random) {
        self.fuel = fuel;
        let manner = random.below(4);
        let mut same = 0;
        for at in 0..SIZE {
            if at % SLOT == 0 {
                same = random.below(2) * 0xff;
            }
            let noise = match manner {
                0 => 0,
                1 => 0xff,
                2 => same,
                _ => random.below(0x100),
            };
            let noise = u8::try_from(noise).unwrap();
            self.shown[at] = (self.cells[at] & !self.torn[at]) | (noise & self.torn[at]);
        }
    }

    /// Whether the next grain is still done; the power is cut in it if not.
    fn burn(&mut self) -> bool {
        let goes_on = self.fuel > 0;
        self.fuel = self.fuel.saturating_sub(1);
        goes_on
    }

    /// A cut while these bits were being changed.
    fn tear(&mut self, at: usize, changing: u8) {
        self.torn[at] |= changing;
    }

    /// Makes the bits 0 or 1, for ever.
    fn settle(&mut self, at: usize, bits: u8, value: u8) {
        self.torn[at] &= !bits;
        self.cells[at] = (self.cells[at] & !bits) | (value & bits);
        self.shown[at] = (self.shown[at] & !bits) | (value & bits);
    }
}

impl ErrorType for Flash {
    type Error = NorFlashErrorKind;
}

impl ReadNorFlash for Flash {
    const READ_SIZE: usize = 1;

    fn read(&mut self, offset: u32, bytes: &mut [u8]) -> Result<(), Self::Error> {
        check_read(self, offset, bytes.len())?;
        bytes.copy_from_slice(&self.shown[offset as usize..][..bytes.len()]);
        Ok(())
    }

    fn capacity(&self) -> usize {
        SIZE
    }
}

impl MultiwriteNorFlash for Flash {}

impl NorFlash for Flash {
    const WRITE_SIZE: usize = 1;
    const ERASE_SIZE: usize = PAGE;

    fn erase(&mut self, from: u32, to: u32) -> Result<(), Self::Error> {
        check_erase(self, from, to)?;
        for grain in (from as usize..to as usize).step_by(self.grain.erase) {
            let goes_on = self.burn();
            for at in grain..grain + self.grain.erase {
                if goes_on {
                    self.settle(at, 0xff, 0xff);
                } else {
                    self.tear(at, !self.cells[at]);
                }
            }
            if !goes_on {
                return Err(NorFlashErrorKind::Other);
            }
        }
        Ok(())
    }

    fn write(&mut self, offset: u32, bytes: &[u8]) -> Result<(), Self::Error> {
        check_write(self, offset, bytes.len())?;
        let mut at = offset as usize;
        for grain in bytes.chunks(self.grain.write) {
            let goes_on = self.burn();
            for byte in grain {
                if goes_on {
                    self.settle(at, !byte, 0);
                } else {
                    self.tear(at, !byte & (self.cells[at] | self.torn[at]));
                }
                at += 1;
            }
            if !goes_on {
                return Err(NorFlashErrorKind::Other);
            }
        }
        Ok(())
    }
}
