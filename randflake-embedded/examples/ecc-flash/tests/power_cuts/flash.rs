//! A model of flash with ECC: words of 8 bytes, each written once between erases, and power that may be cut in any
//! of them.

use embedded_storage_async::nor_flash::{
    ErrorType, NorFlash, NorFlashError, NorFlashErrorKind, ReadNorFlash,
};

pub const WORD: usize = 8;
const PAGE: usize = 256;
pub const SIZE: usize = 4 * PAGE;

#[derive(Clone)]
pub struct Flash {
    words: [Option<[u8; WORD]>; SIZE / WORD],
    /// How many words are written or erased before the power is cut.
    pub fuel: u32,
    pub cut: Cut,
}

/// How a cut leaves the word that was being written or erased.
#[derive(Clone, Copy, Debug)]
pub enum Cut {
    Unchanged,
    Changed,
    /// It reads as this, which is not blank.
    Torn([u8; WORD]),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Error {
    PowerCut,
    /// A second write would leave a word that ECC cannot read.
    WrittenTwice,
}

impl NorFlashError for Error {
    fn kind(&self) -> NorFlashErrorKind {
        NorFlashErrorKind::Other
    }
}

impl Flash {
    pub fn new() -> Self {
        Self {
            words: [None; SIZE / WORD],
            fuel: u32::MAX,
            cut: Cut::Unchanged,
        }
    }

    fn change(&mut self, at: usize, to: Option<[u8; WORD]>) -> Result<(), Error> {
        let Some(fuel) = self.fuel.checked_sub(1) else {
            self.words[at] = match self.cut {
                Cut::Unchanged => self.words[at],
                Cut::Changed => to,
                Cut::Torn(word) => Some(word),
            };
            return Err(Error::PowerCut);
        };
        self.fuel = fuel;
        self.words[at] = to;
        Ok(())
    }
}

impl ErrorType for Flash {
    type Error = Error;
}

impl ReadNorFlash for Flash {
    const READ_SIZE: usize = 1;

    async fn read(&mut self, offset: u32, bytes: &mut [u8]) -> Result<(), Error> {
        for (at, byte) in (offset as usize..).zip(bytes) {
            *byte = self.words[at / WORD].map_or(0xff, |word| word[at % WORD]);
        }
        Ok(())
    }

    fn capacity(&self) -> usize {
        SIZE
    }
}

impl NorFlash for Flash {
    const WRITE_SIZE: usize = WORD;
    const ERASE_SIZE: usize = PAGE;

    async fn erase(&mut self, from: u32, to: u32) -> Result<(), Error> {
        (from as usize / WORD..to as usize / WORD).try_for_each(|at| self.change(at, None))
    }

    async fn write(&mut self, offset: u32, bytes: &[u8]) -> Result<(), Error> {
        let (words, []) = bytes.as_chunks() else {
            panic!("not in whole words");
        };
        (offset as usize / WORD..)
            .zip(words)
            .try_for_each(|(at, word)| match self.words[at] {
                None => self.change(at, Some(*word)),
                Some(_) => Err(Error::WrittenTwice),
            })
    }
}
