//! `TagKey`, which makes and checks tags, and the numbers of such keys.

use core::fmt::{self, Debug, Display, Formatter};
use core::hint::black_box;
use core::num::NonZeroU8;
use core::str::FromStr;

use super::{TAG_BITS, TaggedUuid};
use crate::{Id, Sparx64};

/// Number of a key of tagged UUIDs, from 1 to 63. A namespace begins with 1, as a rule, and each
/// rotation takes the next one.
///
/// ```
/// use randflake_core::KeyNumber;
///
/// let number = KeyNumber::new(62)?;
/// assert_eq!(number.next().map(KeyNumber::get), Some(63));
/// assert_eq!(KeyNumber::MAX.next(), None);
/// assert_eq!("62".parse(), Ok(number));
/// assert_eq!(
///     KeyNumber::new(64).unwrap_err().to_string(),
///     "key number 64 is out of range: 1 to 63 are allowed"
/// );
/// # Ok::<(), randflake_core::KeyNumberError>(())
/// ```
// Never 0: those six bits are zero in the UUID of an id without a tag.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub struct KeyNumber(NonZeroU8);

impl KeyNumber {
    /// The first key number, 1.
    pub const MIN: Self = Self(NonZeroU8::MIN);

    /// The last key number, 63.
    pub const MAX: Self = match NonZeroU8::new(63) {
        Some(number) => Self(number),
        None => Self::MIN,
    };

    /// Takes a number.
    ///
    /// # Errors
    ///
    /// [`KeyNumberError::OutOfRange`] for 0 and for numbers over 63.
    pub const fn new(number: u8) -> Result<Self, KeyNumberError> {
        match NonZeroU8::new(number) {
            Some(checked) if number <= Self::MAX.get() => Ok(Self(checked)),
            _ => Err(KeyNumberError::OutOfRange { number }),
        }
    }

    /// The number, from 1 to 63.
    #[must_use]
    pub const fn get(self) -> u8 {
        self.0.get()
    }

    /// The key number after this one; `None` after the last.
    #[must_use]
    pub const fn next(self) -> Option<Self> {
        match Self::new(self.get().saturating_add(1)) {
            Ok(next) => Some(next),
            Err(_) => None,
        }
    }
}

impl TryFrom<u8> for KeyNumber {
    type Error = KeyNumberError;

    /// As [`KeyNumber::new`].
    fn try_from(number: u8) -> Result<Self, KeyNumberError> {
        Self::new(number)
    }
}

impl From<KeyNumber> for u8 {
    fn from(number: KeyNumber) -> Self {
        number.get()
    }
}

impl FromStr for KeyNumber {
    type Err = KeyNumberError;

    /// Reads one or two decimal digits, without a sign or a leading zero.
    fn from_str(text: &str) -> Result<Self, KeyNumberError> {
        match text.as_bytes() {
            // The parser of the standard library takes signs and zeros before the number.
            [b'0'..=b'9'] | [b'1'..=b'9', b'0'..=b'9'] => {
                Self::new(text.parse().map_err(|_| KeyNumberError::Text)?)
            }
            _ => Err(KeyNumberError::Text),
        }
    }
}

impl Display for KeyNumber {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        Display::fmt(&self.0, f)
    }
}

/// The type and the number.
impl Debug for KeyNumber {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        write!(f, "KeyNumber({self})")
    }
}

/// A key that makes tagged UUIDs of ids and checks them.
///
/// The tag is the upper 52 bits of one SPARX-64/128 block, the id's, under a key of its own:
/// **never that of the ids**, because a block under it would be an id. `randflake-std` derives it
/// from the secret, the key number and the namespace's name (`Secret::tag_key`).
///
/// A tag says that a holder of the key made the UUID, and nothing more: it is no permission, and a
/// copied one passes too. A forged one passes with probability 2^-52 for each try; the repository's
/// `docs/security.md` has the bound after any number of UUIDs. The cipher is wiped on drop.
///
/// ```
/// use randflake_core::{Id, KeyNumber, Sparx64, TagError, TagKey};
///
/// let number = KeyNumber::new(17)?;
/// let key = TagKey::new(number, Sparx64::new(&[7; 16]));
/// let id = Id::from_u64(0x0123_4567_89ab_cdef);
/// let uuid = key.tag(id);
/// assert_eq!(key.check(uuid), Ok(id));
///
/// let other = TagKey::new(number, Sparx64::new(&[8; 16]));
/// assert_eq!(other.check(uuid), Err(TagError::Tag { key: number }));
/// # Ok::<(), randflake_core::KeyNumberError>(())
/// ```
#[derive(Clone)]
pub struct TagKey {
    number: KeyNumber,
    cipher: Sparx64,
}

