//! The horizon in flash: `randflake-core` decides, this module does the I/O.

use embedded_storage::nor_flash::NorFlash;
use embedded_storage_async::nor_flash::NorFlash as AsyncNorFlash;
use randflake_core::{
    AsyncHorizonStore, AsyncLogFlash, FlashHorizonError, HorizonLog, HorizonStore, LogFlash,
};

/// A [`HorizonStore`] in flash, over the traits of `embedded-storage` or `embedded-storage-async`.
///
/// For any flash that is erased by pages: NOR flash, also where a word is written once between
/// erases (ECC as in STM32G0, G4, L4, WB, H7; encryption as in ESP32).
///
/// It uses the whole flash of the driver, page after page: give it a partition, for instance a
/// [`FlashPart`](crate::FlashPart), of three pages or more (see [`lifetime_s`]). A page is the
/// driver's `ERASE_SIZE`. A record has 8 bytes; for flash with larger words give the size:
/// `FlashHorizon::<_, 16>::open`, and 32 for STM32H7.
///
/// Each boot that raises the horizon begins a page, further raises of that boot are appended, and a
/// boot that raises nothing writes nothing. Everything is read back. A page that fails is left for
/// the next one, so errors and dead cells in one page do not stop a device, nor does a page whose
/// erase always fails: it is passed over if it shows what it held, and else marked as bad, and used
/// no more.
///
/// The first raise on a new device erases all pages but the provisioned one. A page that shows no
/// head, because it is blank or torn, is erased or marked as bad before a raise answers.
///
/// # Power cuts
///
/// A word that a cut left torn may read as anything at each read, or fail to be read. With three
/// pages, what was answered stays through any two raises in a row without an answer, with any
/// number of faults in each: cuts, errors, futures that are dropped, beside one dead cell. If power
/// cuts alone end them, through any four. Each answered raise begins the count again. The design's
/// document of this crate has the proof.
///
/// If the driver fails to read an intact word, the horizon may fall, so the driver must retry by
/// itself.
///
/// # The first horizon
///
/// A device is provisioned once: in the factory, by the image of `randflake lease provision`; or by
/// the firmware, by [`Blocks::provision`](randflake_core::Blocks::provision) on the command of an
/// operator. If no horizon is readable later, the state is lost, and `Blocks` issues nothing.
///
/// ```
/// # use embedded_storage::nor_flash::{ErrorType, NorFlash, ReadNorFlash};
/// # struct Ram([u8; 8192]);
/// # impl ErrorType for Ram { type Error = core::convert::Infallible; }
/// # impl ReadNorFlash for Ram {
/// #     const READ_SIZE: usize = 1;
/// #     fn read(&mut self, at: u32, bytes: &mut [u8]) -> Result<(), Self::Error> {
/// #         bytes.copy_from_slice(&self.0[at as usize..][..bytes.len()]);
/// #         Ok(())
/// #     }
/// #     fn capacity(&self) -> usize { 8192 }
/// # }
/// # impl NorFlash for Ram {
/// #     const WRITE_SIZE: usize = 8;
/// #     const ERASE_SIZE: usize = 2048;
/// #     fn erase(&mut self, from: u32, to: u32) -> Result<(), Self::Error> {
/// #         self.0[from as usize..to as usize].fill(0xff);
/// #         Ok(())
/// #     }
/// #     fn write(&mut self, at: u32, bytes: &[u8]) -> Result<(), Self::Error> {
/// #         self.0[at as usize..][..bytes.len()].copy_from_slice(bytes);
/// #         Ok(())
/// #     }
/// # }
/// # let mut flash = Ram([0xff; 8192]);
/// use randflake_embedded::FlashHorizon;
/// use randflake_embedded::randflake_core::HorizonStore;
///
/// let mut horizon = FlashHorizon::<_>::open(&mut flash)?;
/// assert_eq!(horizon.unix_s(), 0, "nothing is readable");
/// horizon.raise(1_733_706_357)?;
/// assert_eq!(horizon.unix_s(), 1_733_706_360, "up to the next 4 s");
///
/// // After a reset:
/// let horizon = FlashHorizon::<_>::open(&mut flash)?;
/// assert_eq!(horizon.unix_s(), 1_733_706_360);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct FlashHorizon<F, const SLOT: usize = 8> {
    flash: F,
    log: HorizonLog<SLOT>,
}

impl<F, const SLOT: usize> FlashHorizon<F, SLOT> {
    /// Returns the flash driver; the horizon stays in flash.
    pub fn into_inner(self) -> F {
        self.flash
    }
}

