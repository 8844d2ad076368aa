//! Grants: `rf_read_grant` decodes the one that the factory wrote, `rf_accept_ticket` that of a
//! ticket.

use core::mem::MaybeUninit;
use core::time::Duration;

use randflake_core::{Lease, Ticket, TicketReader};

use crate::config::Grant;
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
