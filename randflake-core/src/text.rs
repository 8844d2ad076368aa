//! Base32hex: most significant digit first, lower case, no padding, no leading zero.
//!
//! Eight digits at a time in one 64-bit number, a byte each: spread 40 bits to eight 5-bit lanes and
//! turn all lanes into ASCII at once, and back.

use core::fmt::{self, Debug, Display, Formatter};
use core::ops::Deref;

use crate::DecodeError;

/// Digits of a 64-bit number: 12 of 5 bits and a leading one of 4.
const MAX_LEN: usize = 13;
const BITS_PER_DIGIT: u32 = 5;
/// Digits of one 64-bit number of lanes.
const LANES: usize = 8;
/// The bits of eight digits.
const LANES_BITS: u32 = 40;

/// The same byte in all eight lanes.
const fn lanes(byte: u8) -> u64 {
    u64::from_ne_bytes([byte; 8])
}
/// From the digit after `9` to the digit `a`: ASCII has this much between them.
const GAP: u64 = (b'a' - b'9' - 1) as u64;

/// An id's text: a buffer on the stack that reads as a `str` of 1 to 13 ASCII characters.
///
/// ```
/// use randflake_core::Id;
///
/// let text = Id::from_u64(31).to_text();
/// assert_eq!(text.as_str(), "v");
/// assert_eq!(text.len(), 1);
/// ```
// Two whole, aligned words of digits, because that is what `from_utf8` checks at a glance.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
#[repr(align(8))]
pub struct Text {
    digits: [u8; 2 * LANES],
    /// Where the first significant digit stands: 3 to 15.
    start: u8,
}

impl Text {
    #[inline]
    #[expect(clippy::cast_possible_truncation, reason = "at most 15")]
    pub(crate) const fn encode(bits: u64) -> Self {
        let [a, b, c, d, e, f, g, h] = to_ascii(spread(bits >> LANES_BITS)).to_be_bytes();
        let [i, j, k, l, m, n, o, p] = to_ascii(spread(bits)).to_be_bytes();
        // One bit always counts: 0 is "0".
        let len = (bits | 1).ilog2().wrapping_div(BITS_PER_DIGIT).wrapping_add(1);
        Self {
            digits: [a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p],
            start: (2 * LANES as u32).wrapping_sub(len) as u8,
        }
    }

    /// The text as ASCII bytes.
    #[must_use]
    #[inline]
    pub fn as_bytes(&self) -> &[u8] {
        self.as_str().as_bytes()
    }

