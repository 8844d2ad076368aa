//! Devices that lose their RAM whenever they sleep, and wake for an id every ten seconds for a
//! year.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use core::convert::Infallible;
use core::sync::atomic::AtomicU32;
use core::time::Duration;

use randflake_core::{
    Blocks, GenerateError, Generator, HorizonStore, Layout, Lease, LocalWord, ManualClock,
    Monotonic, Plain, Randflake, RetainedMemory, TimeBounds, UnixClock,
};

type Ids<'a> = Generator<Randflake, LocalWord<u32>, &'a ManualClock, Plain, u32>;

const PERIOD_S: u64 = 10;
/// What is granted.
const YEARS_S: u64 = if cfg!(miri) { 1_000 } else { 3_653 * 86_400 };
const FROM: u64 = 65_339_800;
/// A wake in so many is a power cut.
const CUT: u64 = 8_641;

/// A store as in flash: it rounds up to 4 s.
#[derive(Default)]
struct Store {
    horizon: u32,
    raises: u64,
}

impl HorizonStore for Store {
    type Error = Infallible;

    fn unix_s(&self) -> u32 {
        self.horizon
    }

    fn raise(&mut self, to: u32) -> Result<(), Infallible> {
        self.horizon = to.next_multiple_of(4);
        self.raises += 1;
        Ok(())
    }
}

struct Registers {
    words: [u32; 5],
    is_wake: bool,
}

impl RetainedMemory for Registers {
    fn read(&self) -> Option<[u32; 5]> {
        self.is_wake.then_some(self.words)
    }

    fn write(&mut self, words: [u32; 5]) {
        self.words = words;
    }
}

/// For how long a device wakes: for all ten years by `cargo xtask deep horizon`.
fn life_s() -> u64 {
    let is_long = std::env::var_os("RANDFLAKE_HORIZON_LONG").is_some();
    if is_long { YEARS_S } else { YEARS_S / 10 }
}

/// What a life of wakes costs.
struct Outcome {
    /// Furthest that an id was ahead of the clock.
    ahead_s: u64,
    raises: u64,
}

/// Wakes with an id each, whose ticks rise: so no id comes twice.
fn wakes(block_s: u32, is_retained: bool) -> Outcome {
    let grant = Lease::new(Randflake, 42, FROM, FROM + 2 * YEARS_S).unwrap();
    let clock = ManualClock::at_unix_ms(Randflake::SPEC.unix_ms(FROM));
    let (mut store, mut last, mut ahead_s) = (Store::default(), FROM, 0);
    let mut registers = Registers {
        words: [u32::MAX; 5],
        is_wake: false,
    };
    Blocks::new(grant, &mut store).provision().unwrap();
    for wake in 1..=life_s() / PERIOD_S {
        let now = FROM + wake * PERIOD_S;
        clock.set_unix_ms(Randflake::SPEC.unix_ms(now));
        registers.is_wake = is_retained && wake % CUT != 0;

        let mut device = Blocks::new(grant, &mut store).with_block_s(block_s);
        let unix = Duration::from_millis(Randflake::SPEC.unix_ms(now));
        let rest = device.resume(&mut registers);
        let mut begin = || device.begin(Some(unix)).unwrap();
        let ids = |lease| {
            Ids::new(lease, &clock, Plain)
                .unwrap()
                .with_tolerance(block_s)
        };
        let mut ids_of_wake = ids(rest.unwrap_or_else(&mut begin));
        let id = ids_of_wake.generate().unwrap_or_else(|error| {
            assert!(matches!(error, GenerateError::LeaseOver { .. }), "{error}");
            ids_of_wake = ids(begin());
            ids_of_wake.generate().unwrap()
        });
        let tick = ids_of_wake.inspect(id).tick;
        assert!(tick > last, "{wake}");
        assert!(tick >= now);
        last = tick;
        ahead_s = ahead_s.max(tick - now);
        if is_retained {
            ids_of_wake.retain(&mut registers);
        }
    }
    Outcome {
        ahead_s,
        raises: store.raises,
    }
}

/// A block goes on after each wake, and after a power cut the next one begins.
#[test]
fn retained_block_stays_near_the_clock() {
    for block_s in [60, 21_600] {
        let Outcome { ahead_s, raises } = wakes(block_s, true);
        assert!(ahead_s <= block_s.into(), "{block_s}: {ahead_s}");
        let most = life_s().div_ceil(block_s.into()) + life_s().div_ceil(PERIOD_S * CUT) + 2;
        assert!(raises <= most, "{block_s}: {raises}, at most {most}");
    }
}

/// A block of whole units of 4 s that is no longer than the time between wakes.
#[test]
fn block_chosen_by_the_wakes_stays_near_the_clock() {
    let Outcome { ahead_s, raises } = wakes(8, false);
    assert!(ahead_s <= 8, "{ahead_s}");
    assert_eq!(raises, life_s() / PERIOD_S + 1);
}

/// What the two are for: a longer block moves ids ahead at each wake.
#[test]
fn block_longer_than_the_wakes_runs_away() {
    let grant = Lease::new(Randflake, 42, FROM, FROM + YEARS_S).unwrap();
    let mut store = Store::default();
    Blocks::new(grant, &mut store).provision().unwrap();
    for wake in 0..8_640 {
        let now = Duration::from_millis(Randflake::SPEC.unix_ms(FROM + wake * PERIOD_S));
        Blocks::new(grant, &mut store).begin(Some(now)).unwrap();
    }
    let ahead_ms = u64::from(store.horizon) * 1_000 - Randflake::SPEC.unix_ms(FROM + 86_400);
    assert_eq!(ahead_ms / 86_400_000, 5, "days after one");
}

/// Uptime that stands still: a wake is short.
struct Still;

impl Monotonic for Still {
    fn uptime(&self) -> Duration {
        Duration::ZERO
    }
}

fn unix(tick: u64) -> Duration {
    Duration::from_millis(Randflake::SPEC.unix_ms(tick))
}

/// A device as the guide has it: its real-time clock is believed within bounds, which begin where
/// the kept block does.
#[test]
fn bounded_clock_does_not_skip_a_kept_block() {
    type Bounded<'a> = Generator<Randflake, LocalWord<u32>, &'a UnixClock<Still, AtomicU32>, Plain>;
    let grant = Lease::new(Randflake, 42, FROM, FROM + YEARS_S).unwrap();
    let mut store = Store::default();
    let mut registers = Registers {
        words: [0; 5],
        is_wake: true,
    };
    Blocks::new(grant, &mut store).provision().unwrap();
    for wake in 1..=100 {
        let now = FROM + wake * PERIOD_S;
        let mut blocks = Blocks::new(grant, &mut store).with_block_s(21_600);
        let rest = blocks.resume(&mut registers);
        assert_eq!(rest.is_some(), wake > 1);
        let floor = match rest {
            Some(rest) => unix(rest.start()),
            None => Duration::from_secs(blocks.store().unix_s().into()),
        };
        let bounds = TimeBounds::from_horizon(floor).within(&grant);
        let clock = UnixClock::<_, AtomicU32>::new(Still);
        assert_eq!(clock.set_within(unix(now), &bounds), Ok(unix(now)));
        let lease = rest.unwrap_or_else(|| blocks.begin(Some(unix(now))).unwrap());
        let ids = Bounded::new(lease, &clock, Plain).unwrap();
        assert_eq!(ids.inspect(ids.generate().unwrap()).tick, now);
        ids.retain(&mut registers);
    }
    assert_eq!(store.raises, 2, "the first horizon, and one block");
}
