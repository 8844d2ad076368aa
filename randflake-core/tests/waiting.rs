//! Waiting times in errors: exact milliseconds, rounded up so that waiting them is enough.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use core::cell::Cell;
use core::sync::atomic::AtomicU64;
use core::time::Duration;

use randflake_core::{
    Clock, ExtendError, GenerateError, Layout, Lease, Randflake, Sequencer, Snowflake, Sonyflake,
};

/// A clock that shows more than milliseconds.
struct FineClock(Cell<Duration>);

impl Clock for FineClock {
    fn now(&self) -> Option<Duration> {
        Some(self.0.get())
    }
}

const LAST_TICK: u64 = 109;

/// A sequencer of ticks 100 to 109, and a clock at an offset from the beginning of a tick.
fn at<L: Layout>(tick: u64, offset: Duration) -> (Sequencer<L, AtomicU64>, FineClock) {
    let lease = Lease::new(L::default(), 1, 100, LAST_TICK + 1).unwrap();
    let clock = FineClock(Cell::new(
        Duration::from_millis(L::SPEC.unix_ms(tick)) + offset,
    ));
    (Sequencer::new(lease).unwrap(), clock)
}

const EXACT: Duration = Duration::ZERO;
const SLIGHTLY: Duration = Duration::from_nanos(1);

fn just_before_ms(ms: u64) -> Duration {
    Duration::from_nanos(ms * 1_000_000 - 1)
}

/// Waiting as long as the error says is enough, and a millisecond less is not.
fn check_wait<L: Layout>(sequencer: &Sequencer<L, AtomicU64>, clock: &FineClock, tolerance: u32) {
    let error = sequencer.take(clock, tolerance).unwrap_err();
    let wait_ms = error.retry_in_ms().unwrap();
    let now = clock.0.get();
    clock.0.set(now + Duration::from_millis(wait_ms - 1));
    assert!(sequencer.take(clock, tolerance).is_err());
    clock.0.set(now + Duration::from_millis(wait_ms));
    assert!(sequencer.take(clock, tolerance).is_ok());
}

fn exhausted<L: Layout>(offset: Duration) -> GenerateError {
    let (sequencer, clock) = at::<L>(105, offset);
    for _ in 0..=L::SPEC.max_sequence() {
        sequencer.take(&clock, 0).unwrap();
    }
    let error = sequencer.take(&clock, 0).unwrap_err();
    check_wait(&sequencer, &clock, 0);
    error
}

#[test]
fn an_exhausted_tick_says_when_the_next_begins() {
    let retry = |retry_in_ms| GenerateError::SequenceExhausted { retry_in_ms };
    let ms = Duration::from_millis;
    if !cfg!(miri) {
        assert_eq!(exhausted::<Randflake>(EXACT), retry(1_000));
        assert_eq!(exhausted::<Randflake>(just_before_ms(1)), retry(1_000));
        assert_eq!(exhausted::<Randflake>(ms(1)), retry(999));
        assert_eq!(exhausted::<Randflake>(ms(999) + SLIGHTLY), retry(1));
        assert_eq!(exhausted::<Snowflake>(EXACT), retry(1));
        assert_eq!(exhausted::<Snowflake>(just_before_ms(1)), retry(1));
    }
    assert_eq!(exhausted::<Sonyflake>(EXACT), retry(10));
    assert_eq!(exhausted::<Sonyflake>(SLIGHTLY), retry(10));
    assert_eq!(exhausted::<Sonyflake>(ms(3)), retry(7));
    assert_eq!(exhausted::<Sonyflake>(just_before_ms(10)), retry(1));
}

/// The error after an id at tick 105, the clock going back to another moment.
fn behind<L: Layout>(tick: u64, offset: Duration, tolerance: u32) -> GenerateError {
    let (sequencer, clock) = at::<L>(105, EXACT);
    sequencer.take(&clock, 0).unwrap();
    clock.0.set(at::<L>(tick, offset).1.0.get());
    let error = sequencer.take(&clock, tolerance).unwrap_err();
    check_wait(&sequencer, &clock, tolerance);
    error
}

#[test]
fn a_clock_behind_says_until_when() {
    let behind_by = |behind_ms| GenerateError::ClockBehind { behind_ms };
    let ms = Duration::from_millis;
    assert_eq!(behind::<Randflake>(104, ms(999), 0), behind_by(1));
    assert_eq!(behind::<Randflake>(104, EXACT, 0), behind_by(1_000));
    assert_eq!(
        behind::<Randflake>(102, ms(1) + SLIGHTLY, 0),
        behind_by(2_999)
    );
    assert_eq!(behind::<Randflake>(102, EXACT, 2), behind_by(1_000));
    assert_eq!(behind::<Randflake>(0, EXACT, 0), behind_by(105_000));
    assert_eq!(behind::<Snowflake>(103, EXACT, 0), behind_by(2));
    assert_eq!(behind::<Snowflake>(103, SLIGHTLY, 1), behind_by(1));
    assert_eq!(behind::<Sonyflake>(103, ms(4), 0), behind_by(16));
    assert_eq!(behind::<Sonyflake>(103, ms(9) + SLIGHTLY, 1), behind_by(1));
}

/// Before the epoch there is no tick, so no tolerance helps.
#[test]
fn a_clock_before_the_lease_or_the_epoch_is_behind() {
    let (sequencer, clock) = at::<Randflake>(99, Duration::from_millis(1));
    let behind_ms = 999;
    let error = GenerateError::ClockBehind { behind_ms };
    assert_eq!(sequencer.take(&clock, 0), Err(error));
    check_wait(&sequencer, &clock, 0);

    let lease = Lease::new(Randflake, 1, 0, 10).unwrap();
    let sequencer = Sequencer::<Randflake, AtomicU64>::new(lease).unwrap();
    clock.0.set(Duration::from_millis(1_729_999_998_500));
    for tolerance in [0, 1, u32::MAX] {
        let error = GenerateError::ClockBehind { behind_ms: 1_500 };
        assert_eq!(sequencer.take(&clock, tolerance), Err(error));
    }
    check_wait(&sequencer, &clock, u32::MAX);
}

fn over<L: Layout>(offset: Duration) -> u64 {
    let (sequencer, clock) = at::<L>(LAST_TICK + 1, offset);
    let Err(GenerateError::LeaseOver { since_ms }) = sequencer.take(&clock, 5) else {
        return u64::MAX;
    };
    let extended = sequencer.extend(Lease::new(L::default(), 1, 100, 200).unwrap(), &clock);
    assert_eq!(extended, Err(ExtendError::Expired { since_ms }));
    since_ms
}

#[test]
fn a_lease_that_is_over_says_since_when() {
    for (offset, since_ms) in [
        (EXACT, 0),
        (SLIGHTLY, 0),
        (just_before_ms(1), 0),
        (Duration::from_millis(1), 1),
        (Duration::from_millis(61_999) + SLIGHTLY, 61_999),
    ] {
        assert_eq!(over::<Randflake>(offset), since_ms);
        assert_eq!(over::<Snowflake>(offset), since_ms);
        assert_eq!(over::<Sonyflake>(offset), since_ms);
    }
}
