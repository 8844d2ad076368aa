//! Times of ids as dates of SQLite.

use alloc::format;
use alloc::string::String;
use core::time::Duration;

use super::date;
use super::functions::Answer;
use crate::LayoutSpec;

/// The time at which a tick began.
pub(super) fn shown(spec: &LayoutSpec, tick: u64) -> Answer<String> {
    let date = date::written(spec.unix_ms(tick), has_ms(spec));
    date.ok_or_else(|| "the time is after the year 9999, which SQLite's dates end with".into())
}

/// The tick that a time is in.
pub(super) fn tick_at(spec: &LayoutSpec, text: &str) -> Answer<u64> {
    let unix_ms = unix_ms(text)?;
    let tick = unix_ms.and_then(|ms| spec.tick_at(Duration::from_millis(ms)));
    let tick = tick.filter(|tick| *tick <= spec.max_tick());
    tick.ok_or_else(|| out_of_range(spec, text, spec.max_tick()))
}

/// The first tick that does not begin before a time; that of the layout's end is one past its last.
pub(super) fn tick_from(spec: &LayoutSpec, text: &str) -> Answer<u64> {
    let since = unix_ms(text)?.and_then(|ms| ms.checked_sub(spec.epoch_unix_ms()));
    // Up, as `raw_time(raw) >= from` would compare.
    let tick = since.map(|ms| ms.div_ceil(spec.tick_ms().max(1)));
    let end = spec.max_tick().saturating_add(1);
    let tick = tick.filter(|tick| *tick <= end);
    tick.ok_or_else(|| out_of_range(spec, text, end))
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
