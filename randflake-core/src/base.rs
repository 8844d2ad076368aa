//! Other text forms of an id: one codec, a table for each base.
//!
//! They are those of `snowflake.go` in <https://github.com/bwmarrin/snowflake>, and base62. That one's
//! `Base64` is the base64 of the decimal digits, so it is the decimal form written once more.

use core::fmt::{self, Debug, Display, Formatter};
use core::ops::Deref;

use crate::DecodeError;

/// 64 digits of base 2.
const BUFFER_LEN: usize = 64;
/// What the last character of a base64 text is filled up with.
const PADDING: u8 = b'=';

/// A text form by its base. All are of the 64 bits as an unsigned number, most significant digit
/// first, without a leading zero.
///
/// For numbers under 2^63, which plain classic ids are, they are what `bwmarrin/snowflake` writes.
///
/// ```
/// use randflake_core::{Base, Id};
///
/// let id = Id::from_u64(749_172_199_921_140_349);
/// assert_eq!(id.to_base(Base::Base58).as_str(), "2JS2rjxmEG6");
/// assert_eq!(Id::from_base(Base::Base32, b"w3carsb6mou7"), Ok(id));
/// assert_eq!(
///     Id::from_base(Base::Base36, b"3W5E11264SGSG").unwrap_err().to_string(),
///     "'W' at position 1 is not a digit of base36: 0123456789abcdefghijklmnopqrstuvwxyz are"
/// );
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Base {
    /// `0` and `1`.
    Base2,
    /// `0-9`: what bwmarrin's `Bytes` are the ASCII of.
    Base10,
    /// bwmarrin's, the digits of z-base-32 in an order of its own: `ybndrfg8ejkmcpqxot1uwisza345h769`.
    /// The project's own base32hex is [`Id::to_text`](crate::Id::to_text).
    Base32,
    /// `0-9a-z`.
    Base36,
    /// bwmarrin's: `1-9a-zA-Z` without `0`, `l`, `I` and `O`, lower case first. Bitcoin's has upper case
    /// first.
    Base58,
    /// `0-9A-Za-z`, as in ASCII.
    Base62,
    /// The standard base64 ([RFC 4648](https://www.rfc-editor.org/rfc/rfc4648#section-4), padded) of the
    /// decimal digits.
    Base64,
}

/// The digits of a base, from 0 on, and the same the other way round.
struct Table {
    digits: &'static [u8],
    /// By character; [`FOREIGN`] where it is no digit.
    values: [u8; 256],
    /// Digits of 2^64 - 1.
    max_len: usize,
}

const FOREIGN: u8 = 0xFF;

impl Table {
    const fn new(digits: &'static [u8]) -> Self {
        let mut values = [FOREIGN; 256];
        let mut value: u8 = 0;
        while (value as usize) < digits.len() {
            values[digits[value as usize] as usize] = value;
            value = value.wrapping_add(1);
        }
        let mut max_len: usize = 0;
        let mut left = u64::MAX;
        while left > 0 {
            left = match left.checked_div(digits.len() as u64) {
                Some(left) => left,
                None => 0,
            };
            max_len = max_len.wrapping_add(1);
        }
        Self {
            digits,
            values,
            max_len,
        }
    }

    fn value(&self, byte: u8) -> u8 {
        self.values[usize::from(byte)]
    }
}

static BASE2: Table = Table::new(b"01");
static BASE10: Table = Table::new(b"0123456789");
static BASE32: Table = Table::new(b"ybndrfg8ejkmcpqxot1uwisza345h769");
static BASE36: Table = Table::new(b"0123456789abcdefghijklmnopqrstuvwxyz");
static BASE58: Table = Table::new(b"123456789abcdefghijkmnopqrstuvwxyzABCDEFGHJKLMNPQRSTUVWXYZ");
static BASE62: Table =
    Table::new(b"0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz");
/// Of bytes, not of the number: its `max_len` has no meaning.
static BASE64: Table =
    Table::new(b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/");

impl Base {
    const fn table(self) -> &'static Table {
        match self {
            Self::Base2 => &BASE2,
            Self::Base10 => &BASE10,
            Self::Base32 => &BASE32,
            Self::Base36 => &BASE36,
            Self::Base58 => &BASE58,
            Self::Base62 => &BASE62,
            Self::Base64 => &BASE64,
        }
    }

    /// The most characters that an id has in it: 11 for base 58 and 62, up to 64 for base 2.
    #[must_use]
    pub const fn max_len(self) -> usize {
        match self {
            // Three bytes are four characters.
            Self::Base64 => BASE10.max_len.div_ceil(3).wrapping_mul(4),
            _ => self.table().max_len,
        }
    }

    pub(crate) fn encode(self, bits: u64) -> Digits {
        match self {
            Self::Base64 => write_base64(&encode(&BASE10, bits)),
            _ => encode(self.table(), bits),
        }
    }

    pub(crate) fn decode(self, text: &[u8]) -> Result<u64, BaseError> {
        let decoded = match self {
            Self::Base64 => read_base64(text),
            _ => decode(self.table(), text),
        };
        decoded.map_err(|problem| BaseError {
            base: self,
            problem,
        })
    }
}

/// `base2`, `base10` and so on.
impl Display for Base {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Base2 => "base2",
            Self::Base10 => "base10",
            Self::Base32 => "base32",
            Self::Base36 => "base36",
            Self::Base58 => "base58",
            Self::Base62 => "base62",
            Self::Base64 => "base64",
        })
    }
}

