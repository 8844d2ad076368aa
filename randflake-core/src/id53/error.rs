//! Errors of ids of 53 bits.

use core::fmt::{self, Display, Formatter};

use crate::{Id53, TypedIdError};

/// Error of making an [`Id53`] of a number or a text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
#[non_exhaustive]
pub enum Id53Error {
    /// The number is over 2^53 - 1: JavaScript would round it.
    TooLarge {
        /// Number that was given.
        number: u64,
    },
    /// The number is negative, which ids of 64 bits may be.
    Negative {
        /// Number that was given.
        number: i64,
    },
    /// The text is not an id of this kind.
    Text(TypedIdError),
}

impl From<TypedIdError> for Id53Error {
    fn from(error: TypedIdError) -> Self {
        Self::Text(error)
    }
}

impl Display for Id53Error {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match self {
            Self::TooLarge { number } => out_of_range(f, number),
            Self::Negative { number } => out_of_range(f, number),
            Self::Text(error) => Display::fmt(error, f),
        }
    }
}

fn out_of_range(f: &mut Formatter<'_>, number: impl Display) -> fmt::Result {
    let max = Id53::<()>::MAX;
    write!(
        f,
        "id {number} is out of range: 0 to {max}, 53 bits, are allowed"
    )
}

impl core::error::Error for Id53Error {
    fn source(&self) -> Option<&(dyn core::error::Error + 'static)> {
        match self {
            Self::TooLarge { .. } | Self::Negative { .. } => None,
            Self::Text(error) => error.source(),
        }
    }
}
