//! The horizon that the program keeps, and its record.

use randflake_core::{Blocks, HorizonRecord, HorizonStore, Lease};

use crate::config::Config;
use crate::form::Ids;
use crate::status::Status;

/// A [`HorizonStore`] over the callbacks of the program.
pub(crate) struct CallbackStore<'a>(&'a Config);

impl HorizonStore for CallbackStore<'_> {
    type Error = Status;

    fn unix_s(&self) -> u32 {
        self.0.horizon()
    }

    fn raise(&mut self, unix_s: u32) -> Result<(), Status> {
        self.0.raise_horizon(unix_s)
    }
}

#[inline]
pub(crate) fn blocks(grant: Lease<Ids>, config: &Config) -> Blocks<Ids, CallbackStore<'_>> {
    Blocks::new(grant, CallbackStore(config)).with_block_s(config.block_s)
}

const RECORD_SIZE: usize = 8;

#[unsafe(no_mangle)]
extern "C" fn rf_write_record(unix_s: u32, record: Option<&mut [u8; RECORD_SIZE]>) {
    let Some(record) = record else {
        return;
    };
    // Erased bytes for 0 and for times that a record cannot hold: they read as no horizon.
    *record = HorizonRecord::new(unix_s).map_or([u8::MAX; RECORD_SIZE], HorizonRecord::to_bytes);
}

#[unsafe(no_mangle)]
extern "C" fn rf_read_record(record: Option<&[u8; RECORD_SIZE]>) -> u32 {
    let Some(record) = record else {
        return 0;
    };
    let (words, _) = record.as_chunks();
    let &[first, second] = words else {
        return 0;
    };
    let words = [first, second].map(u32::from_le_bytes);
    HorizonRecord::from_words(words).map_or(0, HorizonRecord::unix_s)
}