impl<F: NorFlash, const SLOT: usize> FlashHorizon<F, SLOT> {
    const FITS: () = check_sizes(SLOT, F::READ_SIZE, F::WRITE_SIZE, F::ERASE_SIZE);

    /// Reads the horizon, a few slots of each page. Writes nothing.
    ///
    /// # Errors
    ///
    /// - [`TooSmall`](FlashHorizonError::TooSmall): the driver's flash has fewer than three pages;
    /// - [`Version`](FlashHorizonError::Version): another version of this library wrote the flash,
    ///   in another format;
    /// - [`Flash`](FlashHorizonError::Flash): the driver failed and no record was readable. The
    ///   horizon is then unknown, and no id may be issued.
    pub fn open(mut flash: F) -> Result<Self, FlashHorizonError<F::Error>> {
        const { Self::FITS };
        let log = HorizonLog::open(&mut Blocking(&mut flash))?;
        Ok(Self { flash, log })
    }

    /// Begins the next page now, if the current one has no room for so many raises: none of these
    /// then waits for an erase.
    ///
    /// For a moment in which an erase harms nobody, as it may stop the program for milliseconds or
    /// seconds. Without this call, the raise that finds its page full erases the next one.
    ///
    /// The horizon stays as it is. Each page that is left early is an erase more, so a number that
    /// fills over half a page counts as half a page. Before the first raise of a boot, and after
    /// one that failed, this does nothing: the next raise begins a page, and may take long.
    ///
    /// # Errors
    ///
    /// [`Flash`](FlashHorizonError::Flash) and [`NotWritten`](FlashHorizonError::NotWritten).
    /// Nothing need be done: the next raise begins a page. To the [number of power
    /// cuts](Self#power-cuts) it counts as a raise without an answer.
    pub fn erase_ahead(&mut self, raises: u32) -> Result<(), FlashHorizonError<F::Error>> {
        self.log.erase_ahead(&mut Blocking(&mut self.flash), raises)
    }
}

impl<F: NorFlash, const SLOT: usize> HorizonStore for FlashHorizon<F, SLOT> {
    type Error = FlashHorizonError<F::Error>;

    fn unix_s(&self) -> u32 {
        self.log.unix_s()
    }

    fn raise(&mut self, to: u32) -> Result<(), Self::Error> {
        self.log.raise(&mut Blocking(&mut self.flash), to)
    }
}

impl<F: AsyncNorFlash, const SLOT: usize> FlashHorizon<F, SLOT> {
    const ASYNC_FITS: () = check_sizes(SLOT, F::READ_SIZE, F::WRITE_SIZE, F::ERASE_SIZE);

    /// Reads the horizon through an async driver (`embedded-storage-async`): see
    /// [`open`](Self::open).
    ///
    /// # Errors
    ///
    /// As for `open`.
    pub async fn open_async(mut flash: F) -> Result<Self, FlashHorizonError<F::Error>> {
        const { Self::ASYNC_FITS };
        let log = HorizonLog::open_async(&mut Awaited(&mut flash)).await?;
        Ok(Self { flash, log })
    }

    /// Begins the next page through an async driver: see [`erase_ahead`](Self::erase_ahead).
    ///
    /// # Errors
    ///
    /// As for `erase_ahead`; a future that is dropped counts as failed.
    pub async fn erase_ahead_async(
        &mut self,
        raises: u32,
    ) -> Result<(), FlashHorizonError<F::Error>> {
        self.log
            .erase_ahead_async(&mut Awaited(&mut self.flash), raises)
            .await
    }
}

impl<F: AsyncNorFlash, const SLOT: usize> AsyncHorizonStore for FlashHorizon<F, SLOT> {
    type Error = FlashHorizonError<F::Error>;

    fn unix_s(&self) -> u32 {
        self.log.unix_s()
    }

    async fn raise(&mut self, to: u32) -> Result<(), Self::Error> {
        self.log
            .raise_async(&mut Awaited(&mut self.flash), to)
            .await
    }
}

/// Checks the sizes at compile time.
const fn check_sizes(slot: usize, read: usize, write: usize, erase: usize) {
    assert!(
        slot.is_multiple_of(write) && slot.is_multiple_of(read),
        "a slot is a multiple of what the flash writes and reads at once"
    );
    assert!(
        erase.is_multiple_of(slot) && erase >= slot.saturating_mul(4),
        "a page of the flash holds at least 4 slots"
    );
    assert!(
        erase as u64 <= 1 << 30,
        "a page of the flash has at most 2^30 bytes"
    );
}

/// A driver whose calls block.
struct Blocking<'a, F>(&'a mut F);

/// A driver that is awaited.
struct Awaited<'a, F>(&'a mut F);

