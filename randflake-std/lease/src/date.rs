//! Dates and time spans as text: one form of each in all messages.

use core::time::Duration;
use std::time::UNIX_EPOCH;

use humantime::{format_duration, format_rfc3339_seconds, parse_duration};

/// Unix time in milliseconds of year 10000: RFC 3339 has years of four digits.
pub const YEAR_10000_MS: u64 = 253_402_300_800_000;

/// Formats a Unix time in RFC 3339, in whole seconds: `2026-11-22T09:30:00Z`.
#[must_use]
pub fn utc(unix: Duration) -> String {
    if unix >= Duration::from_millis(YEAR_10000_MS) {
        return "after the year 9999".to_owned();
    }
    format_rfc3339_seconds(UNIX_EPOCH + unix).to_string()
}

/// Formats a time span: `250ms`, `9s`, `5m 20s`. From a second on it is rounded up to seconds, so
/// that waiting as long is enough.
#[must_use]
pub fn span(span: Duration) -> String {
    let ms = span.as_nanos().div_ceil(1_000_000);
    let shown = match u64::try_from(ms).unwrap_or(u64::MAX) {
        ms @ 0..1_000 => Duration::from_millis(ms),
        ms => Duration::from_secs(ms.div_ceil(1_000)),
    };
    format_duration(shown).to_string()
}

/// Parses a time span: `90`, `90s`, `5m`, `1h 30m`; a number alone is seconds.
#[must_use]
pub fn duration(text: &str) -> Option<Duration> {
    let seconds = text.parse().map(Duration::from_secs).ok();
    seconds.or_else(|| parse_duration(text).ok())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dates_end_with_the_year_9999() {
        for (unix_s, date) in [
            (0, "1970-01-01T00:00:00Z"),
            (951_782_400, "2000-02-29T00:00:00Z"),
            (253_402_300_799, "9999-12-31T23:59:59Z"),
            (253_402_300_800, "after the year 9999"),
        ] {
            assert_eq!(utc(Duration::from_secs(unix_s)), date);
        }
        assert_eq!(utc(Duration::MAX), "after the year 9999");
    }

    #[test]
    fn seconds_are_rounded_up() {
        for (ms, words) in [
            (0, "0s"),
            (250, "250ms"),
            (999, "999ms"),
            (1_001, "2s"),
            (69_077, "1m 10s"),
            (320_000, "5m 20s"),
        ] {
            assert_eq!(span(Duration::from_millis(ms)), words);
        }
        // No span is too long.
        assert!(!span(Duration::MAX).is_empty());
    }
}
