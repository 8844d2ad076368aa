//! Why a horizon was not raised.

use core::error::Error;
use core::fmt::{self, Debug, Display, Formatter};

use randflake_core::HorizonRecord;

/// Why a [`NorHorizon`](crate::NorHorizon) or [`WriteOnceHorizon`](crate::WriteOnceHorizon) was not raised, or not opened.
/// It may be tried again, and goes to another place in flash.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
#[non_exhaustive]
pub enum NorHorizonError<E> {
    /// The driver's.
    Flash(E),
    /// The driver reported nothing, but other bits are read than were written: the flash is worn or protected.
    NotWritten,
    /// It is past [`HorizonRecord::MAX_UNIX_S`], the last that can be stored. Nothing was written.
    OutOfRange,
    /// The flash has fewer than two pages.
    TooSmall,
}

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
