//! The horizon in flash whose words are written once: [`pages`] decides, this module does the I/O.

mod asynchronous;
mod lifetime;
mod pages;

use embedded_storage::nor_flash::NorFlash;
use randflake_core::HorizonStore;

use crate::NorHorizonError;
use crate::nor_horizon::FlashSlot;
pub use lifetime::write_once_lifetime_s;
use pages::{PageSize, Pages, Ring, Survey};

/// A [`HorizonStore`] for flash whose words can be written once between erases: with ECC (STM32G0, G4, L4, WB, H7)
/// or encryption (ESP32).
///
/// For other flash [`NorHorizon`](crate::NorHorizon) lasts longer.
///
/// It uses the whole flash of the driver, page after page: give it a partition, for instance a
/// [`FlashPart`](crate::FlashPart). Two pages are enough; more last longer (see [`write_once_lifetime_s`]). A page
/// is the driver's `ERASE_SIZE`. A record has 8 bytes; for flash with larger words give the size:
/// `WriteOnceHorizon::<_, 16>::open`, and 32 for STM32H7.
///
/// Each boot that raises the horizon begins a page; a boot that raises nothing writes nothing. Everything is read
/// back. A word that a power cut left torn may read as anything at each boot, or fail to be read. If the driver
/// fails to read an intact word, the horizon falls, so the driver must retry by itself.
///
/// # Power cuts
///
/// Power may be cut at any moment. It may be cut at any number of boots in a row, provided that a torn *write*
/// reads the same at each boot; a torn *erase* need not. If both read differently at each boot, two boots in a row
/// may be cut while each begins a page. A third one may lose the horizon, if it sees neither the write that the
/// second one saw nor that the second one was erasing. No choice of the page to erase rules this out.
///
/// # The first horizon
///
/// As for [`NorHorizon`](crate::NorHorizon), but the record is in the first two slots of the first page. If nothing
/// is readable at the first raise, all pages are erased.
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
/// use randflake_embedded::WriteOnceHorizon;
/// use randflake_embedded::randflake_core::HorizonStore;
///
/// let mut horizon = WriteOnceHorizon::<_>::open(&mut flash)?;
/// assert_eq!(horizon.unix_s(), 0, "nothing is readable");
/// horizon.raise(1_733_706_360)?;
///
/// // After a reset:
/// let horizon = WriteOnceHorizon::<_>::open(&mut flash)?;
/// assert_eq!(horizon.unix_s(), 1_733_706_360);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct WriteOnceHorizon<F, const SLOT: usize = 8> {
    flash: F,
    pages: Pages,
}

impl<F, const SLOT: usize> WriteOnceHorizon<F, SLOT> {
    /// Returns the flash driver; the horizon stays in flash.
    pub fn into_inner(self) -> F {
        self.flash
    }
}

impl<F: NorFlash, const SLOT: usize> WriteOnceHorizon<F, SLOT> {
    const PAGE: PageSize = page_size(SLOT, F::READ_SIZE, F::WRITE_SIZE, F::ERASE_SIZE);

    /// Reads the horizon, a few slots of each page. Writes nothing: what is torn is left behind by the first raise.
    ///
    /// # Errors
    ///
    /// - [`TooSmall`](NorHorizonError::TooSmall): the driver's flash has fewer than two pages;
    /// - [`Flash`](NorHorizonError::Flash): the driver failed and no record was readable. The horizon is then
    ///   unknown, and no id may be issued.
    pub fn open(mut flash: F) -> Result<Self, NorHorizonError<F::Error>> {
        let mut survey = Survey::new(ring::<F::Error>(Self::PAGE, flash.capacity())?);
        let mut error = None;
        while let Some(slots) = survey.next() {
            let mut shown = [None; 2];
            for (at, record) in slots.addresses().zip(&mut shown) {
                let mut slot = FlashSlot([0; SLOT]);
                match flash.read(at, &mut slot.0) {
                    Ok(()) => *record = slot.record(),
                    // A slot that cannot be read counts as torn and does not hide its neighbour.
                    Err(failure) => error = Some(failure),
                }
            }
            survey.saw(shown);
        }
        let pages = known(survey.pages(), error)?;
        Ok(Self { flash, pages })
    }
}

impl<F: NorFlash, const SLOT: usize> HorizonStore for WriteOnceHorizon<F, SLOT> {
    type Error = NorHorizonError<F::Error>;

    fn unix_s(&self) -> u32 {
        self.pages.horizon()
    }

    fn raise(&mut self, to: u32) -> Result<(), Self::Error> {
        let Some(write) = self.pages.raise::<F::Error>(to)? else {
            return Ok(());
        };
        if let Some(pages) = &write.erase {
            self.flash.erase(pages.start, pages.end)?;
        }
        // The second copy is written after the first one was read back: where it shows, the first is complete.
        let slot = FlashSlot::<SLOT>::of(write.record);
        for at in write.slots.addresses() {
            self.flash.write(at, &slot.0)?;
            let mut shown = FlashSlot([0; SLOT]);
            self.flash.read(at, &mut shown.0)?;
            // A word is written once: nothing is repaired in place, the next try begins another page.
            if slot.0 != shown.0 {
                return Err(NorHorizonError::NotWritten);
            }
        }
        self.pages.wrote(&write);
        Ok(())
    }
}

/// Refuses a horizon of 0 after a read error: the flash may not be blank at all.
fn known<E>(pages: Pages, error: Option<E>) -> Result<Pages, NorHorizonError<E>> {
    match error {
        Some(error) if pages.horizon() == 0 => Err(NorHorizonError::Flash(error)),
        _ => Ok(pages),
    }
}

/// Checks the sizes at compile time.
#[expect(clippy::cast_possible_truncation, reason = "at most 2^30")]
const fn page_size(slot: usize, read: usize, write: usize, erase: usize) -> PageSize {
    assert!(slot >= 8, "a slot holds at least 8 bytes");
    assert!(
        slot.is_multiple_of(write) && slot.is_multiple_of(read),
        "a slot is a multiple of what the flash writes and reads at once"
    );
    assert!(
        erase.is_multiple_of(slot) && erase > slot,
        "a page of the flash holds at least 2 slots"
    );
    assert!(
        erase as u64 <= 1 << 30,
        "a page of the flash has at most 2^30 bytes"
    );
    let slots = match erase.checked_div(slot) {
        Some(slots) => slots,
        None => 0,
    };
    PageSize {
        bytes: erase as u32,
        slot_bytes: slot as u32,
        slots: slots as u32,
    }
}

// Inlined, so that the division is by a constant.
#[inline]
fn ring<E>(page_size: PageSize, capacity: usize) -> Result<Ring, NorHorizonError<E>> {
    // Addresses have 32 bits in `embedded-storage`: what lies above cannot be reached.
    let capacity = u32::try_from(capacity).unwrap_or(u32::MAX);
    match capacity.checked_div(page_size.bytes) {
        // With a single page a power cut after the erase would leave no horizon at all.
        Some(pages @ 2..) => Ok(Ring { page_size, pages }),
        _ => Err(NorHorizonError::TooSmall),
    }
}
