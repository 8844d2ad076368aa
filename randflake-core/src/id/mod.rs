//! `Id`, the public 64-bit id, and its kinds.

mod kind;

use core::cmp::Ordering;
use core::fmt::{self, Debug, Display, Formatter};
use core::hash::{Hash, Hasher};
use core::marker::PhantomData;
use core::str::FromStr;

use crate::{Base, BaseError, DecodeError, Digits, Text, text};

use kind::MAX_PREFIX_LEN;
pub use kind::{Any, Any53, Bits53, Bits64, Kind, StoredPlain, StoredRaw, Width};

/// Public 64-bit id, as users see it and databases store it. One word.
///
/// It is shown as text (base32hex, 1 to 13 digits of `0-9a-v`) or as the `i64` that a database
/// `bigint` column stores; `u64` is the same bits. The order is that of the `i64`, so that a
/// program and its database sort alike. For encrypted layouts the order means nothing, by design.
///
/// ```
/// use randflake_core::{Id, IdError};
///
/// let id: Id = "3vgoe12ccb8gh".parse()?;
/// assert_eq!(id.to_i64(), 4_594_531_474_933_654_033);
/// assert_eq!(id.to_string(), "3vgoe12ccb8gh");
/// # Ok::<(), IdError>(())
/// ```
///
/// # Kinds
///
/// `Id` alone is `Id<Any>`, an id of no kind. An `Id<User>` is that of a user, a different type
/// from an order's: declare one with [`typed_id!`](crate::typed_id). A generator's id becomes one
/// by [`typed`](Id::typed); [`untyped`](Id::untyped) is the way back. All
/// [integrations](crate#features) take ids of each kind.
///
/// The text form is that of the untyped id, after the prefix of the kind and `_`. It is read
/// strictly: each id has exactly one, and that of another kind is refused.
///
/// ```
/// use randflake_core::{Id, typed_id};
///
/// struct User { id: UserId }
/// typed_id!(UserId = Id<User>, "user");
///
/// let user = User { id: Id::from_i64(4_594_531_474_933_654_033).typed() };
/// assert_eq!(user.id.to_string(), "user_3vgoe12ccb8gh");
/// assert_eq!("user_3vgoe12ccb8gh".parse(), Ok(user.id));
///
/// let error = "order_3vgoe12ccb8gh".parse::<UserId>().unwrap_err();
/// assert_eq!(error.to_string(), r#"the id has the prefix "order": "user" is required"#);
/// ```
// So that `bytemuck` may view a slice of ids as one of `i64`.
#[repr(transparent)]
pub struct Id<K = Any> {
    pub(crate) bits: i64,
    /// Neither owns nor borrows a `K`: the id is `Send`, `Sync` and `Copy` for each.
    kind: PhantomData<fn() -> K>,
}

/// An id of at most 53 bits, as [`Randflake53`](crate::Randflake53) has: a number that JavaScript
/// and JSON hold exactly.
///
/// With `serde` it is a number in JSON, where other ids are text. A value over 2^53 - 1 is refused
/// wherever one is made, so each of them is safe to send. A generator's ids convert by
/// [`try_typed`](Id::try_typed); those of `Randflake53` always fit. [`typed_id!`](crate::typed_id)
/// declares kinds of such ids.
///
/// The text form is that of an [`Id`] with the same number: at most 11 digits, `7vvvvvvvvvv`.
///
/// ```
/// use randflake_core::{Id, Id53, IdError, typed_id};
///
/// let id: Id53 = Id::from_u64(9_007_199_254_740_991).try_typed()?;
/// assert_eq!(id.to_string(), "7vvvvvvvvvv");
///
/// struct User { id: UserId }
/// typed_id!(UserId = Id53<User>, "user");
/// let user = User { id: "user_7vvvvvvvvvv".parse()? };
/// assert_eq!(user.id.untyped(), id.untyped());
///
/// assert_eq!(
///     Id::from_u64(9_007_199_254_740_992).try_typed::<User>().unwrap_err().to_string(),
///     "id 9007199254740992 is out of range: 0 to 9007199254740991, 53 bits, are allowed"
/// );
/// # Ok::<(), IdError>(())
/// ```
pub type Id53 = Id<Any53>;

// Of ids without a kind alone: with a kind that is inferred, the type of `Id::from_u64(31)` would
// be unknown.
impl Id {
    /// Makes an id from a database `bigint`.
    #[must_use]
    #[inline]
    pub const fn from_i64(bits: i64) -> Self {
        Self::new(bits)
    }

    /// Makes an id from its bits as an unsigned number.
    #[must_use]
    #[inline]
    pub const fn from_u64(bits: u64) -> Self {
        // Kept as `i64`, so that the order is that of a database column.
        Self::new(bits.cast_signed())
    }

