//! Spans of time, for people.

use core::time::Duration;

use humantime::format_duration;

/// `250ms`, `9s`, `5m 20s`: whole seconds from a second on, rounded up, so that who waits as long waits enough.
pub(crate) fn in_words(span: Duration) -> String {
    let ms = span.as_nanos().div_ceil(1_000_000);
    let shown = match u64::try_from(ms).unwrap_or(u64::MAX) {
        ms @ 0..1_000 => Duration::from_millis(ms),
        ms => Duration::from_secs(ms.div_ceil(1_000)),
    };
    format_duration(shown).to_string()
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
}
