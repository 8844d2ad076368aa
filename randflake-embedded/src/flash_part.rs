//! A range of a flash as a flash of its own.

use core::error::Error;
use core::fmt::{self, Debug, Display, Formatter};
use core::ops::Range;

use embedded_storage::nor_flash::{
    ErrorType, MultiwriteNorFlash, NorFlash, NorFlashError, NorFlashErrorKind, ReadNorFlash,
};
use embedded_storage_async::nor_flash::{
    MultiwriteNorFlash as AsyncMultiwriteNorFlash, NorFlash as AsyncNorFlash,
    ReadNorFlash as AsyncReadNorFlash,
};

/// Restricts a flash driver to a range of its addresses, checking bounds and alignment.
///
/// For drivers that expose the whole flash, including the program. Drivers with partitions of their
/// own, such as those of `embassy-embedded-hal`, do not need it.
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
    /// Restricts `flash` to a range of addresses in bytes. Both ends must be multiples of the
    /// driver's `ERASE_SIZE`.
    ///
    /// # Errors
    ///
    /// [`OutOfBounds`](FlashPartError::OutOfBounds) when the range ends before it begins or past
    /// the flash, and [`NotAligned`](FlashPartError::NotAligned).
    pub fn new(flash: F, range: Range<u32>) -> Result<Self, FlashPartError<F::Error>> {
        let capacity = flash.capacity();
        Self::of(flash, capacity, F::ERASE_SIZE, range)
    }
}

impl<F: AsyncNorFlash> FlashPart<F> {
    /// Restricts an async driver (`embedded-storage-async`) to a range: see [`new`](Self::new).
    ///
    /// # Errors
    ///
    /// As for `new`.
    pub fn new_async(flash: F, range: Range<u32>) -> Result<Self, FlashPartError<F::Error>> {
        let capacity = flash.capacity();
        Self::of(flash, capacity, F::ERASE_SIZE, range)
    }
}

impl<F> FlashPart<F> {
    fn of<E>(
        flash: F,
        capacity: usize,
        erase_size: usize,
        range: Range<u32>,
    ) -> Result<Self, FlashPartError<E>> {
        let whole = Self {
            flash,
            base: 0,
            // Addresses have 32 bits in `embedded-storage`: what lies above cannot be reached.
            len: u32::try_from(capacity).unwrap_or(u32::MAX),
        };
        let len = range
            .end
            .checked_sub(range.start)
            .ok_or(FlashPartError::OutOfBounds)?;
        let base = whole.place(erase_size, range.start, len)?;
        Ok(Self { base, len, ..whole })
    }

    /// Checks a range against the part, not the whole flash, and converts its offset to an address
    /// of the driver.
    fn place<E>(&self, align: usize, offset: u32, len: u32) -> Result<u32, FlashPartError<E>> {
        if offset > self.len || len > self.len.saturating_sub(offset) {
            return Err(FlashPartError::OutOfBounds);
        }
        let is_aligned = |at: u32| (at as usize).is_multiple_of(align);
        if !is_aligned(offset) || !is_aligned(len) {
            return Err(FlashPartError::NotAligned);
        }
        Ok(self.base.saturating_add(offset))
    }

    /// Checks the range of a slice.
    fn place_of<E>(
        &self,
        align: usize,
        offset: u32,
        bytes: &[u8],
    ) -> Result<u32, FlashPartError<E>> {
        self.place(
            align,
            offset,
            u32::try_from(bytes.len()).unwrap_or(u32::MAX),
        )
    }

    /// Checks a range to erase.
    fn place_between<E>(
        &self,
        align: usize,
        from: u32,
        to: u32,
    ) -> Result<Range<u32>, FlashPartError<E>> {
        let len = to.checked_sub(from).ok_or(FlashPartError::OutOfBounds)?;
        let from = self.place(align, from, len)?;
        Ok(from..from.saturating_add(len))
    }
}

impl<F: ErrorType> ErrorType for FlashPart<F> {
    type Error = FlashPartError<F::Error>;
}

impl<F: ReadNorFlash> ReadNorFlash for FlashPart<F> {
    const READ_SIZE: usize = F::READ_SIZE;

    fn read(&mut self, offset: u32, bytes: &mut [u8]) -> Result<(), Self::Error> {
        let place = self.place_of(F::READ_SIZE, offset, bytes)?;
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
        let place = self.place_between(F::ERASE_SIZE, from, to)?;
        let erased = self.flash.erase(place.start, place.end);
        erased.map_err(FlashPartError::Flash)
    }

    fn write(&mut self, offset: u32, bytes: &[u8]) -> Result<(), Self::Error> {
        let place = self.place_of(F::WRITE_SIZE, offset, bytes)?;
        self.flash
            .write(place, bytes)
            .map_err(FlashPartError::Flash)
    }
}

// Only where the driver has it: flash with ECC forbids to write over words.
impl<F: MultiwriteNorFlash> MultiwriteNorFlash for FlashPart<F> {}

impl<F: AsyncReadNorFlash> AsyncReadNorFlash for FlashPart<F> {
    const READ_SIZE: usize = F::READ_SIZE;

    async fn read(&mut self, offset: u32, bytes: &mut [u8]) -> Result<(), Self::Error> {
        let place = self.place_of(F::READ_SIZE, offset, bytes)?;
        let read = self.flash.read(place, bytes).await;
        read.map_err(FlashPartError::Flash)
    }

    fn capacity(&self) -> usize {
        self.len as usize
    }
}

impl<F: AsyncNorFlash> AsyncNorFlash for FlashPart<F> {
    const WRITE_SIZE: usize = F::WRITE_SIZE;
    const ERASE_SIZE: usize = F::ERASE_SIZE;

    async fn erase(&mut self, from: u32, to: u32) -> Result<(), Self::Error> {
        let place = self.place_between(F::ERASE_SIZE, from, to)?;
        let erased = self.flash.erase(place.start, place.end).await;
        erased.map_err(FlashPartError::Flash)
    }

    async fn write(&mut self, offset: u32, bytes: &[u8]) -> Result<(), Self::Error> {
        let place = self.place_of(F::WRITE_SIZE, offset, bytes)?;
        let written = self.flash.write(place, bytes).await;
        written.map_err(FlashPartError::Flash)
    }
}

impl<F: AsyncMultiwriteNorFlash> AsyncMultiwriteNorFlash for FlashPart<F> {}

/// Error of a [`FlashPart`]: its own check of a range, or the driver's error.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
#[non_exhaustive]
pub enum FlashPartError<E> {
    /// The range is outside the part. The driver was not called.
    OutOfBounds,
    /// Offset or length is not a multiple of `READ_SIZE`, `WRITE_SIZE` or `ERASE_SIZE`. The driver
    /// was not called.
    NotAligned,
    /// The driver failed with this error.
    Flash(E),
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
