//! The horizon in two pages of NOR flash: [`journal`] decides, this module does the I/O.

mod asynchronous;
mod error;
mod journal;
mod lifetime;
mod slot;

use embedded_storage::nor_flash::MultiwriteNorFlash;
#[cfg(doc)]
use randflake_core::HorizonRecord;
use randflake_core::HorizonStore;

pub use error::NorHorizonError;
use journal::{Geometry, Journal, Scan};
pub use lifetime::lifetime_s;
pub(crate) use slot::FlashSlot;

/// A [`HorizonStore`] in the first two pages of a NOR flash (`embedded-storage`).
///
/// Give it a partition, for instance a [`FlashPart`](crate::FlashPart). A page is the driver's `ERASE_SIZE`, a
/// power of two. A record has 8 bytes; for flash that reads or writes more at once, give the size: `NorHorizon::<_,
/// 16>::open`.
///
/// It survives torn writes and erases, slots that were written but read as blank, bits that read differently at
/// each boot, one lost bit in any record, and one bit that can no longer be written or erased. Everything is read
/// back. If the driver reports a failed write, what the slot shows is written once more: success means that only a
/// dead cell was wrong. The first slot of a page and the mark in its last have no alternative place: if a page
/// cannot be erased, or a cell that cannot be erased or two that cannot be written are there, every raise fails
/// from then on, and no id is repeated.
///
/// The flash must allow overwriting without erasing, which clears bits: the marker trait `MultiwriteNorFlash`.
/// Flash with ECC does not; see [`WriteOnceHorizon`](crate::WriteOnceHorizon). A slot is written once between two
/// erases, and the first of a page once more if it was the only one at a boot; further writes need a power cut or
/// failure during the one before. That is within the limits of the nRF52: two writes per word, and 181 words per
/// 512 bytes, of which 128 are written if each boot raises once.
///
/// A raise takes one slot, the first after a boot two; [`lifetime_s`] computes the endurance. A boot that raises
/// nothing writes nothing.
///
/// # The first horizon
///
/// A device is provisioned once: in the factory, by [`HorizonRecord::to_bytes`] in the first slot of the first page
/// and `0xff` in the rest of both pages; or by the firmware, by
/// [`Blocks::provision`](randflake_core::Blocks::provision) on the command of an operator. If no horizon is
/// readable later, the state is lost, and `Blocks` issues nothing.
///
/// ```
/// # use embedded_storage::nor_flash::{ErrorType, MultiwriteNorFlash, NorFlash, ReadNorFlash};
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
/// #     const ERASE_SIZE: usize = 2048;
/// #     fn erase(&mut self, from: u32, to: u32) -> Result<(), Self::Error> {
/// #         self.0[from as usize..to as usize].fill(0xff);
/// #         Ok(())
/// #     }
/// #     fn write(&mut self, at: u32, bytes: &[u8]) -> Result<(), Self::Error> {
/// #         let old = &mut self.0[at as usize..][..bytes.len()];
/// #         old.iter_mut().zip(bytes).for_each(|(old, new)| *old &= new);
/// #         Ok(())
/// #     }
/// # }
/// # impl MultiwriteNorFlash for Ram {}
/// # let mut flash = Ram([0xff; 4096]);
/// use randflake_embedded::NorHorizon;
/// use randflake_embedded::randflake_core::HorizonStore;
///
/// let mut horizon = NorHorizon::<_>::open(&mut flash)?;
/// assert_eq!(horizon.unix_s(), 0, "nothing is readable");
/// horizon.raise(1_733_706_357)?;
/// assert_eq!(horizon.unix_s(), 1_733_706_360, "up to the next 4 s");
///
/// // After a reset:
/// let horizon = NorHorizon::<_>::open(&mut flash)?;
/// assert_eq!(horizon.unix_s(), 1_733_706_360);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct NorHorizon<F, const SLOT: usize = 8> {
    flash: F,
    journal: Journal,
}

impl<F, const SLOT: usize> NorHorizon<F, SLOT> {
    /// Returns the flash driver; the horizon stays in flash.
    pub fn into_inner(self) -> F {
        self.flash
    }
}

impl<F: MultiwriteNorFlash, const SLOT: usize> NorHorizon<F, SLOT> {
    const GEOMETRY: Geometry = geometry(SLOT, F::READ_SIZE, F::WRITE_SIZE, F::ERASE_SIZE);

    /// Reads the horizon from flash. Writes nothing: torn slots are repaired by the first raise.
    ///
    /// If no record is readable, the horizon is 0, and the first raise erases both pages.
    ///
    /// # Errors
    ///
    /// The error of the driver. The horizon is then unknown, and no id may be issued.
    pub fn open(mut flash: F) -> Result<Self, F::Error> {
        let mut scan = Scan::new(Self::GEOMETRY);
        while let Some(at) = scan.next() {
            let mut slot = FlashSlot([0; SLOT]);
            flash.read(at, &mut slot.0)?;
            scan.saw(slot.words());
        }
        // Nothing is repaired yet: a boot that raises nothing wears no flash.
        let journal = scan.journal();
        Ok(Self { flash, journal })
    }
}

impl<F: MultiwriteNorFlash, const SLOT: usize> HorizonStore for NorHorizon<F, SLOT> {
    type Error = NorHorizonError<F::Error>;

    fn unix_s(&self) -> u32 {
        self.journal.horizon()
    }

    fn raise(&mut self, to: u32) -> Result<(), Self::Error> {
        let Some(record) = self.journal.record_for::<F::Error>(to)? else {
            return Ok(());
        };
        // After a boot the record is the last of up to three writes: what may be torn is settled
        // first.
        while self.journal.lacks(record) {
            let write = self.journal.next(Self::GEOMETRY, record);
            if let Some(pages) = &write.erase {
                self.flash.erase(pages.start, pages.end)?;
            }
            let mut slot = FlashSlot::<SLOT>::new(write.words());
            let written = self.flash.write(write.at, &slot.0);
            // Read back even after a success: what the flash shows decides, not what the driver
            // says.
            self.flash.read(write.at, &mut slot.0)?;
            if written.is_err() {
                // A driver that verifies its writes reports a dead cell as failure. If it can write what the slot
                // shows, that content is stable.
                self.flash.write(write.at, &slot.0)?;
            }
            let shown = slot.words();
            self.journal
                .wrote::<F::Error>(Self::GEOMETRY, record, &write, shown)?;
        }
        Ok(())
    }
}

/// Checks the sizes at compile time.
#[expect(clippy::cast_possible_truncation, reason = "at most 2^30")]
const fn geometry(slot: usize, read: usize, write: usize, erase: usize) -> Geometry {
    assert!(slot >= 8, "a slot holds at least 8 bytes");
    assert!(
        slot.is_multiple_of(write) && slot.is_multiple_of(read),
        "a slot is a multiple of what the flash writes and reads at once"
    );
    // A mask finds the page of an address; a division would take 400 bytes on a Cortex-M0.
    assert!(
        erase.is_power_of_two() && erase as u64 <= 1 << 30,
        "a page of the flash is a power of two, at most 2^30 bytes"
    );
    // As many kinds of slot as the model in `tests` tells apart: fewer were never searched.
    assert!(
        erase.is_multiple_of(slot) && erase >= slot.saturating_mul(4),
        "a page of the flash holds at least 4 slots"
    );
    Geometry {
        page_bytes: erase as u32,
        slot_bytes: slot as u32,
    }
}
