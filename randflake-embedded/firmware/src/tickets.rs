//! Tickets made elsewhere, and each way in which one is refused.

use core::time::Duration;

use randflake_embedded::randflake_core::{
    Layout, Lease, LeaseError, MakeTicketError, Randflake as L, Snowflake, Ticket, TicketError,
    TicketReader,
};

use crate::suite::{Suite, expect};

include!(concat!(env!("OUT_DIR"), "/tickets.rs"));

pub struct Vector {
    pub key: [u8; 16],
    pub device_id: u64,
    counter: u32,
    node_id: u32,
    start: u64,
    end: u64,
    ticket: [u8; Ticket::LEN],
}

/// The device that the renewals are for.
pub static DEVICE: &Vector = &VECTORS[0];

impl Vector {
    fn lease(&self) -> Lease<L> {
        Lease::new(L, self.node_id, self.start, self.end).unwrap()
    }

    /// The device, which has accepted all tickets before this one.
    fn reader(&self) -> TicketReader {
        TicketReader::new(self.device_id, self.counter - 1)
    }
}

pub fn run(suite: &mut Suite) {
    suite.check("ticket_vectors", vectors());
    suite.check("tickets_refused", refusals(DEVICE));
}

fn vectors() -> Result<&'static str, &'static str> {
    for vector in VECTORS {
        let Vector { key, ticket, .. } = vector;
        let made = Ticket::of(&vector.lease(), vector.device_id, vector.counter);
        let read = vector.reader().accept(ticket, key, None);
        if vector.counter > Ticket::MAX_COUNTER {
            let refused = matches!(made, Err(MakeTicketError::Counter { .. }));
            let unread = matches!(read, Err(TicketError::Counter { .. }));
            expect(refused && unread, "the last counter is refused")?;
            continue;
        }
        expect(
            made.map(|made| made.encode(key)) == Ok(*ticket),
            "written as others write it",
        )?;
        expect(read == Ok(vector.lease()), "read as others wrote it")?;
    }
    expect(VECTORS.len() == 12, "12 tickets agree")
}

fn refusals(vector: &Vector) -> Result<&'static str, &'static str> {
    let Vector { key, ticket, .. } = vector;
    let mut reader = vector.reader();
    let mut refuses = |bytes: &[u8], key, now, error, what| {
        let accepted = reader.accept::<L>(bytes, key, now);
        let is_as_it_was = reader.last_counter() == vector.counter - 1;
        expect(accepted == Err(error) && is_as_it_was, what)
    };
    let mut long = [0; Ticket::LEN + 1];
    long[..Ticket::LEN].copy_from_slice(ticket);
    for len in (0..long.len()).filter(|&len| len != Ticket::LEN) {
        let error = TicketError::Length { len };
        refuses(
            &long[..len],
            key,
            None,
            error,
            "one of another length is refused",
        )?;
    }
    for bit in 0..8 * Ticket::LEN {
        let mut changed = *ticket;
        changed[bit / 8] ^= 1 << (bit % 8);
        let error = match changed[0] {
            1 => TicketError::Forged,
            version => TicketError::Version { version },
        };
        refuses(
            &changed,
            key,
            None,
            error,
            "one with a changed bit is refused",
        )?;
    }
    refuses(
        ticket,
        &[7; 16],
        None,
        TicketError::Forged,
        "another key's is refused",
    )?;
    let end = Duration::from_millis(L::SPEC.unix_ms(vector.end));
    for since_s in [0, 3] {
        let now = Some(end + Duration::from_secs(since_s));
        let error = TicketError::Expired { since_s };
        refuses(ticket, key, now, error, "one that is over is refused")?;
    }
    let foreign = TicketError::Foreign {
        device_id: vector.device_id,
    };
    let mut other = TicketReader::new(!vector.device_id, 0);
    expect(
        other.accept::<L>(ticket, key, None) == Err(foreign) && other.last_counter() == 0,
        "another device's is refused",
    )?;
    let malformed = TicketError::Malformed(LeaseError::NodeId {
        value: vector.node_id,
        max: 1_023,
    });
    expect(
        reader.accept::<Snowflake>(ticket, key, None) == Err(malformed),
        "a lease that the layout has not is refused",
    )?;
    let just_before = Some(end - Duration::from_millis(1));
    expect(
        reader.accept(ticket, key, just_before) == Ok(vector.lease()),
        "each refusal has its error, and leaves the ticket good",
    )
}
