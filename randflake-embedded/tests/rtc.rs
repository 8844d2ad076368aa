//! A clock set from a real-time clock, and the other way round.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use core::cell::Cell;
use core::time::Duration;

use randflake_core::{Clock, LocalWord, Monotonic, SetClockError, TimeBounds, UnixClock};
use randflake_embedded::{RtcError, set_clock_from_rtc, set_rtc};
use rtcc::{DateTimeAccess, NaiveDate, NaiveDateTime};

struct Uptime;

impl Monotonic for Uptime {
    fn uptime(&self) -> Duration {
        Duration::from_secs(3)
    }
}

/// A chip's registers; without any the bus fails.
struct Chip(Cell<Option<NaiveDateTime>>);

impl DateTimeAccess for Chip {
    type Error = &'static str;

    fn datetime(&mut self) -> Result<NaiveDateTime, Self::Error> {
        self.0.get().ok_or("no acknowledge")
    }

    fn set_datetime(&mut self, time: &NaiveDateTime) -> Result<(), Self::Error> {
        self.0.set(Some(*time));
        Ok(())
    }
}

fn chip(year: i32, month: u32, day: u32) -> Chip {
    let day = NaiveDate::from_ymd_opt(year, month, day).unwrap();
    Chip(Cell::new(day.and_hms_milli_opt(1, 4, 57, 250)))
}

#[test]
fn the_clock_shows_the_chip_s_time_within_the_bounds() {
    let floor = Duration::from_secs(1_733_700_000);
    let bounds = TimeBounds::from_horizon(floor);
    for (mut chip, shown) in [
        (chip(2024, 12, 9), Duration::from_millis(1_733_706_297_250)),
        // After a new battery.
        (chip(2000, 1, 1), floor),
        (chip(1969, 12, 31), floor),
    ] {
        let clock = UnixClock::<_, LocalWord<u32>>::new(Uptime);
        assert_eq!(set_clock_from_rtc(&mut chip, &clock, &bounds), Ok(shown));
        assert_eq!(clock.now(), Some(shown));
    }
}

#[test]
fn a_clock_that_was_not_set_is_as_it_was() {
    let clock = UnixClock::<_, LocalWord<u32>>::new(Uptime);
    let bounds = TimeBounds::from_horizon(Duration::ZERO);
    let mut dead = Chip(Cell::new(None));
    let refused = set_clock_from_rtc(&mut dead, &clock, &bounds);
    assert_eq!(refused, Err(RtcError::Rtc("no acknowledge")));
    assert_eq!(
        refused.unwrap_err().to_string(),
        "the real-time clock failed: \"no acknowledge\""
    );
    let refused = set_clock_from_rtc(&mut chip(2107, 1, 1), &clock, &bounds);
    assert_eq!(refused, Err(RtcError::Clock(SetClockError::OutOfRange)));
    assert_eq!(clock.now(), None);
}

#[test]
fn the_chip_is_set_in_whole_seconds() {
    let mut chip = Chip(Cell::new(None));
    set_rtc(&mut chip, Duration::from_millis(1_733_706_297_999)).unwrap();
    let time = chip.datetime().unwrap();
    assert_eq!(time.to_string(), "2024-12-09 01:04:57");
    let refused = set_rtc(&mut chip, Duration::from_secs(1 << 32));
    assert_eq!(refused, Err(RtcError::Clock(SetClockError::OutOfRange)));
    assert_eq!(chip.datetime().unwrap(), time);
}
