//! Windows in which the clock of a store must be, and its time in ticks.

use randflake_core::{LayoutFields, ManualClock, Snowflake};

use super::*;
use crate::rules::{StoreTime, read_clock};
use crate::types::StoreError;

const fn ms(ms: u64) -> Duration {
    Duration::from_millis(ms)
}

fn ends(window: ClockWindow) -> [u128; 2] {
    [window.least, window.most].map(|time| time.as_millis())
}

#[test]
fn a_window_is_around_what_is_expected() {
    for (before, after) in [(30_000, 31_000), (31_000, 30_000)] {
        let window = ClockWindow::of_machine(ms(before), ms(after));
        assert_eq!(ends(window), [20_000, 41_000]);
        // A second of drift less, and what is left of the skew.
        let age = Duration::from_secs(2_000);
        let carried = ClockWindow::of_machine_carried(ms(before), ms(after), age);
        assert_eq!(carried.map(ends), Some([21_000, 40_000]));
    }
    assert_eq!(ends(ClockWindow::of_machine(ms(1), ms(2))), [0, 10_002]);
    assert_eq!(
        ends(ClockWindow::of_store(ms(30_000), ms(31_000))),
        [29_000, 32_000]
    );
}

/// Within the one of the machine's clock.
#[test]
fn a_blind_renewal_arrives_soon_after_its_estimate() {
    let blind = |estimate, least, most| {
        let near = ClockWindow {
            least: ms(least),
            most: ms(most),
        };
        ClockWindow::of_blind_renewal(ms(estimate), &near).map(ends)
    };
    assert_eq!(blind(30_000, 20_000, 40_000), Some([29_000, 32_000]));
    assert_eq!(blind(30_000, 29_500, 31_500), Some([29_500, 31_500]));
    assert_eq!(blind(30_000, 30_000, 30_000), Some([30_000, 30_000]));
    assert_eq!(blind(30_000, 30_001, 40_000), None);
    assert_eq!(blind(30_000, 20_000, 29_999), None);
}

#[test]
fn a_clock_outside_of_its_window_is_refused_with_what_was_expected() {
    let window = ClockWindow {
        least: ms(2_000),
        most: ms(6_000),
    };
    for store in [2_000, 6_000] {
        assert!(window.check(ms(store)).is_ok());
    }
    for outside in [1_999, 6_001] {
        let Err(StoreError::ClockSkew { store, here }) = window.check(ms(outside)) else {
            panic!("{outside}");
        };
        assert_eq!((store, here), (ms(outside), ms(4_000)));
    }
}

fn spec(bits: u32, epoch_unix_ms: u64) -> LayoutSpec {
    LayoutSpec::new(LayoutFields::in_order([bits, 4, 4], epoch_unix_ms, 1_000)).unwrap()
}

fn at(tick: u64, spec: LayoutSpec) -> StoreTime {
    StoreTime::at(ms(spec.unix_ms(tick)), spec).unwrap()
}

/// Which may be one that is not set yet, where machines start in 1970.
#[test]
fn a_clock_before_the_epoch_is_refused() {
    let spec = spec(30, 1_800_000_000_000);
    let refused = |unix| StoreTime::at(seconds(unix), spec).unwrap_err();
    assert!(matches!(refused(0), StoreError::Unavailable(_)));
    assert!(matches!(refused(1_729_999_999), StoreError::Unavailable(_)));
    assert!(matches!(refused(1_730_000_000), StoreError::Invalid(_)));
    assert!(matches!(refused(1_799_999_999), StoreError::Invalid(_)));
    assert_eq!(StoreTime::at(seconds(1_800_000_000), spec).unwrap().tick, 0);
}

#[test]
fn a_lease_ends_after_its_ttl_or_with_the_layout() {
    let spec = spec(8, 1_700_000_000_000);
    for (tick, end) in [(100, 160), (196, 256), (197, 256), (255, 256)] {
        assert_eq!(at(tick, spec).end_after(60).unwrap(), end);
        assert_eq!(at(tick, spec).extended(60), end);
    }
    let over = StoreTime::at(ms(spec.unix_ms(255)) + seconds(1), spec).unwrap();
    assert!(matches!(
        over.end_after(60),
        Err(StoreError::FailedPrecondition(_))
    ));
    assert_eq!(over.extended(60), 256);
}

#[test]
fn a_tick_begins_in_a_millisecond_at_least() {
    let now = StoreTime::at(unix(NOW) + ms(400), SPEC).unwrap();
    assert_eq!(now.tick, NOW);
    assert_eq!(now.until(NOW + 1), ms(600));
    assert_eq!(now.until(NOW), ms(1));
    assert_eq!(at(NOW, Snowflake::SPEC).until(NOW + 5), ms(5));
}

#[test]
fn a_clock_that_does_not_know_the_time_is_an_outage() {
    assert_eq!(read_clock(&ManualClock::at_unix_ms(7)).unwrap(), ms(7));
    assert!(read_clock(&ManualClock::unknown()).is_err());
}
