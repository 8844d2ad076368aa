//! Spans of time, for people.

use core::time::Duration;

use humantime::{format_duration, parse_duration};

/// `250ms`, `9s`, `5m 20s`: whole seconds from a second on, rounded up, so that who waits as long waits enough.
pub(crate) fn in_words(span: Duration) -> String {
    let ms = span.as_nanos().div_ceil(1_000_000);
    let shown = match u64::try_from(ms).unwrap_or(u64::MAX) {
        ms @ 0..1_000 => Duration::from_millis(ms),
        ms => Duration::from_secs(ms.div_ceil(1_000)),
    };
    format_duration(shown).to_string()
}

/// A span as people type it: `90`, `90s`, `5m`, `1h 30m`; a number alone is seconds.
pub(crate) fn read(text: &str) -> Result<Duration, String> {
    let seconds = text.parse().map(Duration::from_secs);
    let span = seconds.or_else(|_| parse_duration(text));
    span.map_err(|_| "a duration is allowed, such as 90, 90s, 5m or 1h".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

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
            assert_eq!(in_words(Duration::from_millis(ms)), words);
        }
    }

    #[test]
    fn units_are_read() {
        for (text, seconds) in [("90", 90), ("90s", 90), ("5m", 300), ("1h 30m", 5_400)] {
            assert_eq!(read(text), Ok(Duration::from_secs(seconds)));
        }
        for text in ["", "x", "-1", "5 minutes ago", "1.5"] {
            assert!(read(text).is_err(), "{text}");
        }
    }
}
