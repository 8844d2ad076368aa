//! Errors of ids that are stored raw.

use core::fmt::{self, Display, Formatter};

use crate::TypedIdError;

/// Error of making a [`StoredRaw`](crate::StoredRaw) id.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
#[non_exhaustive]
pub enum BorderError {
    /// [`Border::cipher`](crate::Border::cipher) returned `None`: the program has not set the cipher yet.
    CipherMissing {
        /// The name of the id's type.
        name: &'static str,
    },
    /// The text is not an id of this kind.
    Text(TypedIdError),
}

impl From<TypedIdError> for BorderError {
    fn from(error: TypedIdError) -> Self {
        Self::Text(error)
    }
}

impl Display for BorderError {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match self {
            Self::CipherMissing { name } => write!(
                f,
                "the cipher of {name} is missing: set it before ids are read or written"
            ),
            Self::Text(error) => Display::fmt(error, f),
        }
    }
}

impl core::error::Error for BorderError {
    fn source(&self) -> Option<&(dyn core::error::Error + 'static)> {
        match self {
            Self::CipherMissing { .. } => None,
            Self::Text(error) => error.source(),
        }
    }
}
