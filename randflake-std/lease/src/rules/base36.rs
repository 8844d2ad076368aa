//! Numbers in few characters: digits, then small letters, as `u64::from_str_radix(text, 36)` reads
//! them.

use core::fmt::{self, Display, Formatter};
use core::str;

const DIGITS: &[u8; 36] = b"0123456789abcdefghijklmnopqrstuvwxyz";
/// Number of digits of the longest number.
const MOST: usize = 25;
/// Digits split off a long number per division, because dividing 128 bits is slow.
const STEP: usize = 12;

/// Displays a number in base 36.
#[derive(Clone, Copy, Debug)]
pub(super) struct Base36(pub(super) u128);

impl Display for Base36 {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        // The highest power of 36 below 2^64, so that each chunk is divided in 64 bits.
        const CHUNK: u128 = 36_u128.pow(12);
        // Longer than any number by one chunk: the third chunk has places for digits 25 to 36.
        let (mut text, mut at) = ([b'0'; MOST + STEP], MOST + STEP);
        let mut rest = self.0;
        while rest > 0 {
            let mut low = u64::try_from(rest % CHUNK).unwrap_or_default();
            rest /= CHUNK;
            let first = at - STEP;
            while low > 0 {
                at -= 1;
                text[at] = DIGITS[usize::try_from(low % 36).unwrap_or_default()];
                low /= 36;
            }
            // Leading zeros of this chunk stand between its digits and those of the next one.
            if rest > 0 {
                at = first;
            }
        }
        // 0 has no digit in the loop, and is shown as the last zero of the text.
        let shown = &text[at.min(MOST + STEP - 1)..];
        f.write_str(str::from_utf8(shown).unwrap_or_default())
    }
}

/// Parses a number of 64 bits.
pub(super) fn number(text: &str) -> Option<u64> {
    // Capitals and a plus sign pass here; `text::read` refuses records that are spelled so.
    u64::from_str_radix(text, 36).ok()
}

/// Parses a number of 128 bits.
pub(super) fn long(text: &str) -> Option<u128> {
    u128::from_str_radix(text, 36).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_read_as_they_were_written() {
        let powers = (0..=24).map(|power| 36_u128.pow(power));
        let near = powers.flat_map(|power| [power - 1, power, power + 1]);
        for value in near.chain([u64::MAX.into(), u128::MAX]) {
            let text = Base36(value).to_string();
            assert_eq!(long(&text), Some(value), "{text}");
            assert_eq!(text.starts_with('0'), value == 0, "{text}");
        }
        assert_eq!(Base36(u128::MAX).to_string(), "f5lxx1zz5pnorynqglhzmsp33");
        assert_eq!(number("1z141z3"), Some(u64::from(u32::MAX)));
    }
}
