//! Dates and time spans that people type.

use core::time::Duration;
use std::time::UNIX_EPOCH;

use humantime::parse_rfc3339_weak;
use randflake_std::date;

/// Unix milliseconds of `2024-12-09` or `2024-12-09T01:04:57Z`, in UTC.
pub(crate) fn unix_ms(text: &str) -> Option<u64> {
    const DAY: usize = "2024-12-09".len();
    let time = match text.len() {
        DAY => parse_rfc3339_weak(&format!("{text}T00:00:00Z")),
        _ => parse_rfc3339_weak(text),
    };
    let since = time.ok()?.duration_since(UNIX_EPOCH).ok()?;
    u64::try_from(since.as_millis()).ok()
}

/// A span as people type it: `90`, `90s`, `5m`, `1h 30m`; a number alone is seconds.
pub(crate) fn duration(text: &str) -> Result<Duration, String> {
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
            ("1733706297", None),
            ("yesterday!", None),
            ("", None),
        ] {
            assert_eq!(unix_ms(text), ms, "{text}");
        }
    }

    #[test]
    fn units_are_span() {
        for (text, seconds) in [("90", 90), ("90s", 90), ("5m", 300), ("1h 30m", 5_400)] {
            assert_eq!(duration(text), Ok(Duration::from_secs(seconds)));
        }
        for text in ["", "x", "-1", "5 minutes ago", "1.5"] {
            assert!(duration(text).is_err(), "{text}");
        }
    }
}