    /// Converts to an id of the kind `K`, with the same bits.
    ///
    /// ```
    /// # use randflake_core::{Id, typed_id};
    /// # struct User;
    /// # typed_id!(UserId = Id<User>, "user");
    /// let user: UserId = Id::from_u64(31).typed();
    /// assert_eq!(user.untyped(), Id::from_u64(31));
    /// ```
    #[must_use]
    #[inline]
    pub const fn typed<K: Kind<Width = Bits64>>(self) -> Id<K> {
        Id::new(self.bits)
    }

    /// Converts to an id of the kind `K`, if its ids have so many bits: see [`Id53`].
    ///
    /// # Errors
    ///
    /// [`IdError::TooLarge`] and [`IdError::Negative`], if `K` is a kind of ids of 53 bits.
    #[inline]
    pub const fn try_typed<K: Kind>(self) -> Result<Id<K>, IdError> {
        match Id::of_number(self.to_u64()) {
            Err(_) if self.bits < 0 => Err(IdError::Negative { number: self.bits }),
            result => result,
        }
    }

    /// Reads the text form, strictly: each id has exactly one.
    ///
    /// # Errors
    ///
    /// - [`Empty`](DecodeError::Empty), [`TooLong`](DecodeError::TooLong) for other than 1 to 13
    ///   bytes;
    /// - [`InvalidDigit`](DecodeError::InvalidDigit) for a byte other than `0-9a-v`, so for upper
    ///   case and padding too;
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

    /// The text form in a buffer on the stack; [`Display`] writes the same.
    #[must_use]
    #[inline]
    pub fn to_text(self) -> Text {
        Text::encode(self.to_u64())
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

    /// Reads texts of the 1.x packages: either case, leading zeros, an end at the first `=`, the
    /// empty text as 0, and numbers over 64 bits modulo 2^64.
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
        // Kept apart from `FromStr`: code that compares or stores texts must not get here by
        // accident.
        text::decode_lenient(text).map(Self::from_u64)
    }
}

impl<K> Id<K> {
    /// Not public: a kind may have ids of 53 bits only.
    pub(crate) const fn new(bits: i64) -> Self {
        Self {
            bits,
            kind: PhantomData,
        }
    }

    /// The id without its kind.
    #[must_use]
    #[inline]
    pub const fn untyped(self) -> Id {
        Id::new(self.bits)
    }

    /// The bits as a database `bigint`.
    #[must_use]
    #[inline]
    pub const fn to_i64(self) -> i64 {
        self.bits
    }

    /// The bits as an unsigned number.
    #[must_use]
    #[inline]
    pub const fn to_u64(self) -> u64 {
        self.bits.cast_unsigned()
    }
}

impl<K: Kind> Id<K> {
    /// The largest number of an id of this kind. Of [`Id53`] it is 2^53 - 1,
    /// `Number.MAX_SAFE_INTEGER` in JavaScript.
    pub const MAX: u64 = K::Width::MAX;

    /// Whether JSON has ids of this kind as numbers, and not as text.
    pub const IS_NUMBER: bool = Self::MAX < u64::MAX;

    /// Fails to compile if the prefix is invalid.
    #[doc(hidden)]
    pub const PREFIX_IS_VALID: () = assert!(
        kind::is_valid_prefix(K::PREFIX),
        "the prefix of an id has at most 32 characters of a-z, 0-9 and _, the first a letter, the last not _"
    );

    /// Shown in schemas and errors.
    #[cfg(any(
        feature = "redis",
        feature = "schemars",
        feature = "serde",
        feature = "utoipa"
    ))]
    pub(crate) const EXAMPLE: Self = Self::new(if Self::IS_NUMBER {
        5_894_197_889_380_909
    } else {
        4_594_531_474_933_654_033
    });

    /// Makes an id of a number in the range of the kind.
    pub(crate) const fn of_number(number: u64) -> Result<Self, IdError> {
        if number > Self::MAX {
            return Err(IdError::TooLarge { number });
        }
        Ok(Self::new(number.cast_signed()))
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

impl<K> From<Id<K>> for i64 {
    fn from(id: Id<K>) -> Self {
        id.to_i64()
    }
}

impl<K> From<Id<K>> for u64 {
    fn from(id: Id<K>) -> Self {
        id.to_u64()
    }
}

impl<K: Kind> FromStr for Id<K> {
    type Err = IdError;

    /// Reads the text form, strictly: the prefix of the kind, `_`, and digits as [`Id::from_text`]
    /// reads them.
    fn from_str(text: &str) -> Result<Self, IdError> {
        // Also here, for kinds that were not declared by `typed_id!`.
        let () = Self::PREFIX_IS_VALID;
        let id = if K::NAMES_FOREIGN_PREFIX || !K::PREFIX.is_empty() {
            kind::parse(K::PREFIX, text)?
        } else {
            Id::from_text(text.as_bytes())?
        };
        Self::of_number(id.to_u64())
    }
}

impl<K: Kind> Display for Id<K> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let () = Self::PREFIX_IS_VALID;
        kind::write(K::PREFIX, self.untyped(), f)
    }
}

