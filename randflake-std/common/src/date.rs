//! Dates and time spans that people type.

use core::time::Duration;
use std::time::{SystemTime, UNIX_EPOCH};

use humantime::{format_rfc3339_millis, parse_rfc3339_weak};
use randflake_std::date::{self, YEAR_10000_MS, utc};

/// The time of this machine's clock since 1970; zero before that.
pub fn now() -> Duration {
    // A clock before 1970 is wrong in any case, and the checks of layouts and stores refuse its
    // time.
    let since_1970 = SystemTime::now().duration_since(UNIX_EPOCH);
    since_1970.unwrap_or_default()
}

/// A time in whole milliseconds.
pub fn whole_ms(time: Duration) -> u64 {
    u64::try_from(time.as_millis()).unwrap_or(u64::MAX)
}

/// Unix milliseconds of `2024-12-09` or `2024-12-09T01:04:57Z`, in UTC. A leap second is none: Unix
/// time does not count it.
pub fn unix_ms(text: &str) -> Option<u64> {
    const DAY: usize = "2024-12-09".len();
    const MINUTE: usize = "2024-12-09T01:04:".len();
    // The parser would take it for the second before.
    if text
        .get(MINUTE..)
        .is_some_and(|second| second.starts_with("60"))
    {
        return None;
    }
    let time = match text.len() {
        // A date alone is midnight in UTC: by this machine's time zone one command would mean
        // different epochs on two machines.
        DAY => parse_rfc3339_weak(&format!("{text}T00:00:00Z")),
        _ => parse_rfc3339_weak(text),
    };
    let since = time.ok()?.duration_since(UNIX_EPOCH).ok()?;
    u64::try_from(since.as_millis()).ok()
}

/// A Unix time in RFC 3339: in whole seconds, or in milliseconds if ticks of this length have a use
/// for them.
pub fn utc_in_ticks(unix_ms: u64, tick_ms: u64) -> String {
    let unix = Duration::from_millis(unix_ms);
    // `utc` has words for years of five digits, which RFC 3339 has not.
    if tick_ms.is_multiple_of(1_000) || unix_ms >= YEAR_10000_MS {
        return utc(unix);
    }
    format_rfc3339_millis(UNIX_EPOCH + unix).to_string()
}

/// A span as people type it: `90`, `90s`, `5m`, `1h 30m`; a number alone is seconds.
pub fn duration(text: &str) -> Result<Duration, String> {
    date::duration(text)
        .ok_or_else(|| "a duration is allowed, such as 90, 90s, 5m or 1h".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn days_and_seconds_are_read() {
        for (text, ms) in [
            ("1970-01-01", Some(0)),
            ("2024-12-09T01:04:57Z", Some(1_733_706_297_000)),
            ("2024-12-09T01:04:57.250Z", Some(1_733_706_297_250)),
            ("2024-12-09 01:04:57", Some(1_733_706_297_000)),
            ("2024-13-09", None),
            ("1969-12-31", None),
            ("1969-12-31T23:59:59Z", None),
            ("2028-02-29", Some(1_835_395_200_000)),
            ("2027-02-29", None),
            ("2100-02-28T23:59:59.999Z", Some(4_107_542_399_999)),
            ("2100-02-29", None),
            ("2100-03-01", Some(4_107_542_400_000)),
            ("2400-02-29", Some(13_574_563_200_000)),
            ("9999-12-31T23:59:59.999Z", Some(YEAR_10000_MS - 1)),
            ("10000-01-01", None),
            ("2016-12-31T23:59:59Z", Some(1_483_228_799_000)),
            ("2016-12-31T23:59:60Z", None),
            ("2016-12-31T23:59:60.500Z", None),
            ("2024-12-09T24:00:00Z", None),
            ("2024-12-09T01:04:57+01:00", None),
            ("1733706297", None),
            ("yesterday!", None),
            ("", None),
        ] {
            assert_eq!(unix_ms(text), ms, "{text}");
        }
    }

    #[test]
    fn milliseconds_are_shown_where_ticks_have_them() {
        let in_seconds = utc_in_ticks(1_733_706_297_250, 64_000);
        assert_eq!(in_seconds, "2024-12-09T01:04:57Z");
        let in_ms = utc_in_ticks(1_733_706_297_250, 1);
        assert_eq!(in_ms, "2024-12-09T01:04:57.250Z");
        assert_eq!(utc_in_ticks(YEAR_10000_MS, 1), "after the year 9999");
    }

    #[test]
    fn units_are_read() {
        for (text, seconds) in [("90", 90), ("90s", 90), ("5m", 300), ("1h 30m", 5_400)] {
            assert_eq!(duration(text), Ok(Duration::from_secs(seconds)));
        }
        for text in ["", "x", "-1", "5 minutes ago", "1.5"] {
            assert!(duration(text).is_err(), "{text}");
        }
    }
}
