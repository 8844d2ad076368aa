//! The machine is reset again and again, its clock knows no time, and what RAM holds is all that it
//! keeps: the horizon, and the counter of its last ticket.

use core::fmt::{self, Display};
use core::mem::MaybeUninit;
use core::ptr;

use randflake_embedded::randflake_core::{
    Blocks, Generator, HorizonStore, Lease, LocalWord, Randflake as L, Sparx64OnTheFly,
    TicketError, TicketReader,
};

use crate::suite::Shown;
use crate::suite::{Suite, expect};
use crate::tickets::{DEVICE, RENEWALS};

const IDS_EACH: u32 = 1_000;

/// The horizon in retained RAM.
struct Ram;

impl HorizonStore for Ram {
    type Error = core::convert::Infallible;

    fn unix_s(&self) -> u32 {
        Retained::load().horizon_unix_s
    }

    fn raise(&mut self, unix_s: u32) -> Result<(), Self::Error> {
        Retained::update(|kept| kept.horizon_unix_s = unix_s.max(kept.horizon_unix_s));
        Ok(())
    }
}

impl Display for Retained {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            resets, duplicates, ..
        } = self;
        let ids = resets * IDS_EACH;
        write!(f, "{resets} resets, {ids} ids, {duplicates} duplicates")
    }
}

/// Returns after the last reset. Before each the device is handed all of its old tickets, and a new
/// one.
pub fn run(suite: &mut Suite, reset: fn() -> !) {
    let kept = Retained::load();
    let (old, new) = RENEWALS.split_at(kept.resets as usize);
    if let Some(ticket) = new.first() {
        for (ticket, counter) in old.iter().zip(1..) {
            replay(ticket, counter);
        }
        issue(renew(ticket));
        Retained::update(|kept| kept.resets += 1);
        reset();
    }
    let unique = kept.duplicates == 0;
    suite.check(
        "resets_without_a_clock",
        if unique { Ok(kept) } else { Err(kept) },
    );
    let replays = kept.resets * (kept.resets - 1) / 2;
    suite.check(
        "tickets_replayed_after_resets",
        expect(kept.replays_refused == replays, "old tickets are refused"),
    );
}

fn reader() -> TicketReader {
    TicketReader::new(DEVICE.device_id, Retained::load().last_ticket)
}

fn replay(ticket: &[u8], counter: u32) {
    let mut reader = reader();
    let last = reader.last_counter();
    let accepted = reader.accept::<L>(ticket, &DEVICE.key, None);
    let refused = accepted == Err(TicketError::Replayed { counter, last });
    if refused && reader.last_counter() == last {
        Retained::update(|kept| kept.replays_refused += 1);
    }
}

fn renew(ticket: &[u8]) -> Lease<L> {
    let mut reader = reader();
    let lease = reader.accept(ticket, &DEVICE.key, None).unwrap();
    Retained::update(|kept| kept.last_ticket = reader.last_counter());
    lease
}

/// Ids of the next block, at the horizon since the clock knows no time: each is past all of the
/// boots before.
fn issue(grant: Lease<L>) {
    let mut blocks = Blocks::new(grant, Ram);
    if Retained::load().resets == 0 {
        blocks.provision().unwrap();
    }
    let lease = blocks.begin(None).unwrap();
    Shown::set(lease.start().try_into().unwrap());
    let cipher = Sparx64OnTheFly::new(&[7; 16]);
    let generator = Generator::<_, LocalWord<u32>, _, _>::new(lease, Shown, cipher).unwrap();
    let Retained {
        mut highest,
        mut duplicates,
        ..
    } = Retained::load();
    for _ in 0..IDS_EACH {
        let parts = generator.inspect(generator.generate().unwrap());
        let position = parts.tick << 17 | u64::from(parts.sequence);
        duplicates += u32::from(position <= highest);
        highest = highest.max(position);
    }
    Retained::update(|kept| {
        kept.highest = highest;
        kept.duplicates = duplicates;
    });
}

/// Words in RAM that a reset leaves: nobody clears them.
#[derive(Clone, Copy)]
struct Retained {
    /// That the rest has a meaning: at power-on the RAM may hold anything.
    magic: u32,
    resets: u32,
    horizon_unix_s: u32,
    last_ticket: u32,
    /// The highest position that was issued.
    highest: u64,
    duplicates: u32,
    replays_refused: u32,
}

const MAGIC: u32 = 0x5eed_1d5e;

#[unsafe(link_section = ".uninit.retained")]
static mut RETAINED: MaybeUninit<Retained> = MaybeUninit::uninit();

impl Retained {
    /// Reads the retained words, zeros after power-on.
    fn load() -> Self {
        // SAFETY: plain numbers, of which any bits are some; nobody else has the memory.
        let retained = unsafe { (&raw const RETAINED).cast::<Retained>().read_volatile() };
        if retained.magic == MAGIC {
            return retained;
        }
        Self {
            magic: MAGIC,
            resets: 0,
            horizon_unix_s: 0,
            last_ticket: 0,
            highest: 0,
            duplicates: 0,
            replays_refused: 0,
        }
    }

    fn update(change: impl FnOnce(&mut Self)) {
        let mut retained = Self::load();
        change(&mut retained);
        // SAFETY: as above.
        unsafe { ptr::write_volatile((&raw mut RETAINED).cast(), retained) }
    }
}