    /// The text.
    #[must_use]
    #[inline]
    pub fn as_str(&self) -> &str {
        // The digits are ASCII and the start is at most 15, so the defaults are never taken; they
        // leave no panic in the code.
        let digits = core::str::from_utf8(&self.digits).unwrap_or_default();
        digits.get(usize::from(self.start)..).unwrap_or_default()
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
    match text {
        [] => return Err(DecodeError::Empty),
        [b'0', _, ..] => return Err(refusal(text)),
        _ if text.len() > MAX_LEN => return Err(refusal(text)),
        _ => {}
    }
    let (high, low) = match text.split_last_chunk() {
        Some((head, last)) => (word(head), u64::from_be_bytes(*last)),
        None => (word(&[]), word(text)),
    };
    let (high, high_foreign) = from_ascii(high);
    let (low, low_foreign) = from_ascii(low);
    if high_foreign | low_foreign != 0 {
        return Err(refusal(text));
    }
    let high = gather(high);
    if high >> (u64::BITS - LANES_BITS) != 0 {
        return Err(DecodeError::Overflow);
    }
    Ok((high << LANES_BITS) | gather(low))
}

/// At most eight characters in the lanes, filled up with zeros in front.
#[inline]
fn word(text: &[u8]) -> u64 {
    text.iter()
        .fold(lanes(b'0'), |word, &byte| (word << 8) | u64::from(byte))
}

/// What is wrong with a text that is too long, has a foreign character or else a leading zero.
#[cold]
fn refusal(text: &[u8]) -> DecodeError {
    if text.len() > MAX_LEN {
        return DecodeError::TooLong { len: text.len() };
    }
    let mut bytes = text.iter().copied().enumerate();
    match bytes.find(|&(_, byte)| digit(byte).is_none()) {
        Some((index, byte)) => DecodeError::InvalidDigit { index, byte },
        None => DecodeError::LeadingZero,
    }
}

pub(crate) fn decode_lenient(text: &[u8]) -> Result<u64, DecodeError> {
    let mut bits: u64 = 0;
    for (index, &byte) in text.iter().enumerate() {
        if byte == b'=' {
            break;
        }
        let Some(digit) = digit(byte.to_ascii_lowercase()) else {
            return Err(DecodeError::InvalidDigit { index, byte });
        };
        bits = (bits << BITS_PER_DIGIT) | u64::from(digit);
    }
    Ok(bits)
}

const fn digit(byte: u8) -> Option<u8> {
    match byte {
        b'0'..=b'9' => Some(byte.wrapping_sub(b'0')),
        b'a'..=b'v' => Some(byte.wrapping_sub(b'a').wrapping_add(10)),
        _ => None,
    }
}

/// The low 40 bits to eight lanes of five, halving the groups three times.
#[inline]
const fn spread(bits: u64) -> u64 {
    let twenties = (bits & 0x0F_FFFF) | ((bits & 0xFF_FFF0_0000) << 12);
    let tens = (twenties & 0x0000_03FF_0000_03FF) | ((twenties & 0x000F_FC00_000F_FC00) << 6);
    (tens & 0x001F_001F_001F_001F) | ((tens & 0x03E0_03E0_03E0_03E0) << 3)
}

/// The inverse of [`spread`], for lanes below 32.
#[inline]
const fn gather(lanes: u64) -> u64 {
    let tens = (lanes & 0x001F_001F_001F_001F) | ((lanes >> 3) & 0x03E0_03E0_03E0_03E0);
    let twenties = (tens & 0x0000_03FF_0000_03FF) | ((tens >> 6) & 0x000F_FC00_000F_FC00);
    (twenties & 0x0F_FFFF) | ((twenties >> 12) & 0xFF_FFF0_0000)
}

/// Digits to characters, in every lane: 0 to 9 from `0`, 10 to 31 from `a`. No lane carries over.
#[inline]
const fn to_ascii(digits: u64) -> u64 {
    // Adding 128 - 10 sets a lane's high bit from 10 on.
    let letters = (digits.wrapping_add(lanes(0x80 - 10)) & lanes(0x80)) >> 7;
    digits
        .wrapping_add(lanes(b'0'))
        .wrapping_add(letters.wrapping_mul(GAP))
}

/// Characters to digits, the inverse of [`to_ascii`], and what is not zero when a lane held no digit.
///
/// Whatever the lanes hold, the digits are below 32, and they give the text back only if it was of
/// digits; so a lane that borrows from another does no harm.
#[inline]
const fn from_ascii(text: u64) -> (u64, u64) {
    // Of the digits' characters just the letters have this bit.
    let letters = (text >> 6) & lanes(1);
    let digits = text
        .wrapping_sub(lanes(b'0'))
        .wrapping_sub(letters.wrapping_mul(GAP))
        & lanes(31);
    (digits, to_ascii(digits) ^ text)
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
        for shift in 0..64 {
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
        for len in 1..=MAX_LEN {
            for index in 0..len {
                for byte in 0..=u8::MAX {
                    let mut text = [b'1'; MAX_LEN];
                    text[index] = byte;
                    let expected = match digit(byte) {
                        None => Err(DecodeError::InvalidDigit { index, byte }),
                        Some(0) if index == 0 && len > 1 => Err(DecodeError::LeadingZero),
                        Some(16..) if index == 0 && len == MAX_LEN => Err(DecodeError::Overflow),
                        Some(_) => decode_lenient(&text[..len]),
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