impl TagKey {
    /// Takes the key's number and the cipher under the key.
    #[must_use]
    pub const fn new(number: KeyNumber, cipher: Sparx64) -> Self {
        Self { number, cipher }
    }

    /// Number of the key, which each of its UUIDs has.
    #[must_use]
    pub const fn number(&self) -> KeyNumber {
        self.number
    }

    /// Makes the tagged UUID of an id: always the same one.
    ///
    /// The id must be encrypted under the secret of the same key number, else it shows what a plain
    /// id shows, and ids of two keys may be equal.
    #[must_use]
    pub fn tag(&self, id: Id) -> TaggedUuid {
        TaggedUuid::of(id, self.number, self.tag_of(id))
    }

    /// Checks the tag, in constant time, and returns the id.
    ///
    /// # Errors
    ///
    /// [`TagError::KeyNumber`] if the UUID names another key, [`TagError::Tag`] if this key does
    /// not make its tag.
    pub fn check(&self, uuid: TaggedUuid) -> Result<Id, TagError> {
        let key = self.number;
        // The number is not secret: the UUID shows it.
        if uuid.key_number() != key {
            return Err(TagError::KeyNumber {
                uuid: uuid.key_number(),
                key,
            });
        }
        let id = uuid.unchecked_id();
        let wrong = uuid.claimed_tag() ^ self.tag_of(id);
        // All 52 bits in one step, also where registers have 32, and the compiler is kept from
        // taking the halves apart: timing must not show a forger how much of a tag was right.
        if black_box(low_word(wrong) | low_word(wrong >> u32::BITS)) != 0 {
            return Err(TagError::Tag { key });
        }
        Ok(id)
    }

    fn tag_of(&self, id: Id) -> u64 {
        self.cipher.encrypt_u64(id.to_u64()) >> (u64::BITS - TAG_BITS)
    }
}

#[expect(clippy::cast_possible_truncation, reason = "the rest is what is cut")]
const fn low_word(bits: u64) -> u32 {
    bits as u32
}

/// Shows the number and nothing of the key.
impl Debug for TagKey {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.debug_struct("TagKey")
            .field("number", &self.number)
            .finish_non_exhaustive()
    }
}

/// Error of making a [`KeyNumber`] of a number or a text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
#[non_exhaustive]
pub enum KeyNumberError {
    /// The number is 0 or over 63.
    OutOfRange {
        /// Number that was given.
        number: u8,
    },
    /// The text is not a decimal number of one or two digits.
    Text,
}

impl Display for KeyNumberError {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let (min, max) = (KeyNumber::MIN, KeyNumber::MAX);
        match self {
            Self::OutOfRange { number } => write!(
                f,
                "key number {number} is out of range: {min} to {max} are allowed"
            ),
            Self::Text => write!(
                f,
                "the key number is not a decimal number from {min} to {max}, without sign and leading zero"
            ),
        }
    }
}

impl core::error::Error for KeyNumberError {}

/// Error of checking a [`TaggedUuid`](super::TaggedUuid).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
#[non_exhaustive]
pub enum TagError {
    /// The UUID names another key than the one that checks.
    KeyNumber {
        /// Key number in the UUID.
        uuid: KeyNumber,
        /// Number of the key that was asked.
        key: KeyNumber,
    },
    /// The tag is not the one that the key makes for the id.
    Tag {
        /// Number of the key.
        key: KeyNumber,
    },
}

impl Display for TagError {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match self {
            Self::KeyNumber { uuid, key } => {
                write!(f, "the UUID has key number {uuid}: only {key} is allowed")
            }
            Self::Tag { key } => write!(
                f,
                "the UUID's tag is wrong: it was not made by a holder of key {key} of this namespace"
            ),
        }
    }
}

impl core::error::Error for TagError {}
