//! Async I/O for `WriteOnceHorizon` (`embedded-storage-async`).

use embedded_storage_async::nor_flash::NorFlash;
use randflake_core::AsyncHorizonStore;

use super::pages::{PageSize, Survey};
use super::{FlashSlot, WriteOnceHorizon, known, page_size, ring};
use crate::NorHorizonError;

impl<F: NorFlash, const SLOT: usize> WriteOnceHorizon<F, SLOT> {
    const ASYNC_PAGE: PageSize = page_size(SLOT, F::READ_SIZE, F::WRITE_SIZE, F::ERASE_SIZE);

    /// Reads the horizon through an async driver (`embedded-storage-async`): see [`open`](Self::open).
    ///
    /// # Errors
    ///
    /// As for `open`.
    pub async fn open_async(mut flash: F) -> Result<Self, NorHorizonError<F::Error>> {
        let mut survey = Survey::new(ring::<F::Error>(Self::ASYNC_PAGE, flash.capacity())?);
        let mut error = None;
        while let Some(slots) = survey.next() {
            let mut shown = [None; 2];
            for (at, record) in slots.addresses().zip(&mut shown) {
                let mut slot = FlashSlot([0; SLOT]);
                match flash.read(at, &mut slot.0).await {
                    Ok(()) => *record = slot.record(),
                    Err(failure) => error = Some(failure),
                }
            }
            survey.saw(shown);
        }
        let pages = known(survey.pages(), error)?;
        Ok(Self { flash, pages })
    }
}

impl<F: NorFlash, const SLOT: usize> AsyncHorizonStore for WriteOnceHorizon<F, SLOT> {
    type Error = NorHorizonError<F::Error>;

    fn unix_s(&self) -> u32 {
        self.pages.horizon()
    }

    // Beside the blocking `raise`: the same calls of the driver, awaited.
    async fn raise(&mut self, to: u32) -> Result<(), Self::Error> {
        let Some(write) = self.pages.raise::<F::Error>(to)? else {
            return Ok(());
        };
        if let Some(pages) = &write.erase {
            self.flash.erase(pages.start, pages.end).await?;
        }
        let slot = FlashSlot::<SLOT>::of(write.record);
        for at in write.slots.addresses() {
            self.flash.write(at, &slot.0).await?;
            let mut shown = FlashSlot([0; SLOT]);
            self.flash.read(at, &mut shown.0).await?;
            if slot.0 != shown.0 {
                return Err(NorHorizonError::NotWritten);
            }
        }
        self.pages.wrote(&write);
        Ok(())
    }
}
