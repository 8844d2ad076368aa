//! Decimal digits of 64-bit numbers.

/// Length of the digit buffer: 20 digits, rounded up to three groups of eight.
pub(crate) const LEN: usize = 24;
const TEN_TO_16: u64 = 10_000_000_000_000_000;
const TEN_TO_8: u64 = 100_000_000;

/// All digits of a number, with leading zeros.
#[inline]
pub(crate) fn decimal_digits(number: u64) -> [u8; LEN] {
    // Three groups whose conversions do not wait for each other, where digit by digit each would.
    let (head, rest) = (number / TEN_TO_16, number % TEN_TO_16);
    let mut digits = [0; LEN];
    let (places, _) = digits.as_chunks_mut();
    for (place, eight) in places
        .iter_mut()
        .zip([head, rest / TEN_TO_8, rest % TEN_TO_8])
    {
        *place = eight_digits(eight);
    }
    digits
}

/// Number of decimal digits.
#[inline]
pub(crate) fn decimal_len(number: u64) -> usize {
    /// The smallest number with more digits than the index.
    const POWERS: [u64; 20] = {
        let mut powers = [1_u64; 20];
        let mut digits = 1;
        while digits < powers.len() {
            powers[digits] = powers[digits.wrapping_sub(1)].wrapping_mul(10);
            digits = digits.wrapping_add(1);
        }
        powers
    };
    // 0 has a digit like 1, and no power but the first is odd.
    let number = number | 1;
    let bits = number.ilog2().wrapping_add(1);
    // log10(2) is about 1,233 / 4,096. The estimate is exact or one too small, which the table corrects.
    let digits = (bits.wrapping_mul(1_233) >> 12) as usize;
    let has_more = POWERS.get(digits).is_some_and(|&power| number >= power);
    digits.wrapping_add(usize::from(has_more))
}

/// ASCII digits of a number below 10^8, by splitting all parts in half three times.
fn eight_digits(number: u64) -> [u8; 8] {
    // Each step keeps the quotient in the lower half of a part and puts the remainder into the upper. The
    // multipliers are reciprocals of 100 and 10 that are exact for such small parts.
    let quotient = number / 10_000;
    let fours = split(number, quotient, 10_000, 32);
    let quotients = fours.wrapping_mul(5_243) >> 19 & 0x0000_007F_0000_007F;
    let pairs = split(fours, quotients, 100, 16);
    let quotients = pairs.wrapping_mul(103) >> 10 & 0x000F_000F_000F_000F;
    let digits = split(pairs, quotients, 10, 8);
    digits
        .wrapping_add(u64::from_ne_bytes([b'0'; 8]))
        .to_le_bytes()
}

const fn split(numbers: u64, quotients: u64, divisor: u64, bits: u32) -> u64 {
    let remainders = numbers.wrapping_sub(quotients.wrapping_mul(divisor));
    quotients | remainders << bits
}

#[cfg(test)]
mod tests {
    extern crate std;

    use std::string::ToString;

    use super::*;

    #[test]
    fn digits_are_those_of_the_standard_library() {
        let powers = (0..20).map(|digits| 10_u64.pow(digits));
        let binary = (0..64).map(|bits| 1 << bits);
        for power in powers.chain(binary) {
            for number in [power.wrapping_sub(1), power, !power] {
                let text = number.to_string();
                assert_eq!(decimal_len(number), text.len());
                assert_eq!(decimal_digits(number)[LEN - text.len()..], *text.as_bytes());
            }
        }
        assert_eq!(decimal_len(0), 1);
    }
}
