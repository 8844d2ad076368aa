//! Numbers on the command line.

use core::ops::RangeInclusive;
use core::time::Duration;

use crate::failure::Failure;

/// A parser of the numbers in a range, whose error says what is allowed.
pub(crate) fn within<T: TryFrom<u64>>(
    range: RangeInclusive<u64>,
) -> impl Fn(&str) -> Result<T, String> + Clone {
    move |text| {
        let number = text.parse().ok().filter(|number| range.contains(number));
        let number = number.and_then(|number| T::try_from(number).ok());
        number.ok_or_else(|| {
            let allowed = format!("{} to {} are allowed", range.start(), range.end());
            match text.parse::<i128>() {
                Ok(_) => allowed,
                Err(_) => format!("{allowed}, in digits only"),
            }
        })
    }
}

/// A parser of time spans: seconds, or with a unit.
pub(crate) fn span(text: &str) -> Result<Duration, String> {
    let seconds = text.parse().ok().map(Duration::from_secs);
    let span = seconds.or_else(|| humantime::parse_duration(text).ok());
    span.ok_or_else(|| "seconds, or a time such as 90s, 5m or 1h, are allowed".to_owned())
}

/// Checks an argument whose range depends on another one; says what clap would.
pub(crate) fn check<T: TryFrom<u64>>(
    argument: &str,
    text: &str,
    range: RangeInclusive<u64>,
) -> Result<T, Failure> {
    within(range)(text).map_err(|allowed| wrong(argument, text, &allowed))
}

pub(crate) fn wrong(argument: &str, text: &str, allowed: &str) -> Failure {
    Failure::usage(format!(
        "invalid value '{text}' for '{argument}': {allowed}"
    ))
}
