//! Base64 of the decimal digits of an id, as `bwmarrin/snowflake` defines its `Base64`.

use super::{BASE10, BASE64, BUFFER_LEN, Digits, FOREIGN};
use crate::DecodeError;

/// Fills the last group of four characters.
const PADDING: u8 = b'=';

/// Longest text: three bytes become four characters.
pub(super) const MAX_LEN: usize = BASE10.max_len.div_ceil(3).wrapping_mul(4);

/// Encodes a number: its decimal digits, three at a time, become four characters.
pub(super) fn encode(number: u64) -> Digits {
    let decimal = super::encode(&BASE10, number);
    let len = decimal.len().div_ceil(3).wrapping_mul(4);
    let start = BUFFER_LEN.wrapping_sub(len);
    let mut buffer = [0; BUFFER_LEN];
    let (quads, _) = buffer.get_mut(start..).unwrap_or_default().as_chunks_mut();
    for (quad, digits) in quads.iter_mut().zip(decimal.as_bytes().chunks(3)) {
        *quad = match *digits {
            [a, b, c] => characters([a, b, c]),
            // Two bytes are in the first three characters, one is in the first two: the rest is
            // padding.
            [a, b] => match characters([a, b, 0]) {
                [first, second, third, _] => [first, second, third, PADDING],
            },
            [a, ..] => match characters([a, 0, 0]) {
                [first, second, ..] => [first, second, PADDING, PADDING],
            },
            [] => [PADDING; 4],
        };
    }
    Digits { buffer, start }
}

/// Splits 24 bits into four characters of six bits.
fn characters([a, b, c]: [u8; 3]) -> [u8; 4] {
    let bits = u64::from(u32::from_be_bytes([0, a, b, c]));
    [18, 12, 6, 0].map(|shift| BASE64.digit(bits >> shift & 0x3f))
}

/// Decodes the base64 of decimal digits, or says what is wrong.
pub(super) fn decode(text: &[u8]) -> Result<u64, DecodeError> {
    // Bounds the decoded bytes as well, so `places` below never runs out.
    if text.len() > MAX_LEN {
        return Err(DecodeError::TooLong { len: text.len() });
    }
    let mut digits = [0; BUFFER_LEN];
    let mut places = digits.iter_mut();
    let mut lanes: u32 = 0;
    let mut bits: u32 = 0;
    let mut len: usize = 0;
    for (index, &byte) in text.iter().enumerate() {
        let value = BASE64.value(byte);
        if value == FOREIGN {
            // What follows the first padding is judged below, by writing the number again.
            if byte == PADDING && index > 0 {
                break;
            }
            return Err(DecodeError::InvalidDigit { index, byte });
        }
        // Six bits come in at the low end; as soon as there are eight, the oldest of them are a
        // byte.
        lanes = lanes.wrapping_shl(6) | u32::from(value);
        bits = bits.wrapping_add(6);
        if bits >= 8 {
            bits = bits.wrapping_sub(8);
            if let Some(place) = places.next() {
                *place = lanes.wrapping_shr(bits).to_le_bytes()[0];
                len = len.wrapping_add(1);
            }
        }
    }
    let place_in_text = |index: usize| index.wrapping_mul(4).wrapping_div(3);
    let number =
        super::decode(&BASE10, digits.get(..len).unwrap_or_default()).map_err(|problem| {
            match problem {
                // A digit's byte ends in the character after the one in which it begins.
                DecodeError::InvalidDigit { index, .. } => {
                    let index = place_in_text(index);
                    let byte = text.get(index).copied().unwrap_or_default();
                    DecodeError::InvalidDigit { index, byte }
                }
                problem => problem,
            }
        })?;
    // One number has one text: what else there is (bits after the last byte, missing or further
    // padding) is found by writing it again.
    let canonical = encode(number);
    let mut both = text.iter().zip(canonical.as_bytes()).enumerate();
    match both.find(|(_, (given, right))| given != right) {
        Some((index, (&byte, _))) => Err(DecodeError::InvalidDigit { index, byte }),
        None if text.len() > canonical.len() => Err(DecodeError::TooLong { len: text.len() }),
        None if text.len() < canonical.len() => Err(DecodeError::Truncated),
        None => Ok(number),
    }
}
