//! Errors of making ids.

use core::fmt::{self, Display, Formatter};

use super::Id53;
use super::kind::MAX_PREFIX_LEN;
use crate::DecodeError;

/// Error of making an id of a kind.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
#[non_exhaustive]
pub enum IdError {
    /// The prefix is missing, or is that of another kind.
    Prefix {
        /// Prefix of the kind; empty if it has none.
        expected: &'static str,
        /// Prefix that was found: the first 32 bytes before the last `_`, padded with zeros; all zeros without `_`.
        found: [u8; MAX_PREFIX_LEN],
    },
    /// The text, without its prefix, is not an id.
    Digits(DecodeError),
    /// The number is over 2^53 - 1, and JavaScript would round it: the kind has [ids of 53 bits](crate::Id53).
    TooLarge {
        /// Number that was given.
        number: u64,
    },
    /// The number is negative: the kind has [ids of 53 bits](crate::Id53).
    Negative {
        /// Number that was given.
        number: i64,
    },
    /// [`StoredPlain::cipher`](crate::StoredPlain::cipher) returned `None`: the program has not set the cipher yet.
    CipherMissing {
        /// The name of the id's type.
        name: &'static str,
    },
}

impl IdError {
    pub(super) fn prefix(expected: &'static str, found: &str) -> Self {
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
