//! Numbers of keys.

use core::fmt::{self, Debug, Display, Formatter};
use core::num::NonZeroU8;
use core::str::FromStr;

use super::KeyNumberError;

/// Number of a key of tagged UUIDs, from 1 to 63. A namespace begins with 1, as a rule, and each rotation takes the next one.
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
