//! Text forms of ids other than base32hex: one codec, with a table for each base.
//!
//! They are those of `snowflake.go` in <https://github.com/bwmarrin/snowflake>, plus base62. Its
//! `Base64` encodes the decimal digits, not the number.

use core::fmt::{self, Debug, Display, Formatter};
use core::ops::Deref;

use crate::DecodeError;
use crate::error::write_byte;

/// A text form, named by its base: the 64 bits as an unsigned number, most significant digit first,
/// without leading zeros.
///
/// For numbers below 2^63, which plain Snowflake ids are, the texts are those of
/// `bwmarrin/snowflake`.
///
/// ```
/// use randflake_core::{Base, Id};
///
/// let id = Id::from_u64(749_172_199_921_140_349);
/// assert_eq!(id.to_base(Base::Base58).as_str(), "2JS2rjxmEG6");
/// assert_eq!(Id::from_base(Base::Base32, b"w3carsb6mou7"), Ok(id));
/// assert_eq!(
///     Id::from_base(Base::Base36, b"3W5E11264SGSG").unwrap_err().to_string(),
///     "'W', character 2, is not a digit of base36: 0123456789abcdefghijklmnopqrstuvwxyz are"
/// );
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
#[non_exhaustive]
pub enum Base {
    /// Binary: the digits `0` and `1`.
    Base2,
    /// Decimal: `0-9`. The `Bytes` of `bwmarrin/snowflake` are these digits in ASCII.
    Base10,
    /// Base 32 of `bwmarrin/snowflake`: `ybndrfg8ejkmcpqxot1uwisza345h769`, the digits of z-base-32
    /// in another order. The base32hex of this project is [`Id::to_text`](crate::Id::to_text).
    Base32,
    /// Base 36: `0-9a-z`, lower case.
    Base36,
    /// Base 58 of `bwmarrin/snowflake`: `1-9a-zA-Z` without `0`, `l`, `I` and `O`. Lower case comes
    /// first, where Bitcoin has upper case first.
    Base58,
    /// Base 62: `0-9A-Za-z`, in ASCII order.
    Base62,
    /// Standard padded base64 ([RFC 4648](https://www.rfc-editor.org/rfc/rfc4648#section-4)) of the
    /// decimal digits.
    Base64,
}

/// Digits of a base, and the inverse mapping.
struct Table {
    digits: &'static [u8],
    /// Value of each byte; [`FOREIGN`] if it is not a digit.
    values: [u8; 256],
    /// Number of digits of 2^64 - 1.
    max_len: usize,
}

/// Marks a byte that is not a digit; above all values.
const FOREIGN: u8 = 0x80;

impl Table {
    const fn new(digits: &'static [u8]) -> Self {
        let mut values = [FOREIGN; 256];
        let mut value: u8 = 0;
        while (value as usize) < digits.len() {
            values[digits[value as usize] as usize] = value;
            value = value.wrapping_add(1);
        }
        let max_len = u64::MAX.ilog(digits.len() as u64).wrapping_add(1) as usize;
        Self {
            digits,
            values,
            max_len,
        }
    }

    const fn radix(&self) -> u64 {
        self.digits.len() as u64
    }