#[expect(clippy::cast_possible_truncation, reason = "at most 2^30")]
const fn page_bytes(erase_size: usize) -> u32 {
    erase_size as u32
}

/// Bytes of the whole pages below 2^32: addresses have 32 bits in `embedded-storage`. A page that
/// the driver has only a part of could never be erased, and no page behind it be begun.
#[inline]
fn capacity(bytes: usize, erase_size: usize) -> u32 {
    let bytes = u32::try_from(bytes).unwrap_or(u32::MAX);
    let rest = bytes.checked_rem(page_bytes(erase_size));
    bytes.wrapping_sub(rest.unwrap_or(0))
}

impl<F: NorFlash> LogFlash for Blocking<'_, F> {
    type Error = F::Error;

    #[inline]
    fn page_bytes(&self) -> u32 {
        page_bytes(F::ERASE_SIZE)
    }

    #[inline]
    fn capacity(&self) -> u32 {
        capacity(self.0.capacity(), F::ERASE_SIZE)
    }

    fn read(&mut self, at: u32, slot: &mut [u8]) -> Result<(), F::Error> {
        self.0.read(at, slot)
    }

    fn write(&mut self, at: u32, slot: &[u8]) -> Result<(), F::Error> {
        self.0.write(at, slot)
    }

    fn erase(&mut self, page: u32) -> Result<(), F::Error> {
        self.0.erase(page, page.wrapping_add(self.page_bytes()))
    }
}

impl<F: AsyncNorFlash> AsyncLogFlash for Awaited<'_, F> {
    type Error = F::Error;

    fn page_bytes(&self) -> u32 {
        page_bytes(F::ERASE_SIZE)
    }

    fn capacity(&self) -> u32 {
        capacity(self.0.capacity(), F::ERASE_SIZE)
    }

    async fn read(&mut self, at: u32, slot: &mut [u8]) -> Result<(), F::Error> {
        self.0.read(at, slot).await
    }

    async fn write(&mut self, at: u32, slot: &[u8]) -> Result<(), F::Error> {
        self.0.write(at, slot).await
    }

    async fn erase(&mut self, page: u32) -> Result<(), F::Error> {
        let end = page.wrapping_add(self.page_bytes());
        self.0.erase(page, end).await
    }
}

/// Endurance of a [`FlashHorizon`](crate::FlashHorizon) in seconds, if it is raised every `block_s`
/// seconds.
///
/// `page_bytes` is the driver's `ERASE_SIZE`, `slot_bytes` 8 unless a word of the flash is larger,
/// and `cycles` the number of erases that the manufacturer guarantees per page. Each boot begins a
/// page, and so does a raise that finds it full.
///
/// | block | boots a day | 3 pages of 2 KiB, 10,000 cycles | 16 pages |
/// |---|---|---|---|
/// | 60 s | 0 | 14.5 years | 77 years |
/// | 60 s | 10 | 5.2 years | 28 years |
/// | 600 s | 10 | 7.8 years | 41 years |
///
/// Returns 0 if a number of pages, a size or `block_s` is 0, or if a page has a single slot.
///
/// ```
/// use randflake_embedded::lifetime_s;
///
/// const TENTH_OF_A_YEAR: u64 = 3_155_760;
/// let tenths = |pages, block_s, boots| {
///     lifetime_s(pages, 2_048, 8, 10_000, block_s, boots) / TENTH_OF_A_YEAR
/// };
/// assert_eq!((tenths(3, 60, 0), tenths(16, 60, 0)), (145, 775));
/// assert_eq!((tenths(3, 60, 10), tenths(16, 60, 10)), (52, 279));
/// assert_eq!((tenths(3, 600, 10), tenths(16, 600, 10)), (77, 414));
/// ```
#[must_use]
pub const fn lifetime_s(
    pages: u32,
    page_bytes: u32,
    slot_bytes: u32,
    cycles: u32,
    block_s: u32,
    boots_per_day: u32,
) -> u64 {
    const DAY_S: u64 = 86_400;
    let Some(slots) = page_bytes.checked_div(slot_bytes) else {
        return 0;
    };
    // The seal takes a slot.
    let raises_per_page = (slots as u64).saturating_sub(1);
    let erases = (pages as u64).saturating_mul(cycles as u64);
    // How long a page lasts until it is full or a boot leaves it: filled_s * DAY_S / per_day, kept
    // as a fraction of integers.
    let filled_s = raises_per_page.saturating_mul(block_s as u64);
    let per_day = DAY_S.saturating_add((boots_per_day as u64).saturating_mul(filled_s));
    match erases
        .saturating_mul(filled_s)
        .saturating_mul(DAY_S)
        .checked_div(per_day)
    {
        Some(seconds) => seconds,
        None => 0,
    }
}
