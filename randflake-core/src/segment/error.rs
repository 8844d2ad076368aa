//! One small `Copy` error for each operation.

use core::error::Error;
use core::fmt::{self, Display, Formatter};

use super::MAX_NUMBER;

/// Why numbers cannot be reserved. The counter has not moved.
#[derive(Clone, Copy, PartialEq, Eq)]
#[cfg_attr(not(feature = "readable-debug"), derive(Debug))]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
#[non_exhaustive]
pub enum ReserveError {
    /// No number was asked for.
    Empty,
    /// The first number is out of range.
    First {
        /// The number given.
        first: u64,
    },
    /// The counter has fewer numbers left than were asked for.
    Exhausted {
        /// How many were asked for.
        asked: u64,
        /// How many it has.
        left: u64,
    },
}

impl Display for ReserveError {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match self {
            Self::Empty => f.write_str("no number was asked for: at least 1 is allowed"),
            Self::First { first } => write!(
                f,
                "number {first} is out of range: 1 to {MAX_NUMBER} are allowed"
            ),
            Self::Exhausted { asked, left } => {
                write!(f, "{asked} numbers asked for: the counter has {left} left")
            }
        }
    }
}

impl Error for ReserveError {}

/// Why a buffer did not take a segment. It has not changed.
#[derive(Clone, Copy, PartialEq, Eq)]
#[cfg_attr(not(feature = "readable-debug"), derive(Debug))]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
#[non_exhaustive]
pub enum PutError {
    /// It holds two segments, or another thread is putting one.
    Full,
    /// The segment begins before the end of an earlier one: the counter went back.
    WentBack {
        /// The segment's first number.
        first: u64,
        /// The first number that is still allowed.
        reached: u64,
    },
}

impl Display for PutError {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match self {
            Self::Full => f.write_str("the buffer holds two segments already"),
            Self::WentBack { first, reached } => write!(
                f,
                "the counter went back: it gave {first} after everything below {reached} was reserved"
            ),
        }
    }
}

impl Error for PutError {}
