//! Async I/O for `NorHorizon` (`embedded-storage-async`).

use embedded_storage_async::nor_flash::MultiwriteNorFlash;
use randflake_core::{AsyncHorizonStore, HorizonRecord};

use super::journal::{Geometry, Scan, SlotWords, is_written};
use super::{FlashSlot, NorHorizon, NorHorizonError, geometry};

impl<F: MultiwriteNorFlash, const SLOT: usize> NorHorizon<F, SLOT> {
    const ASYNC_GEOMETRY: Geometry = geometry(SLOT, F::READ_SIZE, F::WRITE_SIZE, F::ERASE_SIZE);

    /// [`open`](Self::open) for an async driver (`embedded-storage-async`).
    ///
    /// # Errors
    ///
    /// As for `open`.
    pub async fn open_async(mut flash: F) -> Result<Self, F::Error> {
        let mut scan = Scan::new(Self::ASYNC_GEOMETRY);
        while let Some(at) = scan.next() {
            scan.saw(read::<F, SLOT>(&mut flash, at).await?);
        }
        let journal = scan.journal();
        Ok(Self { flash, journal })
    }

    async fn write_async(
        &mut self,
        at: u32,
        record: Option<HorizonRecord>,
    ) -> Result<(), NorHorizonError<F::Error>> {
        let words = record.map_or(HorizonRecord::MARK, HorizonRecord::to_words);
        let mut slot = FlashSlot::<SLOT>::new(words);
        let written = self.flash.write(at, &slot.0).await;
        self.flash.read(at, &mut slot.0).await?;
        // See `write` for why the slot is written once more.
        if written.is_err() {
            self.flash.write(at, &slot.0).await?;
        }
        if is_written(Self::ASYNC_GEOMETRY, at, record, slot.words()) {
            Ok(())
        } else {
            Err(NorHorizonError::NotWritten)
        }
    }
}

impl<F: MultiwriteNorFlash, const SLOT: usize> AsyncHorizonStore for NorHorizon<F, SLOT> {
    type Error = NorHorizonError<F::Error>;

    fn unix_s(&self) -> u32 {
        self.journal.horizon()
    }

    async fn raise(&mut self, to: u32) -> Result<(), Self::Error> {
        if self.journal.holds(to) {
            return Ok(());
        }
        let record = self.journal.record_for(to);
        let record = record.ok_or(NorHorizonError::OutOfRange)?;
        if !self.journal.is_firm() {
            if let Some(at) = self.journal.doubtful_head(Self::ASYNC_GEOMETRY) {
                self.write_async(at, self.journal.record()).await?;
                self.journal.wrote_head();
            }
            let at = self.journal.take_doubtful(Self::ASYNC_GEOMETRY);
            self.write_async(at, None).await?;
        }
        let (at, pages) = self.journal.take_slot(Self::ASYNC_GEOMETRY);
        if let Some(pages) = pages {
            self.flash.erase(pages.start, pages.end).await?;
        }
        self.write_async(at, Some(record)).await?;
        self.journal.wrote(Self::ASYNC_GEOMETRY, at, record);
        Ok(())
    }
}

async fn read<F: MultiwriteNorFlash, const SLOT: usize>(
    flash: &mut F,
    at: u32,
) -> Result<SlotWords, F::Error> {
    let mut slot = FlashSlot([0; SLOT]);
    flash.read(at, &mut slot.0).await?;
    Ok(slot.words())
}
