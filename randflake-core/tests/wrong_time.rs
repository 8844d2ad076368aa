//! A device takes a time that is wrong: how much of its grant is lost, and that it goes on when it
//! is corrected.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use core::cell::Cell;
use core::convert::Infallible;
use core::time::Duration;

use randflake_core::{
    Blocks, Clock, DEFAULT_BLOCK_S, GenerateError, Generator, HorizonError, HorizonStore, Id,
    Layout, Lease, LocalWord, Monotonic, Plain, Randflake, TimeBounds, UnixClock,
};

const NODE_ID: u32 = 42;
const MADE: u64 = 40_000_000;
const HOUR: Duration = Duration::from_secs(3_600);
const DAY: Duration = Duration::from_secs(86_400);
const YEAR: Duration = Duration::from_secs(365 * 86_400);

/// The largest step of a time, and a block.
const TOLERANCE_S: u32 = 86_400 + DEFAULT_BLOCK_S;

struct Ram(u32);

impl HorizonStore for Ram {
    type Error = Infallible;

    fn unix_s(&self) -> u32 {
        self.0
    }

    fn raise(&mut self, to: u32) -> Result<(), Infallible> {
        self.0 = self.0.max(to);
        Ok(())
    }
}

/// The time since boot, in which the test lets time pass.
struct Uptime(Cell<Duration>);

impl Monotonic for &Uptime {
    fn uptime(&self) -> Duration {
        self.0.get()
    }
}

type Time<'a> = UnixClock<&'a Uptime, LocalWord<u32>>;
type Ids<'a> = Generator<Randflake, LocalWord<u32>, &'a Time<'a>, Plain, u32>;

/// A device from one boot to the next, with a grant of ten years. It was made, and its horizon
/// written, at [`made`].
struct Device<'a> {
    time: &'a Time<'a>,
    blocks: Blocks<Randflake, &'a mut Ram>,
    ids: Option<Ids<'a>>,
}

fn made() -> Duration {
    Duration::from_millis(Randflake::SPEC.unix_ms(MADE))
}

fn grant() -> Lease<Randflake> {
    Lease::new(Randflake, NODE_ID, MADE, MADE + 10 * YEAR.as_secs()).unwrap()
}

fn end() -> Duration {
    made() + 10 * YEAR
}

fn bounds(horizon: &Ram) -> TimeBounds {
    TimeBounds::from_horizon(Duration::from_secs(horizon.0.into())).within(&grant())
}

fn made_at(unix: Duration) -> Ram {
    Ram(u32::try_from(unix.as_secs()).unwrap())
}

impl<'a> Device<'a> {
    fn boot(horizon: &'a mut Ram, time: &'a Time<'a>) -> Self {
        Self {
            time,
            blocks: Blocks::new(grant(), horizon),
            ids: None,
        }
    }

    /// As the guide has it: a block when the one before has expired.
    fn next(&mut self) -> Result<Id, HorizonError<Infallible>> {
        if let Some(ids) = &self.ids {
            match ids.generate() {
                Err(GenerateError::LeaseOver { .. }) => {}
                answer => return Ok(answer.unwrap()),
            }
        }
        let lease = self.blocks.begin(self.time.now())?;
        let ids = Ids::new(lease, self.time, Plain).unwrap();
        let ids = self.ids.insert(ids.with_tolerance(TOLERANCE_S));
        Ok(ids.generate().unwrap())
    }
}

fn horizon_s(horizon: &Ram) -> Duration {
    Duration::from_secs(horizon.0.into())
}

#[test]
fn time_near_the_end_leaves_some_of_the_grant() {
    let mut horizon = made_at(made());
    let uptime = Uptime(Cell::new(HOUR));
    let time = UnixClock::new(&uptime);
    let bounds = bounds(&horizon);
    let mut device = Device::boot(&mut horizon, &time);
    for told in [
        end().saturating_sub(Duration::from_secs(1)),
        end(),
        Duration::MAX,
    ] {
        time.set_within(told, &bounds).unwrap();
        device.next().unwrap();
    }
    assert_eq!(TimeBounds::DEFAULT_MAX_STEP, DAY);
    let lost = horizon_s(&horizon).saturating_sub(made());
    assert!(lost <= DAY + HOUR, "not ten years: {lost:?}");
}

#[test]
fn settings_do_not_add_up() {
    let mut horizon = made_at(made());
    let uptime = Uptime(Cell::new(HOUR));
    let time = UnixClock::new(&uptime);
    let bounds = bounds(&horizon);
    let mut device = Device::boot(&mut horizon, &time);
    time.set(bounds.start()).unwrap();
    let settings = if cfg!(miri) { 200 } else { 10_000 };
    for seconds in 1..=settings {
        uptime.0.set(HOUR + Duration::from_secs(seconds));
        time.set_within(end(), &bounds).unwrap();
        if seconds % 100 == 0 {
            device.next().unwrap();
        }
        // Forth and back again.
        time.set_within(made() + HOUR, &bounds).unwrap();
    }
    assert!(horizon_s(&horizon) <= made() + DAY + 3 * HOUR);
}

#[test]
fn after_a_correction_there_are_ids_at_once() {
    let mut horizon = made_at(made());
    let uptime = Uptime(Cell::new(HOUR));
    let time = UnixClock::new(&uptime);
    let bounds = bounds(&horizon);
    let mut device = Device::boot(&mut horizon, &time);
    time.set_within(made() + YEAR, &bounds).unwrap();
    let mut last = device.next().unwrap();
    let step = if cfg!(miri) { 60 } else { 1 };
    for minutes in (0..=2 * 24 * 60).step_by(step) {
        // Corrected, again and again.
        let now = made() + Duration::from_secs(60 * minutes);
        uptime.0.set(HOUR + Duration::from_secs(60 * minutes));
        time.set_within(now, &bounds).unwrap();
        assert_eq!(time.now(), Some(now));
        let id = device.next().unwrap();
        assert!(id > last, "plain ids are in order, so none is issued twice");
        last = id;
    }
    // The clock has caught up with what was stamped.
    assert_eq!(
        Randflake::SPEC.unpack(last.to_u64()).tick,
        MADE + 2 * DAY.as_secs()
    );
}

#[test]
fn reset_loses_at_most_another_step() {
    let mut horizon = made_at(made());
    for boot in 1..=5 {
        let uptime = Uptime(Cell::new(Duration::ZERO));
        let time = UnixClock::new(&uptime);
        let bounds = bounds(&horizon);
        let mut device = Device::boot(&mut horizon, &time);
        time.set_within(end(), &bounds).unwrap();
        device.next().unwrap();
        time.set_within(made(), &bounds).unwrap();
        device.next().unwrap();
        assert!(horizon_s(&horizon) <= made() + boot * (DAY + HOUR));
    }
}

#[test]
fn a_trusted_time_is_not_limited_and_counts_anew() {
    let horizon = made_at(made());
    let uptime = Uptime(Cell::new(HOUR));
    let time = UnixClock::<_, LocalWord<u32>>::new(&uptime);
    let bounds = bounds(&horizon);
    time.set_within(end(), &bounds).unwrap();
    assert_eq!(time.now(), Some(made() + DAY));
    time.set(made() + YEAR).unwrap();
    time.set_within(end(), &bounds).unwrap();
    time.set_within(end(), &bounds).unwrap();
    assert_eq!(time.now(), Some(made() + YEAR + DAY));
}
