//! Errors of a horizon in flash.

use core::error::Error;
use core::fmt::{self, Debug, Display, Formatter};

use crate::HorizonRecord;

/// Error of `FlashHorizon`. A failed raise may be retried.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
#[non_exhaustive]
pub enum FlashHorizonError<E> {
    /// The flash driver failed with this error.
    Flash(E),
    /// The driver reported success, but other bits are read back: the flash is worn or write-protected.
    NotWritten,
    /// The time is after [`HorizonRecord::MAX_UNIX_S`], the last that a record can hold. Nothing was written.
    OutOfRange,
    /// The flash has fewer than three pages, the minimum.
    TooSmall,
    /// The flash was written by a version of this library with this other format. Nothing was written.
    Version(u8),
}

// For `?` behind each call of the driver.
impl<E> From<E> for FlashHorizonError<E> {
    fn from(error: E) -> Self {
        Self::Flash(error)
    }
}

impl<E: Debug> Display for FlashHorizonError<E> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match self {
            Self::Flash(error) => write!(f, "the flash failed: {error:?}"),
            Self::NotWritten => f.write_str("the flash shows other bits than were written"),
            Self::OutOfRange => write!(
                f,
                "past the last horizon that can be stored: at most {} is allowed",
                HorizonRecord::MAX_UNIX_S
            ),
            Self::TooSmall => f.write_str("the flash has fewer than three pages"),
            Self::Version(version) => write!(
                f,
                "the horizon in the flash has format {version}: only {} is known",
                HorizonRecord::VERSION
            ),
        }
    }
}

impl<E: Debug> Error for FlashHorizonError<E> {}
