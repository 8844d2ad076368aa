//! `rf_accept_ticket`: checks a ticket and fills in its grant.

use core::time::Duration;

use randflake_core::{Ticket, TicketReader};

use crate::config::Grant;
use crate::form::Ids;
use crate::status::{self, Status};

#[unsafe(no_mangle)]
extern "C" fn rf_accept_ticket(
    ticket: &[u8; Ticket::LEN],
    key: &[u8; 16],
    device_id: u64,
    now_unix_s: u32,
    counter: &mut u32,
    grant: &mut Grant,
) -> Status {
    let now = (now_unix_s != 0).then(|| Duration::from_secs(now_unix_s.into()));
    let mut reader = TicketReader::new(device_id, *counter);
    match reader.accept::<Ids>(ticket, key, now) {
        Ok(lease) => {
            *counter = reader.last_counter();
            *grant = Grant::of(&lease);
            status::OK
        }
        Err(error) => error.into(),
    }
}
