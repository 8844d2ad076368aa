//! Async I/O for `WriteOnceHorizon` (`embedded-storage-async`).

use embedded_storage_async::nor_flash::NorFlash;
use randflake_core::AsyncHorizonStore;

use super::pages::{PageScan, SlotPair, Survey};
use super::{FlashSlot, WriteOnceHorizon, known, page_bytes, ring, slot_bytes};
use crate::NorHorizonError;

impl<F: NorFlash, const SLOT: usize> WriteOnceHorizon<F, SLOT> {
    const ASYNC_PAGE: u32 = page_bytes(SLOT, F::READ_SIZE, F::WRITE_SIZE, F::ERASE_SIZE);

    /// [`open`](Self::open) for an async driver (`embedded-storage-async`).
    ///
    /// # Errors
    ///
    /// As for `open`.
    pub async fn open_async(mut flash: F) -> Result<Self, NorHorizonError<F::Error>> {
        let ring = ring::<F::Error>(Self::ASYNC_PAGE, SLOT, flash.capacity())?;
        let mut survey = Survey::default();
        let mut error = None;
        for page in 0..ring.pages {
            let heads = read::<F, SLOT>(&mut flash, ring.start(page), true, &mut error).await;
            let mut scan = PageScan::new(ring, page, heads);
            while let Some((at, has_second)) = scan.next() {
                scan.saw(read::<F, SLOT>(&mut flash, at, has_second, &mut error).await);
            }
            survey.saw(&scan);
        }
        let pages = known(survey.pages(ring), error)?;
        Ok(Self { flash, pages })
    }
}

impl<F: NorFlash, const SLOT: usize> AsyncHorizonStore for WriteOnceHorizon<F, SLOT> {
    type Error = NorHorizonError<F::Error>;

    fn unix_s(&self) -> u32 {
        self.pages.horizon()
    }

    async fn raise(&mut self, to: u32) -> Result<(), Self::Error> {
        if self.pages.holds(to) {
            return Ok(());
        }
        let record = self.pages.record_for(to);
        let record = record.ok_or(NorHorizonError::OutOfRange)?;
        let place = self.pages.take_place();
        if let Some(pages) = place.erase() {
            self.flash.erase(pages.start, pages.end).await?;
        }
        let slot = FlashSlot::<SLOT>::of(record);
        for at in place.slots() {
            self.flash.write(at, &slot.0).await?;
            let mut shown = FlashSlot([0; SLOT]);
            self.flash.read(at, &mut shown.0).await?;
            if slot.0 != shown.0 {
                return Err(NorHorizonError::NotWritten);
            }
        }
        self.pages.wrote(place, record);
        Ok(())
    }
}

/// Reads two slots, as the blocking `read` does.
async fn read<F: NorFlash, const SLOT: usize>(
    flash: &mut F,
    at: u32,
    has_second: bool,
    error: &mut Option<F::Error>,
) -> SlotPair {
    let mut slots = [FlashSlot([0; SLOT]), FlashSlot([0; SLOT])];
    let mut at = at;
    for slot in slots.iter_mut().take(if has_second { 2 } else { 1 }) {
        if let Err(failure) = flash.read(at, &mut slot.0).await {
            *slot = FlashSlot([0; SLOT]);
            *error = Some(failure);
        }
        at = at.wrapping_add(slot_bytes(SLOT));
    }
    slots.map(|slot| slot.record())
}