    /// The digit of a number below the radix.
    fn digit(&self, number: u64) -> u8 {
        let index = usize::try_from(number).unwrap_or(usize::MAX);
        self.digits.get(index).copied().unwrap_or_default()
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
/// Encodes bytes, not a number: its `max_len` has no meaning.
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

    /// Length of the longest id: 11 for base 58 and 62, up to 64 for base 2.
    #[must_use]
    pub const fn max_len(self) -> usize {
        match self {
            Self::Base64 => BASE64_MAX_LEN,
            _ => self.table().max_len,
        }
    }

    pub(crate) fn encode(self, bits: u64) -> Digits {
        match self {
            Self::Base64 => encode_base64(bits),
            _ => encode(self.table(), bits),
        }
    }

    pub(crate) fn decode(self, text: &[u8]) -> Result<u64, BaseError> {
        let decoded = match self {
            Self::Base64 => decode_base64(text),
            _ => decode(self.table(), text),
        };
        decoded.map_err(|problem| BaseError {
            base: self,
            problem,
        })
    }
}

/// Writes `base2`, `base10` and so on.
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

/// Divides again and again: the remainders are the digits, the last one first.
fn encode(table: &Table, bits: u64) -> Digits {
    let mut buffer = [0; BUFFER_LEN];
    let mut start = BUFFER_LEN;
    let mut left = bits;
    for place in buffer.iter_mut().rev() {
        // No radix is 0; checked division leaves no panic in the code.
        let remainder = left.checked_rem(table.radix()).unwrap_or_default();
        left = left.checked_div(table.radix()).unwrap_or_default();
        *place = table.digit(remainder);
        start = start.wrapping_sub(1);
        // At the end of the loop, as 0 has one digit.
        if left == 0 {
            break;
        }
    }
    Digits { buffer, start }
}

fn decode(table: &Table, text: &[u8]) -> Result<u64, DecodeError> {
    // Before the loop, so that an endless text is not read.
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
            .checked_mul(table.radix())
            .and_then(|bits| bits.checked_add(value.into()));
        // Not returned yet: a foreign character further on is the clearer error.
        fits &= next.is_some();
        // Not used after an overflow; 0 keeps the rest of the loop from overflowing again.
        bits = next.unwrap_or(0);
    }
    match text {
        [] => Err(DecodeError::Empty),
        [first, _, ..] if table.value(*first) == 0 => Err(DecodeError::LeadingZero),
        _ if !fits => Err(DecodeError::Overflow),
        _ => Ok(bits),
    }
}

/// Why a text could not be decoded to an id in a base.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub struct BaseError {
    /// Base that the text was read in.
    pub base: Base,
    /// First problem found in the text.
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
                write_byte(f, *byte, *index)?;
                match base {
                    Base::Base64 => {
                        f.write_str(" does not belong to the base64 of a decimal number")
                    }
                    _ => write!(f, " is not a digit of {base}: {digits} are"),
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

/// Room for the longest text: 64 digits of base 2.
const BUFFER_LEN: usize = 64;

/// Text of an id in a [`Base`](crate::Base), in a buffer on the stack: derefs to a `str` of 1 to 64
/// ASCII characters.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct Digits {
    buffer: [u8; BUFFER_LEN],
    /// Index of the first digit: 0 to 63.
    start: usize,
}

impl Digits {
    // `start` is below 64 and all bytes are ASCII: the defaults are never taken, and no panic is
    // compiled in.

    /// The text as ASCII bytes.
    #[must_use]
    pub fn as_bytes(&self) -> &[u8] {
        self.buffer.get(self.start..).unwrap_or_default()
    }

    /// The text as a string slice.
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

// Base64 of the decimal digits of an id, as `bwmarrin/snowflake` defines its `Base64`.

/// Fills the last group of four characters.
const PADDING: u8 = b'=';

/// Longest text: three bytes become four characters.
const BASE64_MAX_LEN: usize = BASE10.max_len.div_ceil(3).wrapping_mul(4);

/// Encodes a number: its decimal digits, three at a time, become four characters.
fn encode_base64(number: u64) -> Digits {
    let decimal = encode(&BASE10, number);
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
fn decode_base64(text: &[u8]) -> Result<u64, DecodeError> {
    // Bounds the decoded bytes as well, so `places` below never runs out.
    if text.len() > BASE64_MAX_LEN {
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
    let number = decode(&BASE10, digits.get(..len).unwrap_or_default()).map_err(|problem| {
        match problem {
            // A digit's byte ends in the character after the one in which it begins.
            DecodeError::InvalidDigit { index, .. } => {
                let index = index.wrapping_mul(4).wrapping_div(3);
                let byte = text.get(index).copied().unwrap_or_default();
                DecodeError::InvalidDigit { index, byte }
            }
            problem => problem,
        }
    })?;
    // One number has one text: what else there is (bits after the last byte, missing or further
    // padding) is found by writing it again.
    let canonical = encode_base64(number);
    let mut both = text.iter().zip(canonical.as_bytes()).enumerate();
    match both.find(|(_, (given, right))| given != right) {
        Some((index, (&byte, _))) => Err(DecodeError::InvalidDigit { index, byte }),
        None if text.len() > canonical.len() => Err(DecodeError::TooLong { len: text.len() }),
        None if text.len() < canonical.len() => Err(DecodeError::Truncated),
        None => Ok(number),
    }
}
