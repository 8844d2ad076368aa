//! Errors of tagged UUIDs.

use core::fmt::{self, Display, Formatter};

use super::KeyNumber;

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

/// Error of reading a [`TaggedUuid`](super::TaggedUuid). It says nothing of the tag, which a [`TagKey`](super::TagKey) checks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
#[non_exhaustive]
pub enum TaggedUuidError {
    /// The text is not a UUID of 32 hexadecimal digits in lower case with four hyphens.
    Text,
    /// The version or variant is not that of tagged UUIDs.
    NotVersion8,
    /// A UUID of version 8 with key number 0: one of an id without a tag, or of another application.
    NoKeyNumber,
}

impl Display for TaggedUuidError {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Text => {
                "the text is not a UUID: 32 digits of 0-9 and a-f are allowed, \
                 with hyphens after the 8th, 12th, 16th and 20th"
            }
            Self::NotVersion8 => {
                "the UUID is not of version 8: only those made with a key number and a tag are allowed"
            }
            Self::NoKeyNumber => {
                "the UUID has key number 0, so no tag: only those made with a key number from 1 to 63 \
                 are allowed"
            }
        })
    }
}

impl core::error::Error for TaggedUuidError {}

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
