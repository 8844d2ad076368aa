//! Async I/O for `NorHorizon` (`embedded-storage-async`).

use embedded_storage_async::nor_flash::MultiwriteNorFlash;
use randflake_core::AsyncHorizonStore;

use super::journal::{Geometry, Scan};
use super::{FlashSlot, NorHorizon, NorHorizonError, geometry};

impl<F: MultiwriteNorFlash, const SLOT: usize> NorHorizon<F, SLOT> {
    const ASYNC_GEOMETRY: Geometry = geometry(SLOT, F::READ_SIZE, F::WRITE_SIZE, F::ERASE_SIZE);

    /// Reads the horizon through an async driver (`embedded-storage-async`): see [`open`](Self::open).
    ///
    /// # Errors
    ///
    /// As for `open`.
    pub async fn open_async(mut flash: F) -> Result<Self, F::Error> {
        let mut scan = Scan::new(Self::ASYNC_GEOMETRY);
        while let Some(at) = scan.next() {
            let mut slot = FlashSlot([0; SLOT]);
            flash.read(at, &mut slot.0).await?;
            scan.saw(slot.words());
        }
        let journal = scan.journal();
        Ok(Self { flash, journal })
    }
}

impl<F: MultiwriteNorFlash, const SLOT: usize> AsyncHorizonStore for NorHorizon<F, SLOT> {
    type Error = NorHorizonError<F::Error>;

    fn unix_s(&self) -> u32 {
        self.journal.horizon()
    }

    // Beside the blocking `raise`: the same calls of the driver, awaited.
    async fn raise(&mut self, to: u32) -> Result<(), Self::Error> {
        let Some(record) = self.journal.record_for::<F::Error>(to)? else {
            return Ok(());
        };
        while self.journal.lacks(record) {
            let write = self.journal.next(Self::ASYNC_GEOMETRY, record);
            if let Some(pages) = &write.erase {
                self.flash.erase(pages.start, pages.end).await?;
            }
            let mut slot = FlashSlot::<SLOT>::new(write.words());
            let written = self.flash.write(write.at, &slot.0).await;
            self.flash.read(write.at, &mut slot.0).await?;
            if written.is_err() {
                self.flash.write(write.at, &slot.0).await?;
            }
            let shown = slot.words();
            self.journal
                .wrote::<F::Error>(Self::ASYNC_GEOMETRY, record, &write, shown)?;
        }
        Ok(())
    }
}
