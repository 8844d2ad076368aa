//! Errors of the two horizons in flash.

use core::error::Error;
use core::fmt::{self, Debug, Display, Formatter};

use randflake_core::HorizonRecord;

/// Error of [`NorHorizon`](crate::NorHorizon) and [`WriteOnceHorizon`](crate::WriteOnceHorizon). A failed raise may
/// be retried; the next try writes to another slot.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
#[non_exhaustive]
pub enum NorHorizonError<E> {
    /// The flash driver failed with this error.
    Flash(E),
    /// The driver reported success, but other bits are read back: the flash is worn or write-protected.
    NotWritten,
    /// The time is after [`HorizonRecord::MAX_UNIX_S`], the last that a record can hold. Nothing was written.
    OutOfRange,
    /// The flash has fewer than two pages, the minimum.
    TooSmall,
}

// For `?` behind each call of the driver.
impl<E> From<E> for NorHorizonError<E> {
    fn from(error: E) -> Self {
        Self::Flash(error)
    }
}

impl<E: Debug> Display for NorHorizonError<E> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match self {
            Self::Flash(error) => write!(f, "the flash failed: {error:?}"),
            Self::NotWritten => f.write_str("the flash shows other bits than were written"),
            Self::OutOfRange => write!(
                f,
                "past the last horizon that can be stored: at most {} is allowed",
                HorizonRecord::MAX_UNIX_S
            ),
            Self::TooSmall => f.write_str("the flash has fewer than two pages"),
        }
    }
}

impl<E: Debug> Error for NorHorizonError<E> {}
