//! A range of a flash as a flash of its own.

use core::error::Error;
use core::fmt::{self, Debug, Display, Formatter};
use core::ops::Range;

use embedded_storage::nor_flash::{
    ErrorType, MultiwriteNorFlash, NorFlash, NorFlashError, NorFlashErrorKind, ReadNorFlash,
    check_erase, check_read, check_write,
};

/// Restricts a flash driver to a range of its addresses, checking bounds and alignment.
///
/// For drivers that expose the whole flash, including the program. Drivers with partitions of their own, such as
/// those of `embassy-embedded-hal`, do not need it.
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
    /// Restricts `flash` to a range of addresses in bytes. Both ends must be multiples of the driver's
    /// `ERASE_SIZE`.
    ///
    /// # Errors
    ///
    /// [`OutOfBounds`](FlashPartError::OutOfBounds) when the range ends before it begins or past the flash, and
    /// [`NotAligned`](FlashPartError::NotAligned).
    pub fn new(flash: F, range: Range<u32>) -> Result<Self, FlashPartError<F::Error>> {
        // The check of an erase is the strictest: what passes it is aligned for reads and writes too.
        check_erase(&flash, range.start, range.end)?;
        Ok(Self {
            flash,
            base: range.start,
            // Never negative: the check refuses a range that ends before it begins.
            len: range.end.saturating_sub(range.start),
        })
    }
}

impl<F> FlashPart<F> {
    /// Converts an offset to an address of the driver. Offsets are checked first, so this does not overflow.
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
        // Against the part, not the whole flash: the driver would allow addresses of the program.
        check_read(self, offset, bytes.len())?;
        let place = self.place(offset);
        self.flash.read(place, bytes).map_err(FlashPartError::Flash)
    }

    // The size of the part: what is given this driver cannot see more.
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

// Only where the driver has it: `NorHorizon` writes over slots, which flash with ECC forbids.
impl<F: MultiwriteNorFlash> MultiwriteNorFlash for FlashPart<F> {}

/// Error of a [`FlashPart`]: its own check of a range, or the driver's error.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
#[non_exhaustive]
pub enum FlashPartError<E> {
    /// The range is outside the part. The driver was not called.
    OutOfBounds,
    /// Offset or length is not a multiple of `READ_SIZE`, `WRITE_SIZE` or `ERASE_SIZE`. The driver was not called.
    NotAligned,
    /// The driver failed with this error.
    Flash(E),
}

impl<E> From<NorFlashErrorKind> for FlashPartError<E> {
    /// Converts the error of the `check_*` functions of `embedded-storage`, which return one of two kinds.
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
                f.write_str("not a multiple of what the flash reads, writes or erases at once")
            }
            Self::Flash(error) => write!(f, "the flash failed: {error:?}"),
        }
    }
}

impl<E: Debug> Error for FlashPartError<E> {}
