//! The clock of a member, as the `Date` of its replies shows it.

use core::time::Duration;
use std::time::{Instant, UNIX_EPOCH};

/// A date has whole seconds. What replies have shown so far, carried on by the monotonic clock
/// here, comes within a reply's time of the member's clock after the first second. When another
/// member answers, it goes on as long as it is within the second of that one's date.
#[derive(Debug, Default)]
pub(crate) struct MemberClock {
    /// The member's time at an instant: at least this.
    known: Option<(Duration, Instant)>,
}

impl MemberClock {
    /// A reply has come, with this date.
    pub(crate) fn saw(&mut self, date: Option<&str>) {
        if let Some(date) = date.and_then(parse) {
            self.saw_at(date, Instant::now());
        }
    }

    fn saw_at(&mut self, date: Duration, here: Instant) {
        let carried_on = self.now_at(here);
        // Within the date's second it is what was known; else the clock was set.
        let known = carried_on.filter(|now| *now >= date && *now < date + Duration::from_secs(1));
        // A date is rounded down, so a clock that begins with it is not ahead of the member.
        self.known = Some((known.unwrap_or(date), here));
    }

    pub(crate) fn now(&self) -> Option<Duration> {
        self.now_at(Instant::now())
    }

    fn now_at(&self, here: Instant) -> Option<Duration> {
        let (time, at) = self.known?;
        Some(time + here.saturating_duration_since(at))
    }
}

/// Unix time of a date as HTTP writes it.
fn parse(date: &str) -> Option<Duration> {
    let date = httpdate::parse_http_date(date).ok()?;
    date.duration_since(UNIX_EPOCH).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn known_time_is_kept_within_the_dates_second() {
        let (mut clock, begun) = (MemberClock::default(), Instant::now());
        let date = Duration::from_secs(1_730_000_000);
        clock.saw_at(date, begun);
        for ms in [300, 999] {
            let later = Duration::from_millis(ms);
            clock.saw_at(date, begun + later);
            assert_eq!(clock.now_at(begun + later), Some(date + later));
        }
        let second = Duration::from_secs(1);
        clock.saw_at(date, begun + second);
        assert_eq!(clock.now_at(begun + second), Some(date));
        clock.saw_at(date + second, begun + second);
        assert_eq!(clock.now_at(begun + second), Some(date + second));
    }

    #[test]
    fn clock_runs_between_dates_and_follows_steps() {
        let mut clock = MemberClock::default();
        assert_eq!(clock.now(), None);
        let at = |time: u64| Some(Duration::from_secs(time));
        clock.saw(Some("Sun, 27 Oct 2024 03:33:20 GMT"));
        clock.saw(Some("Sun, 27 Oct 2024 03:33:20 GMT"));
        assert!(clock.now() >= at(1_730_000_000) && clock.now() < at(1_730_000_900));
        clock.saw(None);
        clock.saw(Some("Sun, 27 Oct 2024 02:33:20 GMT"));
        assert!(clock.now() < at(1_729_997_300));
        clock.saw(Some("Sun, 27 Oct 2024 04:33:20 GMT"));
        assert!(clock.now() >= at(1_730_003_600));
    }
}
