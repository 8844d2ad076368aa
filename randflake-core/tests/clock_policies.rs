//! The policies of other generators when the clock goes back, each replayed: see "When the clock
//! goes back" in the README.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use core::sync::atomic::AtomicU64;
use std::collections::HashSet;

use randflake_core::internal::first_ready_within;
use randflake_core::{
    Codec, GenerateError, Generator, Id, Layout, Lease, ManualClock, Plain, Sequencer, Snowflake,
};

/// The tick from which on the leases are.
const START: u64 = 1_000_000;

type Ids<'a> = Generator<Snowflake, AtomicU64, &'a ManualClock>;

fn clock() -> ManualClock {
    ManualClock::at_unix_ms(Snowflake::SPEC.unix_ms(START + 1_000))
}

fn back(clock: &ManualClock, ms: u64) {
    let now = randflake_core::Clock::now(clock).unwrap().as_millis();
    clock.set_unix_ms(u64::try_from(now).unwrap() - ms);
}

fn sequencer(node_id: u32) -> Sequencer<Snowflake, AtomicU64> {
    Sequencer::new(Lease::new(Snowflake, node_id, START, START + 100_000).unwrap()).unwrap()
}

fn ids(clock: &ManualClock) -> Ids<'_> {
    let lease = Lease::new(Snowflake, 1, START, START + 100_000).unwrap();
    Generator::new(lease, clock, Plain).unwrap()
}

/// All that was issued, which must be distinct.
#[derive(Default)]
struct Issued(HashSet<Id>);

impl Issued {
    #[track_caller]
    fn add(&mut self, id: Id) {
        assert!(self.0.insert(id), "{id} twice");
    }
}

/// Twitter's: refuse until the clock is where it was.
#[test]
fn refuse() {
    let clock = clock();
    let ids = ids(&clock);
    let mut issued = Issued::default();
    issued.add(ids.generate().unwrap());
    back(&clock, 10);
    let error = GenerateError::ClockBehind { behind_ms: 10 };
    assert_eq!(ids.generate(), Err(error));
    clock.advance_ms(9);
    assert!(ids.generate().is_err());
    clock.advance_ms(1);
    issued.add(ids.generate().unwrap());
}

/// Waits as long as the error says if that is at most 15 ms; gives how long.
fn generate_or_wait(ids: &Ids<'_>, clock: &ManualClock) -> Result<(Id, u64), GenerateError> {
    match ids.generate() {
        Err(GenerateError::ClockBehind { behind_ms }) if behind_ms <= 15 => {
            clock.advance_ms(behind_ms);
            Ok((ids.generate()?, behind_ms))
        }
        outcome => Ok((outcome?, 0)),
    }
}

/// Meituan's Leaf and Baidu's: a step back of a few milliseconds is waited for, more is refused.
#[test]
fn wait_while_the_step_is_small() {
    let clock = clock();
    let ids = ids(&clock);
    let mut issued = Issued::default();
    issued.add(ids.generate().unwrap());
    for step in [1, 5, 15] {
        back(&clock, step);
        let (id, waited) = generate_or_wait(&ids, &clock).unwrap();
        assert_eq!(waited, step);
        issued.add(id);
    }
    back(&clock, 16);
    let error = GenerateError::ClockBehind { behind_ms: 16 };
    assert_eq!(generate_or_wait(&ids, &clock), Err(error));
}

/// Sony's: the last tick is held and its sequence goes on, then the next ticks are borrowed.
#[cfg_attr(miri, ignore = "4,096 ids take long")]
#[test]
fn hold() {
    let clock = clock();
    let ids = ids(&clock).with_tolerance(10);
    let mut issued = Issued::default();
    let first = ids.generate().unwrap();
    issued.add(first);
    back(&clock, 10);
    let held = ids.generate().unwrap();
    issued.add(held);
    let (first, held) = (ids.inspect(first), ids.inspect(held));
    assert_eq!((held.tick, held.sequence), (first.tick, first.sequence + 1));
    // The held tick's ids and no more: the next tick would be 11 ahead.
    for _ in 2..4_096 {
        issued.add(ids.generate().unwrap());
    }
    assert!(matches!(
        ids.generate(),
        Err(GenerateError::SequenceExhausted { .. } | GenerateError::ClockBehind { .. })
    ));
    back(&clock, 1);
    let error = GenerateError::ClockBehind { behind_ms: 2 };
    assert_eq!(ids.generate(), Err(error));
}

/// Ids of several node ids, of the first that is not ahead of the clock: what a handle with
/// `node_ids` does.
fn pool<'a>(
    members: &'a [Sequencer<Snowflake, AtomicU64>],
    clock: &'a ManualClock,
) -> impl Fn() -> Result<Id, GenerateError> + 'a {
    let cursor = AtomicU64::new(0);
    move || {
        let take = |member: &Sequencer<_, _>, ticks| member.take(clock, ticks);
        let raw = first_ready_within(members, &cursor, 0, take)?;
        Ok(Codec::new(Snowflake, Plain).id(raw))
    }
}

/// Two bits of the node field count the steps back: four node ids of one machine, each ahead of the
/// clock after a step, so three steps back are survived at once and the fourth is refused.
#[test]
fn rollback_bits() {
    let clock = clock();
    let machine = 0b1010_1100;
    let members = [0, 1, 2, 3].map(|rollback| sequencer(machine << 2 | rollback));
    let (generate, codec) = (pool(&members, &clock), Codec::new(Snowflake, Plain));
    let mut issued = Issued::default();
    for rollback in 0..4 {
        for _ in 0..100 {
            let id = generate().unwrap();
            let node_id = codec.inspect(id).node_id;
            assert_eq!((node_id >> 2, node_id & 3), (machine, rollback));
            issued.add(id);
        }
        back(&clock, 50);
    }
    let error = GenerateError::ClockBehind { behind_ms: 50 };
    assert_eq!(generate(), Err(error), "the member that is least ahead");
    // When the clock is where it was, the bits are free again: no count is used up for ever.
    clock.advance_ms(200);
    issued.add(generate().unwrap());
}

/// A queue of worker ids: the one in use is exchanged for the next that is not ahead of the clock.
#[test]
fn swap_the_worker_id() {
    let clock = clock();
    let members = [7, 300, 42].map(sequencer);
    let (generate, codec) = (pool(&members, &clock), Codec::new(Snowflake, Plain));
    let mut issued = Issued::default();
    let mut take = || {
        let id = generate().unwrap();
        issued.add(id);
        codec.inspect(id).node_id
    };
    assert_eq!((take(), take()), (7, 7));
    back(&clock, 300);
    assert_eq!((take(), take()), (300, 300));
    back(&clock, 1);
    assert_eq!((take(), take()), (42, 42));
    // The first is back in the queue as soon as the clock is past what it issued.
    clock.advance_ms(302);
    assert_eq!(take(), 42);
    back(&clock, 1);
    assert_eq!(take(), 7);
}

mod wrong_time {
    //! A device takes a time that is wrong: how much of its grant is lost, and that it goes on when
    //! it is corrected.

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
}
