//! `Id53`, an id that JavaScript and JSON hold as a number.

use core::cmp::Ordering;
use core::fmt::{self, Debug, Display, Formatter};
use core::hash::{Hash, Hasher};
use core::str::FromStr;

use crate::{Id, Kind, Typed};
pub use error::Id53Error;

mod error;

/// The kind of an [`Id53`] that is of no kind: its text has no prefix.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NoKind {}

impl Kind for NoKind {
    const NAME: &'static str = "Id53";
}

/// An id of at most 53 bits, as [`Randflake53`](crate::Randflake53) has: a number that JavaScript and JSON hold exactly.
///
/// Use it as the type of a field: `Id53`, or for a kind of ids what [`typed_id!`](crate::typed_id) declares. With `serde` it is a number in JSON, where
/// [`Id`] and [`Typed`] are text. A value over 2^53 - 1 is refused wherever one is made, so each of them is safe to send. A
/// generator's ids convert by `try_into`; those of `Randflake53` always fit.
///
/// Its text is that of an [`Id`] or [`Typed`] id with the same number: at most 11 digits, `7vvvvvvvvvv`.
///
/// ```
/// use randflake_core::{Id, Id53, Id53Error, typed_id};
///
/// let id = Id53::from_u64(9_007_199_254_740_991)?;
/// assert_eq!(id.to_string(), "7vvvvvvvvvv");
/// assert_eq!(
///     Id53::from_u64(9_007_199_254_740_992).unwrap_err().to_string(),
///     "id 9007199254740992 is out of range: 0 to 9007199254740991, 53 bits, are allowed"
/// );
///
/// struct User { id: UserId }
/// typed_id!(UserId = Id53<User>, "user");
/// let user = User { id: "user_7vvvvvvvvvv".parse()? };
/// assert_eq!(user.id.to_u64(), id.to_u64());
/// let narrow: Result<Id53, Id53Error> = Id::from_i64(-1).try_into();
/// assert_eq!(narrow, Err(Id53Error::Negative { number: -1 }));
/// # Ok::<(), Id53Error>(())
/// ```
#[repr(transparent)]
pub struct Id53<K = NoKind>(pub(crate) Typed<K>);

impl Id53 {
    /// Makes an id of a number.
    ///
    /// # Errors
    ///
    /// [`Id53Error::TooLarge`] for a number over [`MAX`](Id53::MAX).
    pub const fn from_u64(number: u64) -> Result<Self, Id53Error> {
        Self::of(number)
    }

    /// Converts to an id of the kind `K`, with the same number.
    #[must_use]
    pub const fn typed<K>(self) -> Id53<K> {
        Id53(Typed::from_u64(self.to_u64()))
    }
}

impl<K> Id53<K> {
    /// The largest number, 2^53 - 1: `Number.MAX_SAFE_INTEGER` in JavaScript.
    pub const MAX: u64 = (1 << 53) - 1;

    /// Not public: with a kind that is inferred, `Id53::from_u64` would be of none.
    const fn of(number: u64) -> Result<Self, Id53Error> {
        if number > Self::MAX {
            return Err(Id53Error::TooLarge { number });
        }
        Ok(Self(Typed::from_u64(number)))
    }

    /// The number, at most [`MAX`](Id53::MAX).
    #[must_use]
    #[inline]
    pub const fn to_u64(self) -> u64 {
        self.0.to_u64()
    }

    /// The number as a database's `bigint` holds it; never negative.
    #[must_use]
    #[inline]
    pub const fn to_i64(self) -> i64 {
        self.0.to_i64()
    }

    /// The same id among those of 64 bits, with its kind.
    #[must_use]
    #[inline]
    pub const fn wide(self) -> Typed<K> {
        self.0
    }

    /// The same id among those of 64 bits, without its kind.
    #[must_use]
    #[inline]
    pub const fn id(self) -> Id {
        self.0.id()
    }
}

impl<K> TryFrom<u64> for Id53<K> {
    type Error = Id53Error;

    /// Takes a number of at most 53 bits.
    fn try_from(number: u64) -> Result<Self, Id53Error> {
        Self::of(number)
    }
}

impl<K> TryFrom<i64> for Id53<K> {
    type Error = Id53Error;

    /// Takes what a database's `bigint` holds.
    fn try_from(number: i64) -> Result<Self, Id53Error> {
        match u64::try_from(number) {
            Ok(number) => Self::of(number),
            Err(_) => Err(Id53Error::Negative { number }),
        }
    }
}

impl<K> TryFrom<Id> for Id53<K> {
    type Error = Id53Error;

    /// Takes an id if it is one of 53 bits.
    fn try_from(id: Id) -> Result<Self, Id53Error> {
        Self::try_from(id.to_i64())
    }
}

impl<K> TryFrom<Typed<K>> for Id53<K> {
    type Error = Id53Error;

    /// Takes an id if it is one of 53 bits.
    fn try_from(id: Typed<K>) -> Result<Self, Id53Error> {
        Self::try_from(id.to_i64())
    }
}

impl<K> From<Id53<K>> for u64 {
    fn from(id: Id53<K>) -> Self {
        id.to_u64()
    }
}

impl<K> From<Id53<K>> for i64 {
    fn from(id: Id53<K>) -> Self {
        id.to_i64()
    }
}

impl<K> From<Id53<K>> for Id {
    /// Returns the id without its kind.
    fn from(id: Id53<K>) -> Self {
        id.id()
    }
}

impl<K> From<Id53<K>> for Typed<K> {
    /// Returns the id among those of 64 bits, as [`Id53::wide`] does.
    fn from(id: Id53<K>) -> Self {
        id.wide()
    }
}

impl<K: Kind> FromStr for Id53<K> {
    type Err = Id53Error;

    /// Reads the text form, strictly, as [`Typed`] does.
    fn from_str(text: &str) -> Result<Self, Id53Error> {
        Self::of(text.parse::<Typed<K>>()?.to_u64())
    }
}

impl<K: Kind> Display for Id53<K> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        Display::fmt(&self.0, f)
    }
}

/// The type and the text.
impl<K: Kind> Debug for Id53<K> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        write!(f, "{}({self})", K::NAME)
    }
}

// Written by hand: derived impls would require the same traits of `K`, which is only a marker.

impl<K> Clone for Id53<K> {
    #[inline]
    fn clone(&self) -> Self {
        *self
    }
}

impl<K> Copy for Id53<K> {}

impl<K> PartialEq for Id53<K> {
    #[inline]
    fn eq(&self, other: &Self) -> bool {
        self.0 == other.0
    }
}

impl<K> Eq for Id53<K> {}

impl<K> PartialOrd for Id53<K> {
    #[inline]
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl<K> Ord for Id53<K> {
    #[inline]
    fn cmp(&self, other: &Self) -> Ordering {
        self.0.cmp(&other.0)
    }
}

impl<K> Hash for Id53<K> {
    #[inline]
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.0.hash(state);
    }
}
