//! Parsers of numbers on the command line.

use core::ops::RangeInclusive;

use crate::failure::Failure;
use crate::hex;

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

/// An address or a size: decimal digits, or `0x` and hex digits.
pub(crate) fn address(text: &str) -> Result<u32, String> {
    let number = match text.strip_prefix("0x") {
        Some(_) => hex::parse(text.as_bytes()).and_then(|number| u32::try_from(number).ok()),
        None => text.parse().ok(),
    };
    number.ok_or_else(|| "0 to 4294967295, or 0x0 to 0xffffffff, are allowed".to_owned())
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
