//! `Id`, the public 64-bit id.

use core::fmt::{self, Display, Formatter};
use core::str::FromStr;

use crate::{Base, BaseError, DecodeError, Digits, Text, text};

/// Public 64-bit id, as users see it and databases store it.
///
/// It is shown as text (base32hex, 1 to 13 digits of `0-9a-v`) or as the `i64` that a database
/// `bigint` column stores; `u64` is the same bits. The order is that of the `i64`, so that a program
/// and its database sort alike. For encrypted layouts the order means nothing, by design.
///
/// ```
/// use randflake_core::Id;
///
/// let id: Id = "3vgoe12ccb8gh".parse()?;
/// assert_eq!(id.to_i64(), 4_594_531_474_933_654_033);
/// assert_eq!(id.to_string(), "3vgoe12ccb8gh");
/// # Ok::<(), randflake_core::DecodeError>(())
/// ```
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
// So that `bytemuck` may view a slice of ids as one of `i64`.
#[repr(transparent)]
pub struct Id(pub(crate) i64);

impl Id {
    /// Makes an id from a database `bigint`.
    #[must_use]
    #[inline]
    pub const fn from_i64(bits: i64) -> Self {
        Self(bits)
    }

    /// Makes an id from its bits as an unsigned number.
    #[must_use]
    #[inline]
    pub const fn from_u64(bits: u64) -> Self {
        // Kept as `i64`, so that the order is that of a database column.
        Self(bits.cast_signed())
    }

    /// The bits as a database `bigint`.
    #[must_use]
    #[inline]
    pub const fn to_i64(self) -> i64 {
        self.0
    }

    /// The bits as an unsigned number.
    #[must_use]
    #[inline]
    pub const fn to_u64(self) -> u64 {
        self.0.cast_unsigned()
    }

    /// The text form in a buffer on the stack; [`Display`] writes the same.
    #[must_use]
    #[inline]
    pub fn to_text(self) -> Text {
        Text::encode(self.to_u64())
    }

    /// Reads the text form, strictly: each id has exactly one.
    ///
    /// # Errors
    ///
    /// - [`Empty`](DecodeError::Empty), [`TooLong`](DecodeError::TooLong) for other than 1 to 13 bytes;
    /// - [`InvalidDigit`](DecodeError::InvalidDigit) for a byte other than `0-9a-v`, so for upper case
    ///   and padding too;
    /// - [`LeadingZero`](DecodeError::LeadingZero), unless the text is "0";
    /// - [`Overflow`](DecodeError::Overflow) for a number over 64 bits.
    ///
    /// ```
    /// use randflake_core::{DecodeError, Id};
    ///
    /// assert_eq!(Id::from_text(b"v")?, Id::from_u64(31));
    /// assert_eq!(Id::from_text(b"V"), Err(DecodeError::InvalidDigit { index: 0, byte: b'V' }));
    /// assert_eq!(Id::from_text(b"0v"), Err(DecodeError::LeadingZero));
    /// # Ok::<(), DecodeError>(())
    /// ```
    #[inline]
    pub fn from_text(text: &[u8]) -> Result<Self, DecodeError> {
        text::decode(text).map(Self::from_u64)
    }

    /// Formats the id in another base, in a buffer on the stack.
    #[must_use]
    pub fn to_base(self, base: Base) -> Digits {
        base.encode(self.to_u64())
    }

    /// Reads another text form, strictly: each id has exactly one in each base.
    ///
    /// # Errors
    ///
    /// [`BaseError`], with the same problems as for [`from_text`](Id::from_text), and
    /// [`Truncated`](DecodeError::Truncated) where base64 has too little padding.
    pub fn from_base(base: Base, text: &[u8]) -> Result<Self, BaseError> {
        base.decode(text).map(Self::from_u64)
    }

    /// Reads texts of the 1.x packages: either case, leading zeros, an end at the first `=`, the empty text as 0,
    /// and numbers over 64 bits modulo 2^64.
    ///
    /// Several texts decode to one id here: do not use it where a text is compared or is a key.
    ///
    /// # Errors
    ///
    /// [`InvalidDigit`](DecodeError::InvalidDigit) for any other byte.
    ///
    /// ```
    /// use randflake_core::Id;
    ///
    /// assert_eq!(Id::from_text_lenient(b"003VGOE12CCB8GH=")?, Id::from_text(b"3vgoe12ccb8gh")?);
    /// # Ok::<(), randflake_core::DecodeError>(())
    /// ```
    pub fn from_text_lenient(text: &[u8]) -> Result<Self, DecodeError> {
        // Kept apart from `FromStr`: code that compares or stores texts must not get here by accident.
        text::decode_lenient(text).map(Self::from_u64)
    }
}

impl From<i64> for Id {
    fn from(bits: i64) -> Self {
        Self::from_i64(bits)
    }
}

impl From<u64> for Id {
    fn from(bits: u64) -> Self {
        Self::from_u64(bits)
    }
}

impl From<Id> for i64 {
    fn from(id: Id) -> Self {
        id.to_i64()
    }
}

impl From<Id> for u64 {
    fn from(id: Id) -> Self {
        id.to_u64()
    }
}

impl FromStr for Id {
    type Err = DecodeError;

    /// Reads the base32hex text: see [`Id::from_text`].
    fn from_str(text: &str) -> Result<Self, DecodeError> {
        Self::from_text(text.as_bytes())
    }
}

impl Display for Id {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        // `pad` and not `write_str`, so that width and alignment apply: ids line up in tables.
        f.pad(self.to_text().as_str())
    }
}
