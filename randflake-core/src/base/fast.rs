//! Fast paths for reading texts: eight digits at a time, or without a check per digit.
//!
//! `None` is not an error: the slow path in the parent module then reads the text or says what is wrong.

use super::{FOREIGN, Table};

const EIGHT: usize = 8;
/// Multiplying eight bytes of 0 or 1 by this gathers them as the bits of the highest byte, the first byte highest.
/// Multiplying one byte by it spreads its bits, in the highest bit of each byte of the product.
const BITS: u64 = 0x8040_2010_0804_0201;
const LOWEST_BITS: u64 = u64::from_ne_bytes([1; 8]);
const ZEROS: u64 = u64::from_ne_bytes([b'0'; 8]);

/// Reads a text in a radix that is known at compile time.
#[inline]
pub(super) fn read<const RADIX: u64>(table: &Table, text: &[u8]) -> Option<u64> {
    if text.len() > table.max_len {
        return None;
    }
    let (&last, others) = text.split_last()?;
    let mut number: u64 = 0;
    let mut seen = table.value(last);
    // All digits but the last cannot overflow, so only the last step is checked.
    for &byte in others {
        let value = table.value(byte);
        number = number.wrapping_mul(RADIX).wrapping_add(u64::from(value));
        seen |= value;
    }
    let has_leading_zero = others.first().is_some_and(|&first| table.value(first) == 0);
    // Digits are below 64 and `FOREIGN` is above: one comparison for the whole text.
    if seen >= FOREIGN || has_leading_zero {
        return None;
    }
    number
        .checked_mul(RADIX)?
        .checked_add(u64::from(table.value(last)))
}

pub(super) fn read_binary(text: &[u8]) -> Option<u64> {
    read_eights(text, 2, 1 << EIGHT, |digits| {
        // `0` and `1` differ from ASCII zero in the lowest bit alone; any other byte leaves a higher bit set.
        let bits = u64::from_le_bytes(digits) ^ ZEROS;
        let number = bits.wrapping_mul(BITS) >> 56;
        (bits & !LOWEST_BITS == 0).then_some(number)
    })
}

pub(super) fn read_decimal(text: &[u8]) -> Option<u64> {
    read_eights(text, 10, 100_000_000, |digits| {
        let digits = u64::from_le_bytes(digits) ^ ZEROS;
        // Adding 0x80 - 10 sets the top bit of each byte that is not a digit.
        let over = digits | digits.wrapping_add(u64::from_ne_bytes([0x80 - 10; 8]));
        // Sums neighbouring digits to pairs, then adds all four pairs by two multiplications; the upper half has
        // the sum.
        let pairs = digits.wrapping_mul(10).wrapping_add(digits >> 8);
        let every_other = |pairs: u64| pairs & 0x0000_00FF_0000_00FF;
        let first = every_other(pairs).wrapping_mul((1_000_000 << 32) + 100);
        let second = every_other(pairs >> 16).wrapping_mul((10_000 << 32) + 1);
        let number = first.wrapping_add(second) >> 32;
        (over & (LOWEST_BITS << 7) == 0).then_some(number)
    })
}

/// Reads the leading digits that do not fill a group, then groups of eight.
#[inline]
fn read_eights(
    text: &[u8],
    radix: u8,
    eight_times: u64,
    read_eight: impl Fn([u8; EIGHT]) -> Option<u64>,
) -> Option<u64> {
    if matches!(text, [] | [b'0', _, ..]) {
        return None;
    }
    // From the end, so that all groups but the first are whole.
    let (before, eights) = text.as_rchunks();
    let mut number: u64 = 0;
    if let Some(&first) = text.first_chunk::<EIGHT>() {
        // Branch-free for any number of leading digits: they are shifted to the end, with zeros before them.
        let rest = EIGHT.wrapping_sub(before.len()).wrapping_mul(8);
        #[expect(clippy::cast_possible_truncation, reason = "at most 64")]
        let shifted = (u64::from_le_bytes(first) ^ ZEROS).checked_shl(rest as u32);
        let digits = shifted.unwrap_or_default() ^ ZEROS;
        number = read_eight(digits.to_le_bytes())?;
    } else {
        for byte in before {
            let digit = byte.wrapping_sub(b'0');
            if digit >= radix {
                return None;
            }
            number = number
                .wrapping_mul(u64::from(radix))
                .wrapping_add(u64::from(digit));
        }
    }
    for &digits in eights {
        number = number
            .checked_mul(eight_times)?
            .checked_add(read_eight(digits)?)?;
    }
    Some(number)
}

/// All 64 binary digits of a number, with leading zeros.
pub(super) fn binary_digits(number: u64) -> [u8; 64] {
    let mut digits = [0; 64];
    let (places, _) = digits.as_chunks_mut::<EIGHT>();
    for (place, byte) in places.iter_mut().zip(number.to_be_bytes()) {
        let bits = u64::from(byte).wrapping_mul(BITS) >> 7 & LOWEST_BITS;
        *place = (bits | ZEROS).to_le_bytes();
    }
    digits
}
