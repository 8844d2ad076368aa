//! Grants, which `rf_read_grant` decodes as the factory wrote them and `rf_accept_ticket` from a
//! ticket; and the horizon that the program keeps.

use core::mem::MaybeUninit;
use core::time::Duration;

use randflake_core::{Blocks, HorizonRecord, HorizonStore, Lease, Ticket, TicketReader};

use crate::config::{Config, Grant};
use crate::form::Ids;
use crate::status::{self, Status};

const GRANT_SIZE: usize = 16;

#[unsafe(no_mangle)]
extern "C" fn rf_read_grant(
    bytes: Option<&[u8; GRANT_SIZE]>,
    grant: Option<&mut MaybeUninit<Grant>>,
) -> Status {
    let (Some(bytes), Some(grant)) = (bytes, grant) else {
        return status::NULL;
    };
    let (words, _) = bytes.as_chunks();
    let &[node_id, start, end, version] = words else {
        return status::NOT_PROVISIONED;
    };
    let words = [node_id, start, end, version].map(u32::from_le_bytes);
    match Lease::from_words(Ids, words) {
        Ok(lease) => {
            grant.write(Grant::of(&lease));
            status::OK
        }
        Err(error) => error.into(),
    }
}

#[unsafe(no_mangle)]
extern "C" fn rf_accept_ticket(
    ticket: Option<&[u8; Ticket::LEN]>,
    key: Option<&[u8; 16]>,
    device_id: u64,
    now_unix_s: u32,
    counter: Option<&mut u32>,
    grant: Option<&mut MaybeUninit<Grant>>,
) -> Status {
    let (Some(ticket), Some(key), Some(counter), Some(grant)) = (ticket, key, counter, grant)
    else {
        return status::NULL;
    };
    let now = (now_unix_s != 0).then(|| Duration::from_secs(now_unix_s.into()));
    let mut reader = TicketReader::new(device_id, *counter);
    match reader.accept::<Ids>(ticket, key, now) {
        Ok(lease) => {
            *counter = reader.last_counter();
            grant.write(Grant::of(&lease));
            status::OK
        }
        Err(error) => error.into(),
    }
}

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
