//! Times of ids as dates of SQLite, `2024-12-09 01:04:57.250` in UTC; the raw ids of a time range.

use alloc::format;
use alloc::string::String;
use alloc::vec;
use alloc::vec::Vec;
use core::time::Duration;

use crate::LayoutSpec;

const MS_PER_DAY: u64 = 86_400_000;
/// The dates below have years of four digits.
const YEAR_10000_MS: u64 = 253_402_300_800_000;

/// Writes a time, with milliseconds if ticks have a use for them; `None` after the year 9999.
#[expect(
    clippy::arithmetic_side_effects,
    reason = "all numbers are those of a date before the year 10000"
)]
fn written(unix_ms: u64, with_ms: bool) -> Option<String> {
    if unix_ms >= YEAR_10000_MS {
        return None;
    }
    let (unix_days, ms) = (unix_ms / MS_PER_DAY, unix_ms % MS_PER_DAY);
    // Howard Hinnant, "chrono-Compatible Low-Level Date Algorithms", `civil_from_days`: years begin
    // in March, so that the leap day is the last one.
    let days = unix_days + 719_468;
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
fn date_unix_ms(text: &str) -> Option<i64> {
    let without_zone = text.strip_suffix('Z').unwrap_or(text);
    let (date, time) = without_zone
        .split_once([' ', 'T'])
        .unwrap_or((without_zone, "00:00"));
    let mut date_parts = date.split('-');
    let (year, month) = (
        number(date_parts.next()?, 4)?,
        number(date_parts.next()?, 2)?,
    );
    let day = number(date_parts.next()?, 2)?;
    let is_leap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
    let days_of_month = match month {
        2 => 28 + i64::from(is_leap),
        4 | 6 | 9 | 11 => 30,
        _ => 31,
    };
    let (seconds, ms) = match time.split_once('.') {
        Some((seconds, fraction)) => (seconds, ms_of(fraction)?),
        None => (time, 0),
    };
    let mut time_parts = seconds.split(':');
    let (hour, minute) = (
        number(time_parts.next()?, 2)?,
        number(time_parts.next()?, 2)?,
    );
    let second = match time_parts.next() {
        Some(second) => number(second, 2)?,
        None => 0,
    };
    let is_date = (1..=12).contains(&month) && (1..=days_of_month).contains(&day);
    let is_time = hour < 24 && minute < 60 && second < 60;
    if !is_date || !is_time || date_parts.next().or(time_parts.next()).is_some() {
        return None;
    }
    // `days_from_civil` of the same paper.
    let march_year = year - i64::from(month <= 2);
    let (era, year_of_era) = (march_year.div_euclid(400), march_year.rem_euclid(400));
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

/// A result, or a message for the author of the statement.
type Answer<T> = Result<T, String>;

/// The time at which a tick began.
pub(super) fn shown(spec: &LayoutSpec, tick: u64) -> Answer<String> {
    written(spec.unix_ms(tick), has_ms(spec))
        .ok_or_else(|| "the time is after the year 9999, which SQLite's dates end with".into())
}

/// The tick that a time is in.
pub(super) fn tick_at(spec: &LayoutSpec, text: &str) -> Answer<u64> {
    unix_ms(text)?
        .and_then(|ms| spec.tick_at(Duration::from_millis(ms)))
        .filter(|tick| *tick <= spec.max_tick())
        .ok_or_else(|| out_of_range(spec, text, spec.max_tick()))
}

/// The first tick that does not begin before a time; that of the layout's end is one past its last.
pub(super) fn tick_from(spec: &LayoutSpec, text: &str) -> Answer<u64> {
    let end = spec.max_tick().saturating_add(1);
    unix_ms(text)?
        .and_then(|ms| ms.checked_sub(spec.epoch_unix_ms()))
        // Rounded up, as `raw_time(raw) >= from` would compare.
        .map(|ms| ms.div_ceil(spec.tick_ms().max(1)))
        .filter(|tick| *tick <= end)
        .ok_or_else(|| out_of_range(spec, text, end))
}

/// The Unix milliseconds of a date, or `None` before 1970.
fn unix_ms(text: &str) -> Answer<Option<u64>> {
    let unix_ms = date_unix_ms(text).ok_or_else(|| {
        format!("'{text}' is not a time in UTC: texts as 2024-12-09 or 2024-12-09 01:04:57.250 are allowed")
    })?;
    Ok(u64::try_from(unix_ms).ok())
}

fn out_of_range(spec: &LayoutSpec, text: &str, last: u64) -> String {
    let date = |tick| {
        let date = written(spec.unix_ms(tick), has_ms(spec));
        date.unwrap_or_else(|| "9999-12-31".into())
    };
    format!(
        "'{text}' is out of range: {} to {} are allowed, the times of the layout",
        date(0),
        date(last)
    )
}

/// Whether ticks begin within seconds.
const fn has_ms(spec: &LayoutSpec) -> bool {
    !(spec.tick_ms().is_multiple_of(1_000) && spec.epoch_unix_ms().is_multiple_of(1_000))
}

/// The first raw id that is negative in a column.
const SIGN: u64 = 1 << 63;

/// First and last raw id of a time range, each inclusive, in one range or, about the time when raw
/// ids turn negative, two.
pub(super) fn ranges(spec: &LayoutSpec, from: &str, to: &str) -> Answer<Vec<(i64, i64)>> {
    let (first, last) = bounds(spec, from, to)?;
    let ranges = if first < SIGN && last >= SIGN {
        vec![(first, SIGN.wrapping_sub(1)), (SIGN, last)]
    } else {
        vec![(first, last)]
    };
    Ok(ranges
        .into_iter()
        .map(|(first, last)| (first.cast_signed(), last.cast_signed()))
        .collect())
}

/// The only range; two are refused.
pub(super) fn single_range(spec: &LayoutSpec, from: &str, to: &str) -> Answer<(i64, i64)> {
    match ranges(spec, from, to)?[..] {
        [range] => Ok(range),
        _ => Err(format!(
            "raw ids are negative from {} on, which is between '{from}' and '{to}': ask for both parts apart, or for \
             raw_ranges",
            shown(spec, spec.unpack(SIGN).tick)?
        )),
    }
}

fn bounds(spec: &LayoutSpec, from: &str, to: &str) -> Answer<(u64, u64)> {
    let fields = spec.fields();
    let [timestamp, node_id, sequence] = fields.bit_fields();
    if timestamp.shift < node_id.shift.max(sequence.shift) {
        return Err(String::from(
            "the time is not the highest field of this layout, so raw ids are not in its order",
        ));
    }
    let (first, end) = (tick_from(spec, from)?, tick_from(spec, to)?);
    // An empty range would be all ids where raw ids turn negative.
    if first >= end {
        return Err(format!(
            "no tick begins between '{from}' and '{to}': the end must be after the beginning, by a tick of {} ms or more",
            spec.tick_ms()
        ));
    }
    let last_tick = end.wrapping_sub(1);
    let last = spec.pack(last_tick, spec.max_node_id(), spec.max_sequence().into());
    Ok((spec.pack(first, 0, 0), last))
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
            assert_eq!(date_unix_ms(text), Some(ms.cast_signed()), "{text}");
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
            assert_eq!(date_unix_ms(&text), Some(ms.cast_signed()), "{text}");
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
            assert_eq!(date_unix_ms(text), Some(ms), "{text}");
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
            assert_eq!(date_unix_ms(text), None, "{text}");
        }
    }
}
