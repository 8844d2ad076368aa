//! What the model tries to break.

use core::fmt::Debug;

use crate::ring::{Flaws, Ring};
use embedded_storage_async::nor_flash::MultiwriteNorFlash;
use randflake_core::AsyncHorizonStore;
use randflake_embedded::FlashHorizon;

/// A way to keep a horizon in a flash; `None` when it does not know it.
pub(crate) trait Design {
    fn open<F: MultiwriteNorFlash + Debug, const SLOT: usize>(
        flash: F,
    ) -> impl Future<Output = Option<impl AsyncHorizonStore + Debug>>;
}

pub(crate) struct Ours;

impl Design for Ours {
    async fn open<F: MultiwriteNorFlash + Debug, const SLOT: usize>(
        flash: F,
    ) -> Option<impl AsyncHorizonStore + Debug> {
        FlashHorizon::<F, SLOT>::open_async(flash).await.ok()
    }
}

/// A [`Ring`] with a flaw.
macro_rules! rings {
    ($($(#[$doc:meta])* $name:ident: $($flaw:ident)?;)*) => {$(
        $(#[$doc])*
        pub(crate) struct $name;

        impl Design for $name {
            async fn open<F: MultiwriteNorFlash + Debug, const SLOT: usize>(
                flash: F,
            ) -> Option<impl AsyncHorizonStore + Debug> {
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
