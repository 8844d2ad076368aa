//! Eight digits at a time in one 64-bit number, a byte each: 40 bits are spread to eight 5-bit
//! lanes, and all lanes become ASCII at once. Back goes one digit at a time through a table.

use super::{BITS_PER_DIGIT, BUFFER_LEN, LANES_BITS, MAX_LEN};

/// From the digit after `9` to the digit `a`: ASCII has this much between them.
const GAP: u8 = b'a' - b'9' - 1;

/// The 16 digits, zeros before the number.
// Not used where there are vectors, but for their tests.
#[cfg_attr(
    all(target_arch = "x86_64", target_feature = "sse2", not(test)),
    expect(dead_code, reason = "vectors do it")
)]
#[inline]
pub(super) const fn encode(bits: u64) -> [u8; BUFFER_LEN] {
    let high = to_ascii(spread(bits >> LANES_BITS));
    let low = to_ascii(spread(bits));
    // One store of 16 bytes: smaller ones would hold up the reading of the whole.
    (((high as u128) << u64::BITS) | low as u128).to_be_bytes()
}

/// The digit of each byte, or [`FOREIGN`].
const DIGITS: [u8; 256] = {
    let characters = b"0123456789abcdefghijklmnopqrstuv";
    let mut digits = [FOREIGN; 256];
    let mut digit: u8 = 0;
    while digit < 32 {
        digits[characters[digit as usize] as usize] = digit;
        digit = digit.wrapping_add(1);
    }
    digits
};
/// No digit, and a bit that no digit has.
pub(super) const FOREIGN: u8 = 0x80;

pub(super) const fn digit(byte: u8) -> u8 {
    DIGITS[byte as usize]
}

/// The number of at most 13 digits, its low 64 bits, and whether all bytes were digits.
#[inline]
pub(super) fn number(text: &[u8]) -> (u64, bool) {
    match <&[u8; MAX_LEN]>::try_from(text) {
        // The usual length, for which the loop is unrolled.
        Ok(full) => sum(full),
        Err(_) => sum(text),
    }
}

#[inline]
fn sum(text: &[u8]) -> (u64, bool) {
    let mut bits: u64 = 0;
    let mut seen = 0;
    for &byte in text {
        bits = (bits << BITS_PER_DIGIT) | u64::from(digit(byte));
        // Tested once at the end: a branch for each digit would cost more than reading them all.
        seen |= digit(byte);
    }
    (bits, seen < FOREIGN)
}

/// The low 40 bits to eight lanes of five, halving the groups three times.
#[inline]
const fn spread(bits: u64) -> u64 {
    let twenties = (bits & 0x0F_FFFF) | ((bits & 0xFF_FFF0_0000) << 12);
    let tens = (twenties & 0x0000_03FF_0000_03FF) | ((twenties & 0x000F_FC00_000F_FC00) << 6);
    (tens & 0x001F_001F_001F_001F) | ((tens & 0x03E0_03E0_03E0_03E0) << 3)
}

/// The same byte in all eight lanes.
const fn lanes(byte: u8) -> u64 {
    u64::from_ne_bytes([byte; 8])
}

/// Digits to characters, in every lane: 0 to 9 from `0`, 10 to 31 from `a`. No lane carries over.
#[inline]
const fn to_ascii(digits: u64) -> u64 {
    // Adding 128 - 10 sets a lane's high bit from 10 on.
    let letters = digits.wrapping_add(lanes(0x80 - 10)) & lanes(0x80);
    // Of which all bits below are set, and those of the gap taken. A product of 64 bits is a call
    // on a Cortex-M0.
    let gaps = letters.wrapping_sub(letters >> 7) & lanes(GAP);
    digits.wrapping_add(lanes(b'0')).wrapping_add(gaps)
}
