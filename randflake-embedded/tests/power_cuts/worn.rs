//! A flash of any size that loses power at random moments, wears out, and notices nothing of that.

use embedded_storage::nor_flash::{
    ErrorType, MultiwriteNorFlash, NorFlash, NorFlashErrorKind, ReadNorFlash, check_erase,
    check_read, check_write,
};

use crate::random::Random;

pub(crate) struct Flash<const WORD: usize, const PAGE: usize> {
    /// What each cell holds, where it is not torn.
    cells: Vec<u8>,
    /// Bits that a cut has left between 0 and 1.
    torn: Vec<u8>,
    /// Bits that cannot be written any more.
    dead: Vec<u8>,
    /// What torn bits read as, from this boot to the next.
    noise: u32,
    /// How many words are written and pages erased before the power is cut.
    fuel: u32,
    random: Random,
    /// One of so many words that are written has a bit that dies of it, 0 for none.
    one_dies_of: u32,
}

impl<const WORD: usize, const PAGE: usize> Flash<WORD, PAGE> {
    pub(crate) fn new(seed: u64, one_dies_of: u32) -> Self {
        Self {
            cells: vec![0xff; 2 * PAGE],
            torn: vec![0; 2 * PAGE],
            dead: vec![0; 2 * PAGE],
            noise: 0,
            fuel: 0,
            random: Random(seed),
            one_dies_of,
        }
    }

    pub(crate) fn boot(&mut self, fuel: u32) {
        self.fuel = fuel;
        self.noise = self.random.below(u32::MAX);
    }

    /// This bit cannot be written any more.
    pub(crate) fn kill(&mut self, cell: usize) {
        self.dead[cell / 8] |= 1 << (cell % 8);
    }

    pub(crate) fn below(&mut self, bound: u32) -> u32 {
        self.random.below(bound)
    }

    /// Whether the next word or page is still done; the power is cut in it if not.
    fn burn(&mut self) -> Result<bool, NorFlashErrorKind> {
        let goes_on = self.fuel > 0;
        if self.fuel == u32::MAX {
            return Err(NorFlashErrorKind::Other);
        }
        self.fuel = self.fuel.wrapping_sub(1);
        Ok(goes_on)
    }
}

impl<const WORD: usize, const PAGE: usize> ErrorType for Flash<WORD, PAGE> {
    type Error = NorFlashErrorKind;
}

impl<const WORD: usize, const PAGE: usize> ReadNorFlash for Flash<WORD, PAGE> {
    const READ_SIZE: usize = WORD;

    fn read(&mut self, offset: u32, bytes: &mut [u8]) -> Result<(), Self::Error> {
        check_read(self, offset, bytes.len())?;
        for (at, byte) in (offset as usize..).zip(bytes) {
            // All alike in a boot, or each word in its own way.
            let noise = match self.noise % 4 {
                0 => 0,
                1 => 0xff,
                _ => self
                    .noise
                    .rotate_left(u32::try_from(at / 4 * 7 % 32).unwrap())
                    .to_le_bytes()[at % 4],
            };
            *byte = self.cells[at] & !self.torn[at] | noise & self.torn[at];
        }
        Ok(())
    }

    fn capacity(&self) -> usize {
        2 * PAGE
    }
}

impl<const WORD: usize, const PAGE: usize> MultiwriteNorFlash for Flash<WORD, PAGE> {}

impl<const WORD: usize, const PAGE: usize> NorFlash for Flash<WORD, PAGE> {
    const WRITE_SIZE: usize = WORD;
    const ERASE_SIZE: usize = PAGE;

    fn erase(&mut self, from: u32, to: u32) -> Result<(), Self::Error> {
        check_erase(self, from, to)?;
        for page in (from as usize..to as usize).step_by(PAGE) {
            let goes_on = self.burn()?;
            for at in page..page + PAGE {
                if goes_on {
                    (self.cells[at], self.torn[at]) = (0xff, 0);
                } else {
                    self.torn[at] |= !self.cells[at];
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
        for word in bytes.chunks(WORD) {
            let goes_on = self.burn()?;
            if self.one_dies_of > 0 && self.random.below(self.one_dies_of) == 0 {
                let byte = at + self.random.below(u32::try_from(WORD).unwrap()) as usize;
                self.dead[byte] |= 1 << self.random.below(8);
            }
            for byte in word {
                let cleared = !byte & !self.dead[at];
                if goes_on {
                    self.cells[at] &= !cleared;
                    self.torn[at] &= !cleared;
                } else {
                    self.torn[at] |= cleared & (self.cells[at] | self.torn[at]);
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
