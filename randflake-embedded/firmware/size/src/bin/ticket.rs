//! A lease's ticket, checked and decoded.
#![no_std]
#![no_main]

use core::hint::black_box;
use core::time::Duration;

use randflake_embedded::randflake_core::{
    Lease, RandflakeOnTheFly, Ticket, TicketError, TicketReader,
};

#[unsafe(no_mangle)]
#[inline(never)]
fn probe(
    reader: &mut TicketReader,
    bytes: &[u8],
    key: &[u8; 16],
    now: Option<Duration>,
) -> Result<Lease<RandflakeOnTheFly>, TicketError> {
    reader.accept(bytes, key, now)
}

size::image!(TicketReader, {
    let lease = size::lease::<RandflakeOnTheFly>();
    let bytes = size::expect(Ticket::of(&lease, 7, 1)).encode(size::KEY_BYTES);
    let mut reader = TicketReader::new(7, 0);
    let now = Some(Duration::from_secs(size::START_UNIX_S));
    size::expect(probe(
        black_box(&mut reader),
        black_box(&bytes),
        black_box(size::KEY_BYTES),
        black_box(now),
    ));
});
