//! Base64 of the decimal digits of an id, as `bwmarrin/snowflake` defines its `Base64`.

use super::digits::BUFFER_LEN;
use super::{BASE10, BASE64, Digits, FOREIGN, decode, fast};
use crate::DecodeError;
use crate::decimal::{LEN as DECIMAL_LEN, decimal_digits, decimal_len};

/// Fills the last group of four characters.
const PADDING: u8 = b'=';
/// Longest text: three bytes become four characters.
pub(super) const MAX_LEN: usize = BASE10.max_len.div_ceil(3).wrapping_mul(4);

/// Digits per step: six bytes become eight characters.
const SIX: usize = 6;
/// Size of the output buffer, in whole steps of eight characters.
pub(super) const ROOM: usize = BASE10
    .max_len
    .next_multiple_of(SIX)
    .wrapping_div(SIX)
    .wrapping_mul(8);

/// Base64 of the decimal digits, left-aligned, and its length. All copies have constant lengths, so they are moves
/// and not calls of `memcpy`.
#[inline]
pub(super) fn characters(number: u64) -> ([u8; ROOM], usize) {
    let len = decimal_len(number);
    let digits = left_aligned(decimal_digits(number), len);
    let mut characters = [0; ROOM];
    let (places, _) = characters.as_chunks_mut();
    for (place, six) in places.iter_mut().zip(digits) {
        *place = eight(six);
    }
    let written = len.wrapping_mul(4).div_ceil(3);
    let len = len.div_ceil(3).wrapping_mul(4);
    for padded in [len.wrapping_sub(1), len.wrapping_sub(2)] {
        if padded >= written
            && let Some(place) = characters.get_mut(padded)
        {
            *place = PADDING;
        }
    }
    (characters, len)
}

/// Shifts the last `len` digits to the front and splits them into numbers of six bytes. In registers: a load that
/// follows narrower stores to the same bytes would stall.
#[inline]
fn left_aligned(digits: [u8; DECIMAL_LEN], len: usize) -> [u64; DECIMAL_LEN / SIX] {
    const MASK: u64 = (1 << 48) - 1;
    let words = digits.as_chunks::<8>().0;
    let word = |index: usize| words.get(index).map_or(0, |&word| u64::from_be_bytes(word));
    let (upper, lower) = (
        u128::from(word(0)) << 64 | u128::from(word(1)),
        u128::from(word(2)) << 64,
    );
    // 32 bits at least: there are 20 digits at most.
    #[expect(clippy::cast_possible_truncation, reason = "at most 184")]
    let bits = DECIMAL_LEN.wrapping_sub(len).wrapping_mul(8) as u32;
    let (upper, lower) = match bits.checked_sub(128) {
        None => {
            let carried = lower.checked_shr(128_u32.wrapping_sub(bits));
            (upper << bits | carried.unwrap_or_default(), lower << bits)
        }
        Some(bits) => (lower << bits, 0),
    };
    #[expect(
        clippy::cast_possible_truncation,
        reason = "the lower half is asked for"
    )]
    let (first, second, third) = ((upper >> 64) as u64, upper as u64, (lower >> 64) as u64);
    [
        first >> 16,
        (first << 32 | second >> 32) & MASK,
        (second << 16 | third >> 48) & MASK,
        third & MASK,
    ]
}

/// Encodes six ASCII digits or zeros at once: the bits are spread over eight bytes, and each byte becomes a letter
/// or digit. The base64 of digits contains no `+` or `/`.
#[inline]
fn eight(bits: u64) -> [u8; 8] {
    const ONES: u64 = u64::from_ne_bytes([1; 8]);
    // Halved three times, to 24, 12 and 6 bits.
    let halves = bits & 0xFF_FFFF | (bits & 0xFFFF_FF00_0000) << 8;
    let quarters = halves & 0x0000_0FFF_0000_0FFF | (halves & 0x00FF_F000_00FF_F000) << 4;
    let values = quarters & 0x003F_003F_003F_003F | (quarters & 0x0FC0_0FC0_0FC0_0FC0) << 2;
    // `A` to `Z` are 0 to 25, `a` to `z` follow, then the digits. Adding 0x80 - first sets the top bit of each byte
    // whose value is at least `first`.
    let from = |first: u8| {
        values.wrapping_add(u64::from_ne_bytes([0x80_u8.wrapping_sub(first); 8])) >> 7 & ONES
    };
    let letters = values.wrapping_add(ONES.wrapping_mul(b'A'.into()));
    let lower = from(26).wrapping_mul(u64::from(b'a' - b'Z' - 1));
    let digits = from(52).wrapping_mul(u64::from(b'z' - b'0' + 1));
    letters
        .wrapping_add(lower)
        .wrapping_sub(digits)
        .to_be_bytes()
}

/// [`characters`] as a string on the stack.
pub(super) fn write(number: u64) -> Digits {
    let (characters, len) = characters(number);
    let start = BUFFER_LEN.wrapping_sub(len);
    let mut buffer = [0; BUFFER_LEN];
    if let (Some(places), Some(characters)) = (buffer.get_mut(start..), characters.get(..len)) {
        places.copy_from_slice(characters);
    }
    Digits { buffer, start }
}

/// Fast path of [`read`]: accepts canonical texts, in whole groups of four. `None` sends the text to the slow path.
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
        // One comparison for four values: only a foreign byte has the highest bit.
        let is_foreign = values.iter().fold(0, |seen, value| seen | value) >= FOREIGN;
        (!is_foreign).then_some(bytes)
    };
    for &quad in quads {
        put(quad)?;
        len = len.wrapping_add(3);
    }
    // `A` is six zero bits: the padding decodes to bits that must be zero, which is checked below.
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

/// Slow path: decodes the base64 of decimal digits, or returns the precise error.
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
