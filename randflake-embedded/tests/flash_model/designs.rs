//! Designs of a horizon in flash that the model tries to break.

use core::fmt::Debug;

use crate::ring::{Flaws, Ring};
use embedded_storage_async::nor_flash::MultiwriteNorFlash;
use randflake_core::AsyncHorizonStore;
use randflake_embedded::FlashHorizon;

/// A way to keep a horizon in a flash; `None` when it does not know it.
pub(crate) trait Design {
    /// Whether a page may be begun in idle time.
    const ERASES_AHEAD: bool = false;

    fn open<F: MultiwriteNorFlash + Debug, const SLOT: usize>(
        flash: F,
    ) -> impl Future<Output = Option<impl Store>>;
}

pub(crate) trait Store: AsyncHorizonStore + Debug {
    /// Makes room for so many raises; whether that succeeded.
    async fn erase_ahead(&mut self, _raises: u32) -> bool {
        true
    }
}

pub(crate) struct Ours;

impl<F: MultiwriteNorFlash + Debug, const SLOT: usize> Store for FlashHorizon<F, SLOT> {
    async fn erase_ahead(&mut self, raises: u32) -> bool {
        self.erase_ahead_async(raises).await.is_ok()
    }
}

impl Design for Ours {
    const ERASES_AHEAD: bool = true;

    async fn open<F: MultiwriteNorFlash + Debug, const SLOT: usize>(
        flash: F,
    ) -> Option<impl Store> {
        FlashHorizon::<F, SLOT>::open_async(flash).await.ok()
    }
}

impl<F: MultiwriteNorFlash + Debug, const SLOT: usize> Store for Ring<F, SLOT> {}

/// A [`Ring`] with a flaw.
macro_rules! rings {
    ($($(#[$doc:meta])* $name:ident: $($flaw:ident)?;)*) => {$(
        $(#[$doc])*
        pub(crate) struct $name;

        impl Design for $name {
            async fn open<F: MultiwriteNorFlash + Debug, const SLOT: usize>(
                flash: F,
            ) -> Option<impl Store> {
                let flaws = Flaws { $($flaw: true,)? ..Flaws::default() };
                Ring::<F, SLOT>::open(flash, flaws).await
            }
        }
    )*};
}

rings! {
    Sound: ;
    LeavesUnsealed: leaves_unsealed;
    HasNoSeals: has_no_seals;
    ReadsNothingBack: reads_nothing_back;
    TrustsBlank: trusts_blank;
    RepairsSeal: repairs_seal;
    MovesOn: moves_on;
}