/// The type and the text: the raw id does not get into logs.
impl<K: Kind> Debug for Id<K> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        write!(f, "{}({self})", K::NAME)
    }
}

// Written by hand: derived impls would require the same traits of `K`, which is only a marker.

impl<K> Clone for Id<K> {
    #[inline]
    fn clone(&self) -> Self {
        *self
    }
}

impl<K> Copy for Id<K> {}

impl<K> PartialEq for Id<K> {
    #[inline]
    fn eq(&self, other: &Self) -> bool {
        self.bits == other.bits
    }
}

impl<K> Eq for Id<K> {}

impl<K> PartialOrd for Id<K> {
    #[inline]
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl<K> Ord for Id<K> {
    #[inline]
    fn cmp(&self, other: &Self) -> Ordering {
        self.bits.cmp(&other.bits)
    }
}

impl<K> Hash for Id<K> {
    #[inline]
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.bits.hash(state);
    }
}

/// Error of making an id of a kind.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
#[non_exhaustive]
pub enum IdError {
    /// The prefix is missing, or is that of another kind.
    Prefix {
        /// Prefix of the kind; empty if it has none.
        expected: &'static str,
        /// Prefix that was found: the first 32 bytes before the last `_`, padded with zeros; all
        /// zeros without `_`.
        found: [u8; MAX_PREFIX_LEN],
    },
    /// The text, without its prefix, is not an id.
    Digits(DecodeError),
    /// The number is over 2^53 - 1, and JavaScript would round it: the kind has [ids of 53
    /// bits](crate::Id53).
    TooLarge {
        /// Number that was given.
        number: u64,
    },
    /// The number is negative: the kind has [ids of 53 bits](crate::Id53).
    Negative {
        /// Number that was given.
        number: i64,
    },
    /// [`StoredPlain::cipher`](crate::StoredPlain::cipher) returned `None`: the program has not set
    /// the cipher yet.
    CipherMissing {
        /// The name of the id's type.
        name: &'static str,
    },
}

impl IdError {
    fn prefix(expected: &'static str, found: &str) -> Self {
        // Copied, as errors here are `Copy` and hold no reference to the input.
        let mut bytes = [0; MAX_PREFIX_LEN];
        for (to, from) in bytes.iter_mut().zip(found.bytes()) {
            *to = from;
        }
        Self::Prefix {
            expected,
            found: bytes,
        }
    }
}

impl From<DecodeError> for IdError {
    fn from(error: DecodeError) -> Self {
        Self::Digits(error)
    }
}

impl Display for IdError {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match self {
            Self::Prefix { expected, found } => write_prefix(f, expected, found),
            Self::Digits(error) => Display::fmt(error, f),
            Self::TooLarge { number } => write_out_of_range(f, number),
            Self::Negative { number } => write_out_of_range(f, number),
            Self::CipherMissing { name } => write!(
                f,
                "the cipher of {name} is missing: set it before ids are read or written"
            ),
        }
    }
}

fn write_prefix(f: &mut Formatter<'_>, expected: &str, found: &[u8]) -> fmt::Result {
    // Zeros fill the buffer behind the prefix that was found.
    let end = found.iter().rposition(|byte| *byte != 0);
    let found = end.and_then(|end| found.get(..=end)).unwrap_or_default();
    match (expected, found) {
        ("", found) => write!(
            f,
            "the id has the prefix \"{}\": none is allowed",
            found.escape_ascii()
        ),
        (expected, []) => write!(f, "the id has no prefix: \"{expected}_\" is required"),
        (expected, found) => write!(
            f,
            "the id has the prefix \"{}\": \"{expected}\" is required",
            found.escape_ascii()
        ),
    }
}

fn write_out_of_range(f: &mut Formatter<'_>, number: impl Display) -> fmt::Result {
    let max = Id53::MAX;
    write!(
        f,
        "id {number} is out of range: 0 to {max}, 53 bits, are allowed"
    )
}

impl core::error::Error for IdError {
    fn source(&self) -> Option<&(dyn core::error::Error + 'static)> {
        match self {
            Self::Digits(error) => error.source(),
            Self::Prefix { .. }
            | Self::TooLarge { .. }
            | Self::Negative { .. }
            | Self::CipherMissing { .. } => None,
        }
    }
}
