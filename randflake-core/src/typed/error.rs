//! Errors of reading typed ids.

use core::fmt::{self, Display, Formatter};

use super::prefix::MAX_LEN;
use crate::DecodeError;

/// Error of reading a text as an id of a kind.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
#[non_exhaustive]
pub enum TypedIdError {
    /// The prefix is missing, or is that of another kind.
    Prefix {
        /// Prefix of the kind; empty if it has none.
        expected: &'static str,
        /// Prefix that was found: the first 32 bytes before the last `_`, padded with zeros; all zeros without `_`.
        found: [u8; MAX_LEN],
    },
    /// The text after the prefix is not an id.
    Digits(DecodeError),
}

impl TypedIdError {
    pub(super) fn prefix(expected: &'static str, found: &str) -> Self {
        // Copied, as errors here are `Copy` and hold no reference to the input.
        let mut bytes = [0; MAX_LEN];
        for (to, from) in bytes.iter_mut().zip(found.bytes()) {
            *to = from;
        }
        Self::Prefix {
            expected,
            found: bytes,
        }
    }
}

impl From<DecodeError> for TypedIdError {
    fn from(error: DecodeError) -> Self {
        Self::Digits(error)
    }
}

impl Display for TypedIdError {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let (expected, found) = match self {
            Self::Digits(error) => return Display::fmt(error, f),
            Self::Prefix { expected, found } => (*expected, found),
        };
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
}

impl core::error::Error for TypedIdError {
    fn source(&self) -> Option<&(dyn core::error::Error + 'static)> {
        match self {
            Self::Digits(error) => error.source(),
            Self::Prefix { .. } => None,
        }
    }
}
