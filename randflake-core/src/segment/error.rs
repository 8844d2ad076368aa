//! Errors of reserving and adding segments.

use core::error::Error;
use core::fmt::{self, Display, Formatter};

use super::MAX_NUMBER;

/// Error of reserving numbers. The counter has not moved.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
#[non_exhaustive]
pub enum ReserveError {
    /// No number was asked for.
    Empty,
    /// The first number is out of range.
    First {
        /// Number that was given.
        first: u64,
    },
    /// The step is out of range.
    Step {
        /// Step that was given.
        step: u64,
    },
    /// The counter has fewer numbers left than were asked for.
    Exhausted {
        /// Count of numbers asked for.
        asked: u64,
        /// Count of numbers that the counter has left.
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
            Self::Step { step } => write!(
                f,
                "a step of {step} is out of range: 1 to {MAX_NUMBER} are allowed"
            ),
            Self::Exhausted { asked, left } => {
                write!(f, "{asked} numbers asked for: the counter has {left} left")
            }
        }
    }
}

impl Error for ReserveError {}

/// Error of adding a segment to a buffer. It has not changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
#[non_exhaustive]
pub enum PutError {
    /// The buffer holds two segments, or another thread is adding one.
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
