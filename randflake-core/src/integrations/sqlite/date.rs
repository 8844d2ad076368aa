//! Dates as SQLite's own functions write and read them: `2024-12-09 01:04:57.250`, in UTC.

use alloc::format;
use alloc::string::String;

const MS_PER_DAY: u64 = 86_400_000;
/// The dates below have years of four digits.
const YEAR_10000_MS: u64 = 253_402_300_800_000;

/// Writes a time, with milliseconds if ticks have a use for them; `None` after the year 9999.
#[expect(
    clippy::arithmetic_side_effects,
    reason = "all numbers are those of a date before the year 10000"
)]
pub(super) fn written(unix_ms: u64, with_ms: bool) -> Option<String> {
    if unix_ms >= YEAR_10000_MS {
        return None;
    }
    let (days, ms) = (unix_ms / MS_PER_DAY, unix_ms % MS_PER_DAY);
    // Howard Hinnant, "chrono-Compatible Low-Level Date Algorithms", `civil_from_days`: years begin
    // in March, so that the leap day is the last one.
    let days = days + 719_468;
    let day_of_era = days % 146_097;
    let year_of_era =
        (day_of_era - day_of_era / 1_460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let month_from_march = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * month_from_march + 2) / 5 + 1;
    let month = if month_from_march < 10 {
        month_from_march + 3
    } else {
        month_from_march - 9
    };
    let year = year_of_era + days / 146_097 * 400 + u64::from(month <= 2);
    let (hour, minute, second) = (ms / 3_600_000, ms / 60_000 % 60, ms / 1_000 % 60);
    let text = format!("{year:04}-{month:02}-{day:02} {hour:02}:{minute:02}:{second:02}");
    Some(if with_ms {
        format!("{text}.{:03}", ms % 1_000)
    } else {
        text
    })
}

/// Reads `2024-12-09`, `2024-12-09 01:04`, `2024-12-09 01:04:57` or `2024-12-09 01:04:57.250`, with
/// `T` for the space and a `Z` at the end if one likes: Unix milliseconds, or `None` for anything
/// else.
#[expect(
    clippy::arithmetic_side_effects,
    reason = "all numbers have four digits at most"
)]
pub(super) fn unix_ms(text: &str) -> Option<i64> {
    let text = text.strip_suffix('Z').unwrap_or(text);
    let (date, time) = match text.split_once([' ', 'T']) {
        Some((date, time)) => (date, time),
        None => (text, "00:00"),
    };
    let mut date = date.split('-');
    let (year, month) = (number(date.next()?, 4)?, number(date.next()?, 2)?);
    let day = number(date.next()?, 2)?;
    let is_leap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
    let days_of_month = match month {
        2 => 28 + i64::from(is_leap),
        4 | 6 | 9 | 11 => 30,
        _ => 31,
    };
    let (time, ms) = match time.split_once('.') {
        Some((time, fraction)) => (time, ms_of(fraction)?),
        None => (time, 0),
    };
    let mut time = time.split(':');
    let (hour, minute) = (number(time.next()?, 2)?, number(time.next()?, 2)?);
    let second = match time.next() {
        Some(second) => number(second, 2)?,
        None => 0,
    };
    let is_date = (1..=12).contains(&month) && (1..=days_of_month).contains(&day);
    let is_time = hour < 24 && minute < 60 && second < 60;
    if !is_date || !is_time || date.next().or(time.next()).is_some() {
        return None;
    }
    // `days_from_civil` of the same paper.
    let year = year - i64::from(month <= 2);
    let (era, year_of_era) = (year.div_euclid(400), year.rem_euclid(400));
    let day_of_year = (153 * ((month + 9) % 12) + 2) / 5 + day - 1;
    let day_of_era = year_of_era * 365 + year_of_era / 4 - year_of_era / 100 + day_of_year;
    let days = era * 146_097 + day_of_era - 719_468;
    Some((((days * 24 + hour) * 60 + minute) * 60 + second) * 1_000 + ms)
}

/// A number of so many digits.
fn number(text: &str, digits: usize) -> Option<i64> {
    // `parse` takes a sign.
    let is_number = text.len() == digits && text.bytes().all(|byte| byte.is_ascii_digit());
    is_number.then(|| text.parse().ok()).flatten()
}

/// Milliseconds of one to three decimal places.
fn ms_of(fraction: &str) -> Option<i64> {
    let unit = [100, 10, 1].get(fraction.len().checked_sub(1)?)?;
    number(fraction, fraction.len())?.checked_mul(*unit)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dates_are_written_and_read() {
        for (ms, text) in [
            (0, "1970-01-01 00:00:00.000"),
            (951_782_400_000, "2000-02-29 00:00:00.000"),
            (1_709_251_199_999, "2024-02-29 23:59:59.999"),
            (1_709_251_200_000, "2024-03-01 00:00:00.000"),
            (1_733_706_297_250, "2024-12-09 01:04:57.250"),
            (4_107_542_400_000, "2100-03-01 00:00:00.000"),
            (YEAR_10000_MS - 1, "9999-12-31 23:59:59.999"),
        ] {
            assert_eq!(written(ms, true).as_deref(), Some(text));
            assert_eq!(unix_ms(text), Some(ms.cast_signed()), "{text}");
        }
        assert_eq!(written(YEAR_10000_MS, true), None);
        let seconds = written(1_733_706_297_250, false);
        assert_eq!(seconds.as_deref(), Some("2024-12-09 01:04:57"));
    }

    #[test]
    fn each_day_of_the_calendar_comes_back() {
        const DAYS: u64 = YEAR_10000_MS / MS_PER_DAY;
        // The calendar repeats after 146,097 days, which are no multiple of 13: so each of them is
        // met, some twice.
        const { assert!(DAYS / 13 > 146_097) };
        for day in (0..DAYS).step_by(13) {
            let ms = day * MS_PER_DAY + day * 7_919_000 % MS_PER_DAY;
            let text = written(ms, false).unwrap();
            assert_eq!(unix_ms(&text), Some(ms.cast_signed()), "{text}");
        }
    }

    #[test]
    fn shorter_forms_are_read_and_other_texts_refused() {
        for (text, ms) in [
            ("2024-12-09", 1_733_702_400_000),
            ("2024-12-09 01:04", 1_733_706_240_000),
            ("2024-12-09T01:04:57Z", 1_733_706_297_000),
            ("2024-12-09 01:04:57.2", 1_733_706_297_200),
            ("1969-12-31 23:59:59.999", -1),
            ("0000-01-01", -62_167_219_200_000),
        ] {
            assert_eq!(unix_ms(text), Some(ms), "{text}");
        }
        for text in [
            "",
            "now",
            "2023-02-29",
            "2024-02-30",
            "2024-13-01",
            "2024-00-01",
            "2024-04-31",
            "2024-1-1",
            "2024-12-09 24:00",
            "2024-12-09 01:60",
            "2024-12-09 01:04:60",
            "2024-12-09 01:04:57.",
            "2024-12-09 01:04:57.2500",
            "2024-12-09 01:04:57+01:00",
            "2024-12-09 01",
            "2024-12-09-01",
            "2024-12-09 01:04:57:00",
            "+024-12-09",
            "1733706297",
        ] {
            assert_eq!(unix_ms(text), None, "{text}");
        }
    }
}
