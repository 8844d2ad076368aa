//! The base64 of an id's decimal digits.

use super::digits::BUFFER_LEN;
use super::{BASE10, BASE64, Digits, FOREIGN, decode, fast};
use crate::DecodeError;
use crate::decimal::{LEN as DECIMAL_LEN, decimal_digits, decimal_len};

/// What the last four characters are filled up with.
const PADDING: u8 = b'=';
/// Three bytes are four characters.
pub(super) const MAX_LEN: usize = BASE10.max_len.div_ceil(3).wrapping_mul(4);

/// Base64 of a number's decimal digits. What is copied has lengths that are known when this is compiled.
pub(super) fn write(number: u64) -> Digits {
    /// Room for the most digits, in whole threes.
    const BYTES: usize = BASE10.max_len.next_multiple_of(3);
    let all = decimal_digits(number);
    let len = decimal_len(number);
    // From the first digit on, with zeros behind the last.
    let mut digits = [0; 2 * DECIMAL_LEN];
    if let Some(place) = digits.first_chunk_mut() {
        *place = all;
    }
    let first = digits.get(DECIMAL_LEN.wrapping_sub(len)..);
    let bytes: [u8; BYTES] = first
        .and_then(|first| first.first_chunk())
        .copied()
        .unwrap_or_default();

    let mut characters = [0; MAX_LEN];
    let (quads, _) = characters.as_chunks_mut();
    let (triples, _) = bytes.as_chunks();
    for (quad, &[a, b, c]) in quads.iter_mut().zip(triples) {
        let block = u32::from_be_bytes([0, a, b, c]);
        *quad = [18, 12, 6, 0].map(|shift| BASE64.digit((block >> shift & 63) as u8));
    }
    let written = len.wrapping_mul(4).div_ceil(3);
    let len = len.div_ceil(3).wrapping_mul(4);
    if let Some(padding) = characters.get_mut(written..len) {
        for place in padding {
            *place = PADDING;
        }
    }
    // What stands behind the end is cut off.
    let mut wide = [0; BUFFER_LEN.wrapping_add(MAX_LEN)];
    let start = BUFFER_LEN.wrapping_sub(len);
    if let Some(place) = wide
        .get_mut(start..)
        .and_then(|places| places.first_chunk_mut())
    {
        *place = characters;
    }
    Digits {
        buffer: *wide.first_chunk().unwrap_or(&[0; BUFFER_LEN]),
        start,
    }
}

/// [`read`] for a text that is plainly one: whole groups of four, and as much padding as there must be.
pub(super) fn read_plain(text: &[u8]) -> Option<u64> {
    if text.len() > MAX_LEN {
        return None;
    }
    let (quads, []) = text.as_chunks() else {
        return None;
    };
    let (last, quads) = quads.split_last()?;
    let mut digits = [0; MAX_LEN];
    let mut len: usize = 0;
    let mut places = digits.chunks_exact_mut(3);
    let mut put = |quad: [u8; 4]| {
        let values = quad.map(|byte| BASE64.value(byte));
        let block = values
            .iter()
            .fold(0_u32, |block, &value| block << 6 | u32::from(value));
        let [_, bytes @ ..] = block.to_be_bytes();
        places.next()?.copy_from_slice(&bytes);
        let is_foreign = values.iter().fold(0, |seen, value| seen | value) >= FOREIGN;
        (!is_foreign).then_some(bytes)
    };
    for &quad in quads {
        put(quad)?;
        len = len.wrapping_add(3);
    }
    // `A` stands for no bits, of which there are some before the padding.
    let [first, second, third, fourth] = *last;
    let (filled, padding) = match [third, fourth] {
        [PADDING, PADDING] => ([first, second, b'A', b'A'], 2),
        [_, PADDING] => ([first, second, third, b'A'], 1),
        _ => (*last, 0),
    };
    let bytes = put(filled)?;
    let unused = bytes.iter().rev().take(padding);
    if unused.fold(0, |seen, byte| seen | byte) != 0 {
        return None;
    }
    len = len.wrapping_add(3_usize.wrapping_sub(padding));
    fast::read_decimal(digits.get(..len)?)
}

/// The number whose digits a base64 text is of.
pub(super) fn read(text: &[u8]) -> Result<u64, DecodeError> {
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
            if byte == PADDING && index > 0 {
                break;
            }
            return Err(DecodeError::InvalidDigit { index, byte });
        }
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
    let number = decode(&BASE10, digits.get(..len).unwrap_or_default()).map_err(|problem| {
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
    let canonical = write(number);
    let mut both = text.iter().zip(canonical.as_bytes()).enumerate();
    match both.find(|(_, (given, right))| given != right) {
        Some((index, (&byte, _))) => Err(DecodeError::InvalidDigit { index, byte }),
        None if text.len() > canonical.len() => Err(DecodeError::TooLong { len: text.len() }),
        None if text.len() < canonical.len() => Err(DecodeError::Truncated),
        None => Ok(number),
    }
}
