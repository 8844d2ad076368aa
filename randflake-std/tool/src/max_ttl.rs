//! The longest TTL of a namespace, which an option, a variable and the store's URL may say.
//!
//! It is a term of the namespace: a process that waited out a shorter one after a loss of data would repeat ids. So two
//! places that differ are refused; a precedence would hide which of them counts.

use core::time::Duration;
use std::env;

use randflake_std::date::span;
use randflake_std::lease::MAX_TTL_LIMIT;

use crate::failure::Failure;
use randflake_common::date;

const VARIABLE: &str = "RANDFLAKE_MAX_TTL";

/// A longest TTL, after the place that says it.
pub(crate) type NamedTtl = (&'static str, Duration);

/// A longest TTL as people type it.
pub(crate) fn time(text: &str) -> Result<Duration, String> {
    let time = date::duration(text)?;
    // Refused while the arguments are read, so the message names the option and not the store.
    if time.is_zero() || time > MAX_TTL_LIMIT {
        return Err(
            "a time above 0 and up to 14610 days is allowed, such as 90s, 15m or 1h".to_owned(),
        );
    }
    Ok(time)
}

/// The longest TTL that the environment says.
pub(crate) fn variable() -> Result<Option<NamedTtl>, Failure> {
    // Not by clap: it would let the option win over a variable that differs.
    let Some(text) = env::var_os(VARIABLE) else {
        return Ok(None);
    };
    let time = time(&text.to_string_lossy());
    let time = time.map_err(|why| Failure::usage(format!("{VARIABLE}: {why}")))?;
    Ok(Some((VARIABLE, time)))
}

/// The first of several places that say it, if all that do say the same.
pub(crate) fn agreed(
    places: impl IntoIterator<Item = Option<NamedTtl>>,
) -> Result<Option<NamedTtl>, Failure> {
    let mut places = places.into_iter().flatten();
    let Some(first) = places.next() else {
        return Ok(None);
    };
    // Times are compared and not texts: 15m and 900s agree.
    let Some(other) = places.find(|(_, time)| *time != first.1) else {
        return Ok(Some(first));
    };
    let named = |(place, time): NamedTtl| format!("{} by {place}", span(time));
    Err(Failure::usage(format!(
        "the longest TTL is {} and {}: it is fixed when the namespace is created, so say it in one place, or the same in \
         all",
        named(first),
        named(other)
    )))
}
