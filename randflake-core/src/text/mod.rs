//! Base32hex: most significant digit first, lower case, no padding, no leading zero.
//!
//! All digits at once where there are vectors, else eight in one 64-bit number.

use core::fmt::{self, Debug, Display, Formatter};
use core::ops::Deref;

use crate::DecodeError;
use scalar::{FOREIGN, digit};

mod scalar;
#[cfg(all(target_arch = "x86_64", target_feature = "sse2"))]
mod sse2;

#[cfg(not(all(target_arch = "x86_64", target_feature = "sse2")))]
use scalar as platform;
#[cfg(all(target_arch = "x86_64", target_feature = "sse2"))]
use sse2 as platform;

/// Digits of a 64-bit number: 12 of 5 bits and a leading one of 4.
pub(crate) const MAX_LEN: usize = 13;
const BITS_PER_DIGIT: u32 = 5;
/// The largest first digit of 13.
const MAX_FIRST: u8 = b'f';
/// What two words of lanes hold: 13 digits and three zeros before them.
const BUFFER_LEN: usize = 16;
/// The bits of one word of lanes.
const LANES_BITS: u32 = 40;

/// Text of an id in a buffer on the stack: derefs to a `str` of 1 to 13 ASCII characters.
///
/// ```
/// use randflake_core::Id;
///
/// let text = Id::from_u64(31).to_text();
/// assert_eq!(text.as_str(), "v");
/// assert_eq!(text.len(), 1);
/// ```
// The buffer is two whole, aligned words, because `from_utf8` checks such at once. Not on AVR,
// whose compiler relies on an alignment that it does not give:
// <https://github.com/llvm/llvm-project/issues/169190>.
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
    pub(crate) fn encode(bits: u64) -> Self {
        Self {
            buffer: platform::encode(bits),
            start: (BUFFER_LEN as u32).wrapping_sub(len(bits)) as u8,
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

    /// The text as a string slice.
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

#[inline]
pub(crate) fn decode(text: &[u8]) -> Result<u64, DecodeError> {
    if text.len() > MAX_LEN {
        return Err(refusal(text));
    }
    let (bits, all_digits) = platform::number(text);
    // 13 digits have 65 bits: the first one may use four of its five.
    let largest_first = if text.len() == MAX_LEN {
        MAX_FIRST
    } else {
        b'v'
    };
    match text {
        [b'0'] if all_digits => Ok(bits),
        [first, ..] if all_digits && (b'1'..=largest_first).contains(first) => Ok(bits),
        // What is wrong is found in a second pass, so the first one has no branch for each digit.
        _ => Err(refusal(text)),
    }
}

/// Says what is wrong with a text that is not an id.
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
            // Higher bits are shifted out: the 1.x packages read numbers modulo 2^64.
            digit => bits = (bits << BITS_PER_DIGIT) | u64::from(digit),
        }
    }
    Ok(bits)
}

/// Number of digits of a number.
// Where zeros are counted by an instruction.
#[cfg(target_pointer_width = "64")]
#[inline]
pub(crate) const fn len(bits: u64) -> u32 {
    // One bit always counts: 0 is "0".
    (bits | 1)
        .ilog2()
        .wrapping_div(BITS_PER_DIGIT)
        .wrapping_add(1)
}

// A Cortex-M0 and a RISC-V without `Zbb` have no such instruction.
#[cfg(not(target_pointer_width = "64"))]
#[inline]
pub(crate) const fn len(bits: u64) -> u32 {
    let mut len: u32 = 1;
    let mut rest = bits >> BITS_PER_DIGIT;
    while rest != 0 {
        rest >>= BITS_PER_DIGIT;
        len = len.wrapping_add(1);
    }
    len
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
    fn vectors_do_as_the_scalar_twin() {
        let mut number: u64 = 0x9E37_79B9_7F4A_7C15;
        for shift in 0..64 {
            let bits = number >> shift;
            assert_eq!(platform::encode(bits), scalar::encode(bits), "{bits}");
            number = number.wrapping_mul(0xD134_2543_DE82_EF95).wrapping_add(1);
        }
        let one_in = if cfg!(miri) { 51 } else { 1 };
        for len in 0..=MAX_LEN {
            for index in 0..len {
                for byte in (0..=u8::MAX).step_by(one_in) {
                    let mut text = *b"1a2b3c4d5e6f7";
                    text[index] = byte;
                    let (bits, all_digits) = platform::number(&text[..len]);
                    let (expected, expected_all) = scalar::number(&text[..len]);
                    assert_eq!(all_digits, expected_all, "{text:?}");
                    assert!(!all_digits || bits == expected, "{text:?}");
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
    fn lenient_decoder_reads_texts_of_1_x() {
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
