//! The machine is reset again and again, its clock knows no time, and what RAM holds is all that it keeps.

use core::fmt::{self, Display};
use core::mem::MaybeUninit;
use core::ptr;

use randflake_embedded::randflake_core::{
    Blocks, Clock, Generator, HorizonStore, Lease, LocalWord, RandflakeOnTheFly, Sparx64OnTheFly,
};

use crate::shown::Shown;
use crate::suite::Suite;

const RESETS: u32 = 20;
const IDS_EACH: u32 = 1_000;

/// What no reset changes.
#[derive(Clone, Copy)]
struct Retained {
    /// That the rest has a meaning: at power-on the RAM may hold anything.
    magic: u32,
    resets: u32,
    horizon_unix_s: u32,
    highest: u64,
    duplicates: u32,
}

const MAGIC: u32 = 0x5eed_1d5e;

#[unsafe(link_section = ".uninit.retained")]
static mut RETAINED: MaybeUninit<Retained> = MaybeUninit::uninit();

fn load() -> Retained {
    // SAFETY: plain numbers, of which any bits are some; nobody else has the memory.
    unsafe { (&raw const RETAINED).cast::<Retained>().read_volatile() }
}

fn store(retained: Retained) {
    // SAFETY: as above.
    unsafe { ptr::write_volatile((&raw mut RETAINED).cast(), retained) }
}

/// The horizon in retained RAM.
struct Ram;

impl HorizonStore for Ram {
    type Error = core::convert::Infallible;

    fn unix_s(&self) -> u32 {
        load().horizon_unix_s
    }

    fn raise(&mut self, unix_s: u32) -> Result<(), Self::Error> {
        let retained = load();
        store(Retained {
            horizon_unix_s: unix_s.max(retained.horizon_unix_s),
            ..retained
        });
        Ok(())
    }
}

impl Display for Retained {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            resets, duplicates, ..
        } = self;
        write!(
            f,
            "{resets} resets, {} ids, {duplicates} duplicates",
            resets * IDS_EACH
        )
    }
}

/// Returns after the last reset.
pub fn run(suite: &mut Suite, reset: fn() -> !) {
    if load().magic != MAGIC {
        store(Retained {
            magic: MAGIC,
            resets: 0,
            horizon_unix_s: 0,
            highest: 0,
            duplicates: 0,
        });
    }
    let mut now = load();
    if now.resets < RESETS {
        (now.highest, now.duplicates) = issue(now.highest, now.duplicates);
        store(Retained {
            resets: now.resets + 1,
            horizon_unix_s: load().horizon_unix_s,
            ..now
        });
        reset();
    }
    suite.check(
        "resets_without_a_clock",
        if now.duplicates == 0 {
            Ok(now)
        } else {
            Err(now)
        },
    );
}

/// Ids of the next block, at the horizon since the clock knows no time: each is past all of the boots before.
fn issue(mut highest: u64, mut duplicates: u32) -> (u64, u32) {
    let grant = Lease::<RandflakeOnTheFly>::new(42, 1, 1 << 29).unwrap();
    let lease = Blocks::new(grant, Ram).begin(None).unwrap();
    Shown::set(u32::try_from(lease.start()).unwrap());
    assert!(Shown.now().is_some());
    let cipher = Sparx64OnTheFly::new(&[7; 16]);
    let generator = Generator::<_, LocalWord<u32>, _>::new(lease, Shown, cipher).unwrap();
    for _ in 0..IDS_EACH {
        let parts = generator.inspect(generator.generate().unwrap());
        let position = parts.tick << 17 | u64::from(parts.sequence);
        duplicates += u32::from(position <= highest);
        highest = highest.max(position);
    }
    (highest, duplicates)
}
