//! Numbers on the command line.

use core::ops::RangeInclusive;

/// A parser of the numbers in a range, whose error says what is allowed.
pub(crate) fn within<T: TryFrom<u64>>(
    range: RangeInclusive<u64>,
) -> impl Fn(&str) -> Result<T, String> + Clone {
    move |text| {
        let number = text.parse().ok().filter(|number| range.contains(number));
        let number = number.and_then(|number| T::try_from(number).ok());
        number.ok_or_else(|| format!("{} to {} are allowed", range.start(), range.end()))
    }
}
