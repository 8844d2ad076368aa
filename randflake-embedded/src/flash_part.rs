//! A part of a flash as a flash.

use core::error::Error;
use core::fmt::{self, Debug, Display, Formatter};
use core::ops::Range;

use embedded_storage::nor_flash::{
    ErrorType, MultiwriteNorFlash, NorFlash, NorFlashError, NorFlashErrorKind, ReadNorFlash,
    check_erase, check_read, check_write,
};

/// The flash of a driver within a range of its addresses: what is outside cannot be reached through it.
///
/// For drivers that show the whole flash, the program's with it; others have partitions of their own, as those of
/// `embassy-embedded-hal`. Not every driver checks what it is asked, so this does.
///
/// ```
/// # use embedded_storage::nor_flash::{ErrorType, NorFlash, ReadNorFlash};
/// # struct Ram([u8; 4096]);
/// # impl ErrorType for Ram { type Error = core::convert::Infallible; }
/// # impl ReadNorFlash for Ram {
/// #     const READ_SIZE: usize = 1;
/// #     fn read(&mut self, at: u32, bytes: &mut [u8]) -> Result<(), Self::Error> {
/// #         bytes.copy_from_slice(&self.0[at as usize..][..bytes.len()]);
/// #         Ok(())
/// #     }
/// #     fn capacity(&self) -> usize { 4096 }
/// # }
/// # impl NorFlash for Ram {
/// #     const WRITE_SIZE: usize = 4;
/// #     const ERASE_SIZE: usize = 1024;
/// #     fn erase(&mut self, from: u32, to: u32) -> Result<(), Self::Error> { Ok(()) }
/// #     fn write(&mut self, at: u32, bytes: &[u8]) -> Result<(), Self::Error> { Ok(()) }
/// # }
/// # let mut flash = Ram([0xff; 4096]);
/// use randflake_embedded::{FlashPart, FlashPartError};
///
/// let mut part = FlashPart::new(&mut flash, 2_048..4_096)?;
/// assert_eq!(part.erase(0, 1_024), Ok(())); // 2,048 to 3,072 of the whole
/// assert_eq!(part.erase(0, 4_096), Err(FlashPartError::OutOfBounds));
/// # Ok::<(), FlashPartError<core::convert::Infallible>>(())
/// ```
#[derive(Clone, Copy, Debug)]
pub struct FlashPart<F> {
    flash: F,
    base: u32,
    len: u32,
}

impl<F: NorFlash> FlashPart<F> {
    /// The flash in a range of the driver's addresses, in bytes. Both ends are multiples of what the driver
    /// erases at once (`ERASE_SIZE`).
    ///
    /// # Errors
    ///
    /// [`OutOfBounds`](FlashPartError::OutOfBounds) when the range ends before it begins or past the flash, and
    /// [`NotAligned`](FlashPartError::NotAligned).
    pub fn new(flash: F, range: Range<u32>) -> Result<Self, FlashPartError<F::Error>> {
        check_erase(&flash, range.start, range.end)?;
        Ok(Self {
            flash,
            base: range.start,
            len: range.end.saturating_sub(range.start),
        })
    }
}

impl<F> FlashPart<F> {
    /// An address of the driver. It does not overflow for an offset that was checked.
    const fn place(&self, offset: u32) -> u32 {
        self.base.saturating_add(offset)
    }
}

impl<F: ErrorType> ErrorType for FlashPart<F> {
    type Error = FlashPartError<F::Error>;
}

impl<F: ReadNorFlash> ReadNorFlash for FlashPart<F> {
    const READ_SIZE: usize = F::READ_SIZE;

    fn read(&mut self, offset: u32, bytes: &mut [u8]) -> Result<(), Self::Error> {
        check_read(self, offset, bytes.len())?;
        let place = self.place(offset);
        self.flash.read(place, bytes).map_err(FlashPartError::Flash)
    }

    fn capacity(&self) -> usize {
        self.len as usize
    }
}

impl<F: NorFlash> NorFlash for FlashPart<F> {
    const WRITE_SIZE: usize = F::WRITE_SIZE;
    const ERASE_SIZE: usize = F::ERASE_SIZE;

    fn erase(&mut self, from: u32, to: u32) -> Result<(), Self::Error> {
        check_erase(self, from, to)?;
        let (from, to) = (self.place(from), self.place(to));
        self.flash.erase(from, to).map_err(FlashPartError::Flash)
    }

    fn write(&mut self, offset: u32, bytes: &[u8]) -> Result<(), Self::Error> {
        check_write(self, offset, bytes.len())?;
        let place = self.place(offset);
        self.flash
            .write(place, bytes)
            .map_err(FlashPartError::Flash)
    }
}

impl<F: MultiwriteNorFlash> MultiwriteNorFlash for FlashPart<F> {}

/// Why a [`FlashPart`] did not do what was asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
#[non_exhaustive]
pub enum FlashPartError<E> {
    /// It is outside the part; the driver was not asked.
    OutOfBounds,
    /// It is no multiple of what the driver reads, writes or erases at once; the driver was not asked.
    NotAligned,
    /// The driver's.
    Flash(E),
}

impl<E> From<NorFlashErrorKind> for FlashPartError<E> {
    /// What the checks of `embedded-storage` answer, which is one of two.
    fn from(kind: NorFlashErrorKind) -> Self {
        match kind {
            NorFlashErrorKind::NotAligned => Self::NotAligned,
            _ => Self::OutOfBounds,
        }
    }
}

impl<E: NorFlashError> NorFlashError for FlashPartError<E> {
    fn kind(&self) -> NorFlashErrorKind {
        match self {
            Self::OutOfBounds => NorFlashErrorKind::OutOfBounds,
            Self::NotAligned => NorFlashErrorKind::NotAligned,
            Self::Flash(error) => error.kind(),
        }
    }
}

impl<E: Debug> Display for FlashPartError<E> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match self {
            Self::OutOfBounds => f.write_str("outside the part of the flash"),
            Self::NotAligned => {
                f.write_str("no multiple of what the flash reads, writes or erases at once")
            }
            Self::Flash(error) => write!(f, "the flash failed: {error:?}"),
        }
    }
}

impl<E: Debug> Error for FlashPartError<E> {}
