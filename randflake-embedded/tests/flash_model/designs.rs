//! What the model tries to break.

use core::fmt::Debug;

use embedded_storage_async::nor_flash::MultiwriteNorFlash;
use randflake_core::AsyncHorizonStore;
use randflake_embedded::{NorHorizon, WriteOnceHorizon};

/// A way to keep a horizon in a flash; `None` when it does not know it.
pub(crate) trait Design {
    fn open<F: MultiwriteNorFlash + Debug, const SLOT: usize>(
        flash: F,
    ) -> impl Future<Output = Option<impl AsyncHorizonStore + Debug>>;
}

pub(crate) struct Nor;

impl Design for Nor {
    async fn open<F: MultiwriteNorFlash + Debug, const SLOT: usize>(
        flash: F,
    ) -> Option<impl AsyncHorizonStore + Debug> {
        NorHorizon::<F, SLOT>::open_async(flash).await.ok()
    }
}

pub(crate) struct WriteOnce;

impl Design for WriteOnce {
    async fn open<F: MultiwriteNorFlash + Debug, const SLOT: usize>(
        flash: F,
    ) -> Option<impl AsyncHorizonStore + Debug> {
        WriteOnceHorizon::<F, SLOT>::open_async(flash).await.ok()
    }
}
