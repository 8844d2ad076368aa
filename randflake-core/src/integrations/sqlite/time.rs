//! Times of ids as dates of SQLite, and the raw ids of a time range.

use alloc::format;
use alloc::string::String;
use alloc::vec;
use alloc::vec::Vec;
use core::time::Duration;

use super::date;
use crate::LayoutSpec;

/// A result, or a message for the author of the statement.
type Answer<T> = Result<T, String>;

/// The time at which a tick began.
pub(super) fn shown(spec: &LayoutSpec, tick: u64) -> Answer<String> {
    date::written(spec.unix_ms(tick), has_ms(spec))
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
    let unix_ms = date::unix_ms(text).ok_or_else(|| {
        format!("'{text}' is not a time in UTC: texts as 2024-12-09 or 2024-12-09 01:04:57.250 are allowed")
    })?;
    Ok(u64::try_from(unix_ms).ok())
}

fn out_of_range(spec: &LayoutSpec, text: &str, last: u64) -> String {
    let date = |tick| {
        let date = date::written(spec.unix_ms(tick), has_ms(spec));
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
