//! Parsers of numbers on the command line.
//!
//! Clap's own ranges say `4 is not in 1..=3`; these say what is allowed, in the words that the
//! other messages use.

use core::ops::RangeInclusive;

use crate::failure::Failure;

/// A parser of the numbers in a range, whose error says what is allowed.
pub fn within<T: TryFrom<u64>>(
    range: RangeInclusive<u64>,
) -> impl Fn(&str) -> Result<T, String> + Clone {
    move |text| {
        let in_range = text.parse().ok().filter(|number| range.contains(number));
        // Where the range is wider than the type, a number that does not fit is refused and not cut
        // off.
        let fitting = in_range.and_then(|number| T::try_from(number).ok());
        fitting.ok_or_else(|| {
            let allowed = format!("{} to {} are allowed", range.start(), range.end());
            // A number out of range needs only the range; "1e6" and "1,000" look right to a user.
            match text.parse::<i128>() {
                Ok(_) => allowed,
                Err(_) => format!("{allowed}, in digits only"),
            }
        })
    }
}

/// The number of up to 64 bits that hex digits of either case stand for, which may have `0x` before
/// them.
pub fn hex(text: &str) -> Option<u64> {
    let digits = text.strip_prefix("0x").unwrap_or(text);
    // `from_str_radix` takes a sign.
    let is_hex = digits.bytes().all(|byte| byte.is_ascii_hexdigit());
    is_hex
        .then(|| u64::from_str_radix(digits, 16).ok())
        .flatten()
}

/// An address or a size: decimal digits, or `0x` and hex digits.
pub fn address(text: &str) -> Result<u32, String> {
    let number = match text.strip_prefix("0x") {
        Some(_) => hex(text).and_then(|number| u32::try_from(number).ok()),
        None => text.parse().ok(),
    };
    number.ok_or_else(|| "0 to 4294967295, or 0x0 to 0xffffffff, are allowed".to_owned())
}

/// Checks an argument whose range depends on another one; says what clap would.
pub fn check<T: TryFrom<u64>>(
    argument: &str,
    text: &str,
    range: RangeInclusive<u64>,
) -> Result<T, Failure> {
    within(range)(text).map_err(|allowed| wrong(argument, text, &allowed))
}

/// The failure of a wrong argument.
pub fn wrong(argument: &str, text: &str, allowed: &str) -> Failure {
    Failure::usage(format!(
        "invalid value '{text}' for '{argument}': {allowed}"
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hex_digits_are_read_without_a_sign() {
        for text in ["1f", "1F", "0x1f", "0000000000000000001f"] {
            assert_eq!(hex(text), Some(0x1F), "{text}");
        }
        for text in [
            "",
            "0x",
            "g",
            "-1",
            "+1",
            "10000000000000000",
            "0x0x1",
            "0X1",
        ] {
            assert_eq!(hex(text), None, "{text}");
        }
    }
}
