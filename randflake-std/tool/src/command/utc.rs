//! The times of many ids in RFC 3339.

use core::time::Duration;

use randflake_std::date::{YEAR_10000_MS, utc};

const DAY_MS: u64 = 24 * 60 * 60 * 1_000;
/// Length of a date such as `2024-12-09T`.
const DATE_LEN: usize = 11;

/// Writes times. Most are of the day of the one before, whose date is kept.
#[derive(Default)]
pub(crate) struct Utc {
    day: u64,
    date: Option<[u8; DATE_LEN]>,
}

impl Utc {
    /// Appends a time, with milliseconds or without.
    pub(crate) fn write(&mut self, text: &mut Vec<u8>, unix_ms: u64, with_ms: bool) {
        if unix_ms >= YEAR_10000_MS {
            return text.extend_from_slice(utc(Duration::from_millis(unix_ms)).as_bytes());
        }
        let (day, ms) = (unix_ms / DAY_MS, unix_ms % DAY_MS);
        let date = match self.date {
            Some(date) if day == self.day => date,
            _ => self.change(day),
        };
        let seconds = ms / 1_000;
        let [h1, h2] = two_digits(seconds / 3_600);
        let [m1, m2] = two_digits(seconds / 60 % 60);
        let [s1, s2] = two_digits(seconds % 60);
        text.extend_from_slice(&date);
        text.extend_from_slice(&[h1, h2, b':', m1, m2, b':', s1, s2]);
        if with_ms {
            let [a, b] = two_digits(ms % 1_000 / 10);
            let [_, c] = two_digits(ms % 10);
            text.extend_from_slice(&[b'.', a, b, c]);
        }
        text.push(b'Z');
    }

    #[cold]
    fn change(&mut self, day: u64) -> [u8; DATE_LEN] {
        let midnight = utc(Duration::from_millis(day * DAY_MS));
        let date = midnight.as_bytes().first_chunk().copied();
        let date = date.unwrap_or_default();
        (self.day, self.date) = (day, Some(date));
        date
    }
}

/// Of a number below 100.
fn two_digits(number: u64) -> [u8; 2] {
    [number / 10, number % 10].map(|digit| b'0' + u8::try_from(digit).unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use std::time::UNIX_EPOCH;

    use humantime::{format_rfc3339_millis, format_rfc3339_seconds};

    use super::*;

    #[test]
    fn times_are_those_of_the_library() {
        let mut kept = Utc::default();
        let mut unix_ms = 0x0123_4567_89AB_u64;
        for step in 0..20_000_u64 {
            // Some are of the same day, some are not.
            let far = unix_ms.wrapping_mul(0xD134_2543_DE82_EF95) >> 16;
            unix_ms = match step % 3 {
                0 => far % YEAR_10000_MS,
                _ => (unix_ms + far % 1_000_000) % YEAR_10000_MS,
            };
            let time = UNIX_EPOCH + Duration::from_millis(unix_ms);
            let mut text = Vec::new();
            kept.write(&mut text, unix_ms, true);
            assert_eq!(text, format_rfc3339_millis(time).to_string().as_bytes());
            text.clear();
            kept.write(&mut text, unix_ms, false);
            assert_eq!(text, format_rfc3339_seconds(time).to_string().as_bytes());
        }
        let mut text = Vec::new();
        kept.write(&mut text, YEAR_10000_MS, true);
        assert_eq!(text, b"after the year 9999");
    }
}
