//! Clocks that are not set, or wrong, and a lease that ends while it is used.

use core::cell::Cell;
use core::time::Duration;

use randflake_embedded::randflake_core::{
    GenerateError, Generator, Lease, LocalWord, Monotonic, Randflake, Sparx64OnTheFly, TimeBounds,
    UnixClock, Uptime,
};

use crate::board;
use crate::suite::EPOCH;
use crate::suite::{Suite, expect};

type L = Randflake;

const YEAR: Duration = Duration::from_secs(365 * 86_400);

fn at(seconds: u64) -> Duration {
    EPOCH + Duration::from_secs(seconds)
}

/// A time since boot that the test sets.
struct CellUptime<'a>(&'a Cell<u64>);

impl Monotonic for CellUptime<'_> {
    fn uptime(&self) -> Duration {
        Duration::from_secs(self.0.get())
    }
}

pub fn run(suite: &mut Suite) {
    suite.check("clock_not_set", not_set());
    suite.check("clock_a_year_ahead", a_year_ahead());
    suite.check("lease_ends_mid_run", lease_ends());
    suite.check("counter_wraps", counter_wraps());
}

/// The lease from second 100 to 200, and a clock over `uptime`.
fn generator<'a>(
    clock: &'a UnixClock<CellUptime<'a>, LocalWord<u32>>,
) -> Generator<L, LocalWord<u32>, &'a UnixClock<CellUptime<'a>, LocalWord<u32>>, Sparx64OnTheFly> {
    Generator::new(lease(), clock, Sparx64OnTheFly::new(&[7; 16])).unwrap()
}

fn lease() -> Lease<L> {
    Lease::new(Randflake, 42, 100, 200).unwrap()
}

fn not_set() -> Result<&'static str, &'static str> {
    let uptime = Cell::new(5);
    let clock = UnixClock::new(CellUptime(&uptime));
    let ids = generator(&clock);
    expect(
        ids.generate() == Err(GenerateError::ClockUnknown),
        "refused while unknown",
    )?;
    clock.set(at(150)).map_err(|_| "the clock is set")?;
    uptime.set(8);
    let id = ids.generate().map_err(|_| "an id when it is set")?;
    expect(
        ids.inspect(id).tick == 153,
        "refused while unknown, then stamped with ticks since",
    )
}

/// Within what the lease allows it is believed, so the lease is not lost to it.
fn a_year_ahead() -> Result<&'static str, &'static str> {
    let uptime = Cell::new(0);
    let clock = UnixClock::new(CellUptime(&uptime));
    let bounds = TimeBounds::from_horizon(at(120))
        .within(&lease())
        .with_max_step(Duration::from_secs(10));
    clock
        .set_within(at(130), &bounds)
        .map_err(|_| "the clock is set")?;
    clock
        .set_within(at(130) + YEAR, &bounds)
        .map_err(|_| "the clock is set again")?;
    let ids = generator(&clock);
    let id = ids
        .generate()
        .map_err(|_| "an id under a clock a year ahead")?;
    expect(
        ids.inspect(id).tick == 130,
        "two settings moved the clock by one step from the start",
    )
}

fn lease_ends() -> Result<&'static str, &'static str> {
    let uptime = Cell::new(0);
    let clock = UnixClock::new(CellUptime(&uptime));
    clock.set(at(199)).map_err(|_| "the clock is set")?;
    let ids = generator(&clock);
    expect(ids.generate().is_ok(), "the lease's last second")?;
    uptime.set(3);
    let over = Err(GenerateError::LeaseOver { since_ms: 2_000 });
    expect(ids.generate() == over, "refused past the end")?;
    let longer = Lease::new(Randflake, 42, 100, 300).unwrap();
    expect(
        ids.extend(longer).is_err(),
        "a lease that is over is not extended",
    )?;
    uptime.set(0);
    expect(ids.generate().is_ok(), "refused, and consumed nothing")
}

/// The time since boot is a timer's count, in a counter of 32 bits that wraps after a second and a
/// half.
fn counter_wraps() -> Result<&'static str, &'static str> {
    const HZ: u32 = 32_768;
    const FROM: u32 = 0_u32.wrapping_sub(HZ * 3 / 2);

    let elapsed = board::count();
    let uptime = Uptime::<HZ, _, LocalWord<u32>>::new(|| FROM.wrapping_add(elapsed()));
    let clock = UnixClock::<_, LocalWord<u32>>::new(uptime);
    clock.set(at(150)).map_err(|_| "the clock is set")?;
    let set = elapsed();
    let cipher = Sparx64OnTheFly::new(&[7; 16]);
    let ids = Generator::<L, LocalWord<u32>, _, _>::new(lease(), &clock, cipher).unwrap();
    let mut tick = 0;
    while tick < 153 {
        let earliest = 150 + u64::from((elapsed() - set) / HZ);
        let id = ids.generate().map_err(|_| "an id at any time")?;
        let latest = 150 + u64::from(elapsed() / HZ);
        tick = ids.inspect(id).tick;
        expect((earliest..=latest).contains(&tick), "stamped with the time")?;
    }
    Ok("stamped with the time before and after the wrap")
}
