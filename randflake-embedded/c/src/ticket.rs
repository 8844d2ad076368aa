//! `rf_accept_ticket`: checks a ticket and fills in its grant.

use core::mem::MaybeUninit;
use core::time::Duration;

use randflake_core::{Ticket, TicketReader};

use crate::config::Grant;
use crate::form::Ids;
use crate::status::{self, Status};

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
