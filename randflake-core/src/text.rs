//! Base32hex: most significant digit first, lower case, no padding, no leading zero.
//!
//! To text go eight digits at a time in one 64-bit number, a byte each: 40 bits are spread to eight
//! 5-bit lanes, and all lanes become ASCII at once. Back goes one digit at a time through a table.

use core::fmt::{self, Debug, Display, Formatter};
use core::ops::Deref;

use crate::DecodeError;

/// Digits of a 64-bit number: 12 of 5 bits and a leading one of 4.
const MAX_LEN: usize = 13;
const BITS_PER_DIGIT: u32 = 5;
/// The largest first digit of 13.
const MAX_FIRST: u8 = b'f';
/// What two words of lanes hold: 13 digits and three zeros before them.
const BUFFER_LEN: usize = 16;
/// The bits of one word of lanes.
const LANES_BITS: u32 = 40;
/// From the digit after `9` to the digit `a`: ASCII has this much between them.
const GAP: u8 = b'a' - b'9' - 1;

/// An id's text: a buffer on the stack that reads as a `str` of 1 to 13 ASCII characters.
///
/// ```
/// use randflake_core::Id;
///
/// let text = Id::from_u64(31).to_text();
/// assert_eq!(text.as_str(), "v");
/// assert_eq!(text.len(), 1);
/// ```
// The buffer is two whole, aligned words, because `from_utf8` checks such at once. Not on AVR, whose compiler relies on
// an alignment that it does not give: <https://github.com/llvm/llvm-project/issues/169190>.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
#[cfg_attr(not(target_arch = "avr"), repr(align(8)))]
pub struct Text {
    buffer: [u8; BUFFER_LEN],
    /// Where the first significant digit stands: 3 to 15.
    start: u8,
}

impl Text {
    #[inline]
    #[expect(clippy::cast_possible_truncation, reason = "at most 15")]
    pub(crate) const fn encode(bits: u64) -> Self {
        let high = to_ascii(spread(bits >> LANES_BITS));
        let low = to_ascii(spread(bits));
        let len = len(bits);
        Self {
            // One store of 16 bytes: smaller ones would hold up the reading of the whole.
            buffer: (((high as u128) << u64::BITS) | low as u128).to_be_bytes(),
            start: (BUFFER_LEN as u32).wrapping_sub(len) as u8,
        }
    }

    // In both readers the defaults are never taken, as the start is at most 15 and the buffer is
    // ASCII; they leave no panic in the code.

    /// The text as ASCII bytes.
    #[must_use]
    #[inline]
    pub fn as_bytes(&self) -> &[u8] {
        self.buffer
            .get(usize::from(self.start)..)
            .unwrap_or_default()
    }

    /// The text.
    #[must_use]
    #[inline]
    pub fn as_str(&self) -> &str {
        let text = core::str::from_utf8(&self.buffer).unwrap_or_default();
        text.get(usize::from(self.start)..).unwrap_or_default()
    }
}

impl Deref for Text {
    type Target = str;

    #[inline]
    fn deref(&self) -> &str {
        self.as_str()
    }
}

impl AsRef<str> for Text {
    fn as_ref(&self) -> &str {
        self
    }
}

impl Display for Text {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.pad(self)
    }
}

impl Debug for Text {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        Debug::fmt(self.as_str(), f)
    }
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
const FOREIGN: u8 = 0x80;

const fn digit(byte: u8) -> u8 {
    DIGITS[byte as usize]
}

/// The number of digits' low 64 bits, and whether all bytes were digits.
#[inline]
fn number(text: &[u8]) -> (u64, bool) {
    let mut bits: u64 = 0;
    let mut seen = 0;
    for &byte in text {
        bits = (bits << BITS_PER_DIGIT) | u64::from(digit(byte));
        seen |= digit(byte);
    }
    (bits, seen < FOREIGN)
}

#[inline]
pub(crate) fn decode(text: &[u8]) -> Result<u64, DecodeError> {
    let (bits, all_digits) = match <&[u8; MAX_LEN]>::try_from(text) {
        // The usual length, for which the loop is unrolled.
        Ok(full) if full[0] <= MAX_FIRST => number(full),
        Err(_) if text.len() < MAX_LEN => number(text),
        _ => return Err(refusal(text)),
    };
    match text {
        [b'0'] | [b'1'..=b'v', ..] if all_digits => Ok(bits),
        _ => Err(refusal(text)),
    }
}

/// What is wrong with a text that is not an id's.
#[cold]
fn refusal(text: &[u8]) -> DecodeError {
    if text.len() > MAX_LEN {
        return DecodeError::TooLong { len: text.len() };
    }
    let mut bytes = text.iter().copied().enumerate();
    if let Some((index, byte)) = bytes.find(|&(_, byte)| digit(byte) == FOREIGN) {
        return DecodeError::InvalidDigit { index, byte };
    }
    match text {
        [] => DecodeError::Empty,
        [b'0', ..] => DecodeError::LeadingZero,
        _ => DecodeError::Overflow,
    }
}

