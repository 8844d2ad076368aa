//! One id after another, with what every processor has.

use super::Notation;
use crate::Id;

/// The least number of 17 digits: what is above is a head before 16 digits.
const TEN_TO_16: u64 = 10_000_000_000_000_000;
const TEN_TO_8: u64 = 100_000_000;

/// The caller has seen to it that all fits.
#[cfg_attr(
    all(target_arch = "x86_64", target_feature = "sse2", not(test)),
    expect(dead_code, reason = "vectors do most, and `append` the rest")
)]
pub(super) fn write(notation: Notation, ids: &[Id], separator: u8, buffer: &mut [u8]) -> usize {
    append(notation, ids, separator, buffer, 0)
}

/// Writes behind `end` bytes and gives the new end.
pub(super) fn append(
    notation: Notation,
    ids: &[Id],
    separator: u8,
    buffer: &mut [u8],
    mut end: usize,
) -> usize {
    for &id in ids {
        end = match notation {
            Notation::Text => put(id.to_text().as_bytes(), buffer, end),
            Notation::Unsigned => decimal(id.to_u64(), buffer, end),
            Notation::Signed => {
                let number = id.to_i64();
                let sign: &[u8] = if number < 0 { b"-" } else { b"" };
                let end = put(sign, buffer, end);
                decimal(number.unsigned_abs(), buffer, end)
            }
        };
        end = put(&[separator], buffer, end);
    }
    end
}

fn decimal(number: u64, buffer: &mut [u8], end: usize) -> usize {
    let (head, rest) = (number / TEN_TO_16, number % TEN_TO_16);
    let mut digits = [0; 24];
    for (place, eight) in digits
        .chunks_exact_mut(8)
        .zip([head, rest / TEN_TO_8, rest % TEN_TO_8])
    {
        place.copy_from_slice(&eight_digits(eight));
    }
    let len = number.checked_ilog10().unwrap_or(0).wrapping_add(1) as usize;
    let significant = digits.get(digits.len().wrapping_sub(len)..);
    put(significant.unwrap_or_default(), buffer, end)
}

/// The ASCII digits of a number below 10^8: halved three times, all parts at once.
fn eight_digits(number: u64) -> [u8; 8] {
    // In each step the quotients stay in the lower half of a part, and the remainders go to the upper.
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

fn put(text: &[u8], buffer: &mut [u8], end: usize) -> usize {
    let next = end.wrapping_add(text.len());
    if let Some(place) = buffer.get_mut(end..next) {
        place.copy_from_slice(text);
    }
    next
}