fn encode(table: &Table, bits: u64) -> Digits {
    let radix = table.digits.len() as u64;
    let mut buffer = [0; BUFFER_LEN];
    let mut start = BUFFER_LEN;
    let mut left = bits;
    for place in buffer.iter_mut().rev() {
        // The remainder is below the number of digits.
        let digit = usize::try_from(left.checked_rem(radix).unwrap_or(0)).unwrap_or(0);
        *place = table.digits.get(digit).copied().unwrap_or_default();
        start = start.wrapping_sub(1);
        left = left.checked_div(radix).unwrap_or(0);
        if left == 0 {
            break;
        }
    }
    Digits { buffer, start }
}

fn decode(table: &Table, text: &[u8]) -> Result<u64, DecodeError> {
    if text.len() > table.max_len {
        return Err(DecodeError::TooLong { len: text.len() });
    }
    let mut bits: u64 = 0;
    let mut fits = true;
    for (index, &byte) in text.iter().enumerate() {
        let value = table.value(byte);
        if value == FOREIGN {
            return Err(DecodeError::InvalidDigit { index, byte });
        }
        let next = bits
            .checked_mul(table.digits.len() as u64)
            .and_then(|bits| bits.checked_add(value.into()));
        // A foreign character further on is the clearer error.
        fits &= next.is_some();
        bits = next.unwrap_or(0);
    }
    match text {
        [] => Err(DecodeError::Empty),
        [first, _, ..] if table.value(*first) == 0 => Err(DecodeError::LeadingZero),
        _ if !fits => Err(DecodeError::Overflow),
        _ => Ok(bits),
    }
}

/// Base64 of some digits.
fn write_base64(digits: &Digits) -> Digits {
    let mut buffer = [0; BUFFER_LEN];
    let mut len: usize = 0;
    for (bytes, quad) in digits.as_bytes().chunks(3).zip(buffer.chunks_exact_mut(4)) {
        let mut block = [0; 4];
        for (place, byte) in block.iter_mut().skip(1).zip(bytes) {
            *place = *byte;
        }
        let mut lanes = u32::from_be_bytes(block).wrapping_shl(8);
        for (index, place) in quad.iter_mut().enumerate() {
            let value = lanes.wrapping_shr(26) as usize;
            let character = BASE64.digits.get(value).copied().unwrap_or_default();
            *place = if index > bytes.len() {
                PADDING
            } else {
                character
            };
            lanes = lanes.wrapping_shl(6);
        }
        len = len.wrapping_add(4);
    }
    buffer.rotate_left(len);
    Digits {
        buffer,
        start: BUFFER_LEN.wrapping_sub(len),
    }
}

/// The number whose digits a base64 text is of.
fn read_base64(text: &[u8]) -> Result<u64, DecodeError> {
    if text.len() > Base::Base64.max_len() {
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
    let canonical = write_base64(&encode(&BASE10, number));
    let mut both = text.iter().zip(canonical.as_bytes()).enumerate();
    match both.find(|(_, (given, right))| given != right) {
        Some((index, (&byte, _))) => Err(DecodeError::InvalidDigit { index, byte }),
        None if text.len() > canonical.len() => Err(DecodeError::TooLong { len: text.len() }),
        None if text.len() < canonical.len() => Err(DecodeError::Truncated),
        None => Ok(number),
    }
}

/// An id's text in a [`Base`]: a buffer on the stack that reads as a `str` of 1 to 64 ASCII characters.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct Digits {
    buffer: [u8; BUFFER_LEN],
    /// Where the first digit stands: 0 to 63.
    start: usize,
}

impl Digits {
    // In both readers the defaults are never taken.

    /// The text as ASCII bytes.
    #[must_use]
    pub fn as_bytes(&self) -> &[u8] {
        self.buffer.get(self.start..).unwrap_or_default()
    }

    /// The text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        core::str::from_utf8(self.as_bytes()).unwrap_or_default()
    }
}

impl Deref for Digits {
    type Target = str;

    fn deref(&self) -> &str {
        self.as_str()
    }
}

impl AsRef<str> for Digits {
    fn as_ref(&self) -> &str {
        self
    }
}

impl Display for Digits {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.pad(self)
    }
}

impl Debug for Digits {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        Debug::fmt(self.as_str(), f)
    }
}

/// Why a text is no id in a base.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BaseError {
    /// The base.
    pub base: Base,
    /// What is wrong.
    pub problem: DecodeError,
}

impl Display for BaseError {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let Self { base, problem } = self;
        let digits = core::str::from_utf8(base.table().digits).unwrap_or_default();
        let most = base.max_len();
        match problem {
            DecodeError::Empty => write!(
                f,
                "the text is empty: 1 to {most} digits of {base}, {digits}, are allowed"
            ),
            DecodeError::TooLong { len } => write!(
                f,
                "the text has {len} characters: at most {most} are allowed in {base}"
            ),
            DecodeError::LeadingZero => write!(
                f,
                "the text has a leading zero, which is not allowed in {base}"
            ),
            DecodeError::InvalidDigit { index, byte } => {
                let shown = char::from(*byte).escape_default();
                write!(f, "'{shown}' at position {index} ")?;
                match base {
                    Base::Base64 => {
                        f.write_str("does not belong to the base64 of a decimal number")
                    }
                    _ => write!(f, "is not a digit of {base}: {digits} are"),
                }
            }
            DecodeError::Overflow => write!(
                f,
                "the number is over 64 bits: at most {} is allowed in {base}",
                base.encode(u64::MAX)
            ),
            DecodeError::Truncated => {
                write!(f, "the text's end is missing: {base} is padded with '='")
            }
        }
    }
}

impl core::error::Error for BaseError {}