pub(crate) fn decode_lenient(text: &[u8]) -> Result<u64, DecodeError> {
    let mut bits: u64 = 0;
    for (index, &byte) in text.iter().enumerate() {
        match digit(byte.to_ascii_lowercase()) {
            FOREIGN if byte == b'=' => break,
            FOREIGN => return Err(DecodeError::InvalidDigit { index, byte }),
            digit => bits = (bits << BITS_PER_DIGIT) | u64::from(digit),
        }
    }
    Ok(bits)
}

/// How many digits a number has.
// Where zeros are counted by an instruction.
#[cfg(target_pointer_width = "64")]
#[inline]
const fn len(bits: u64) -> u32 {
    // One bit always counts: 0 is "0".
    (bits | 1)
        .ilog2()
        .wrapping_div(BITS_PER_DIGIT)
        .wrapping_add(1)
}

// A Cortex-M0 and a RISC-V without `Zbb` have no such instruction.
#[cfg(not(target_pointer_width = "64"))]
#[inline]
const fn len(bits: u64) -> u32 {
    let mut len: u32 = 1;
    let mut rest = bits >> BITS_PER_DIGIT;
    while rest != 0 {
        rest >>= BITS_PER_DIGIT;
        len = len.wrapping_add(1);
    }
    len
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
    // Of which all bits below are set, and those of the gap taken. A product of 64 bits is a call on a Cortex-M0.
    let gaps = letters.wrapping_sub(letters >> 7) & lanes(GAP);
    digits.wrapping_add(lanes(b'0')).wrapping_add(gaps)
}

#[cfg(test)]
mod tests {
    extern crate std;

    use std::string::String;

    use super::*;

    /// The obvious way: one digit at a time.
    fn naive(mut bits: u64) -> String {
        let mut digits = String::new();
        loop {
            digits.insert(0, char::from_digit((bits % 32) as u32, 32).unwrap());
            bits /= 32;
            if bits == 0 {
                return digits;
            }
        }
    }

    #[test]
    fn every_length_is_encoded_as_the_obvious_way_does() {
        for shift in (0..64).step_by(if cfg!(miri) { 9 } else { 1 }) {
            for bits in [
                1 << shift,
                u64::MAX >> shift,
                (0x9E37_79B9_7F4A_7C15 | 1 << 63) >> shift,
            ] {
                assert_eq!(Text::encode(bits).as_str(), naive(bits));
                assert_eq!(decode(naive(bits).as_bytes()), Ok(bits));
            }
        }
        assert_eq!(Text::encode(0).as_str(), "0");
        assert_eq!(decode(b"0"), Ok(0));
    }

    #[test]
    fn every_foreign_byte_is_refused_wherever_it_stands() {
        let one_in = if cfg!(miri) { 85 } else { 1 };
        for len in 1..=MAX_LEN {
            for index in 0..len {
                for byte in (0..=u8::MAX).step_by(one_in) {
                    let mut text = [b'1'; MAX_LEN];
                    text[index] = byte;
                    let expected = match digit(byte) {
                        FOREIGN => Err(DecodeError::InvalidDigit { index, byte }),
                        0 if index == 0 && len > 1 => Err(DecodeError::LeadingZero),
                        16.. if index == 0 && len == MAX_LEN => Err(DecodeError::Overflow),
                        _ => decode_lenient(&text[..len]),
                    };
                    assert_eq!(decode(&text[..len]), expected, "{:?}", &text[..len]);
                }
            }
        }
    }

    #[test]
    fn lengths_are_checked() {
        assert_eq!(decode(b""), Err(DecodeError::Empty));
        assert_eq!(
            decode(b"00000000000000"),
            Err(DecodeError::TooLong { len: 14 })
        );
        assert_eq!(
            decode(&[b'1'; 1000]),
            Err(DecodeError::TooLong { len: 1000 })
        );
    }

    #[test]
    fn the_lenient_decoder_takes_what_the_older_packages_took() {
        assert_eq!(decode_lenient(b""), Ok(0));
        assert_eq!(decode_lenient(b"=anything"), Ok(0));
        assert_eq!(decode_lenient(b"0V"), Ok(31));
        assert_eq!(
            decode_lenient(b"gvvvvvvvvvvvv"),
            Ok(u64::MAX >> 4),
            "lowest 64 bits"
        );
        assert_eq!(
            decode_lenient(b"1w"),
            Err(DecodeError::InvalidDigit {
                index: 1,
                byte: b'w'
            })
        );
    }
}
