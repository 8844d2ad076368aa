//! Sequential numbers: ranges of a counter, reserved at once and issued one by one. No clock is
//! needed.
//!
//! Start here: a [`Segment`] is such a range. `randflake-std` issues its numbers to threads.

pub(crate) mod buffer;

use core::error::Error;
use core::fmt::{self, Display, Formatter};

/// The largest number: 2^63 - 2. The number after it, where the counter would stand, still fits a
/// database's `bigint`.
pub const MAX_NUMBER: u64 = i64::MAX as u64 - 1;

/// A range of numbers that a counter counts in turn: at least one, from 1 to [`MAX_NUMBER`]. They
/// are consecutive unless the counter has a [step](Segment::stepped).
///
/// Uniqueness rests on one thing alone: all segments ever reserved from a counter are disjoint. A
/// store sees to that by never letting the counter go back.
///
/// ```
/// use randflake_core::segment::{MAX_NUMBER, Segment};
///
/// let segment = Segment::new(1, 1_000)?;
/// assert_eq!((segment.first(), segment.len(), segment.end()), (1, 1_000, 1_001));
/// assert_eq!(
///     Segment::new(MAX_NUMBER, 2).unwrap_err().to_string(),
///     "2 numbers asked for: the counter has 1 left"
/// );
/// # Ok::<(), randflake_core::segment::ReserveError>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Segment {
    first: u64,
    len: u64,
    step: u64,
}

impl Segment {
    /// Makes a segment of `len` numbers from `first`.
    ///
    /// # Errors
    ///
    /// [`ReserveError::First`] unless `first` is from 1 to [`MAX_NUMBER`], [`ReserveError::Empty`]
    /// when `len` is 0, [`ReserveError::Exhausted`] when the last one would be beyond
    /// [`MAX_NUMBER`].
    pub const fn new(first: u64, len: u64) -> Result<Self, ReserveError> {
        Self::stepped(first, len, 1)
    }

    /// Makes a segment of `len` numbers: `first`, `first + step` and so on.
    ///
    /// ```
    /// use randflake_core::segment::Segment;
    ///
    /// let segment = Segment::stepped(2, 3, 5)?;
    /// assert_eq!(segment.numbers().collect::<Vec<_>>(), [2, 7, 12]);
    /// assert_eq!(segment.end(), 17);
    /// # Ok::<(), randflake_core::segment::ReserveError>(())
    /// ```
    ///
    /// # Errors
    ///
    /// As for [`new`](Segment::new); [`ReserveError::Exhausted`] also when the number after the
    /// last one would not fit, and [`ReserveError::Step`] unless `step` is from 1 to
    /// [`MAX_NUMBER`].
    pub const fn stepped(first: u64, len: u64, step: u64) -> Result<Self, ReserveError> {
        if len == 0 {
            return Err(ReserveError::Empty);
        }
        if step == 0 || step > MAX_NUMBER {
            return Err(ReserveError::Step { step });
        }
        // A counter that has issued its last number stands one further. From 0 on enough would be
        // left, but numbers begin at 1.
        let left = match (MAX_NUMBER + 1).checked_sub(first) {
            Some(left) if first > 0 => left.div_euclid(step),
            _ => return Err(ReserveError::First { first }),
        };
        if len > left {
            return Err(ReserveError::Exhausted { asked: len, left });
        }
        Ok(Self { first, len, step })
    }

    /// First number of the segment.
    #[must_use]
    #[inline]
    pub const fn first(&self) -> u64 {
        self.first
    }

    /// Number of numbers, at least 1.
    #[must_use]
    #[inline]
    #[expect(clippy::len_without_is_empty, reason = "a segment is never empty")]
    pub const fn len(&self) -> u64 {
        self.len
    }

    /// The first number after it: where the counter stands.
    #[must_use]
    #[inline]
    pub const fn end(&self) -> u64 {
        // `stepped` keeps it below 2^63.
        self.first.wrapping_add(self.len.wrapping_mul(self.step))
    }

    /// By how much each number is above the one before it; 1 unless the counter has a step.
    #[must_use]
    #[inline]
    pub const fn step(&self) -> u64 {
        self.step
    }

    /// The numbers, from the first one on.
    pub fn numbers(&self) -> impl Iterator<Item = u64> + use<> {
        let Self { first, len, step } = *self;
        (0..len).map(move |place| first.wrapping_add(place.wrapping_mul(step)))
    }
}

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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_segment_is_within_the_numbers() {
        for (first, len) in [(1, 1), (1, MAX_NUMBER), (MAX_NUMBER, 1), (7, 1_000)] {
            let segment = Segment::new(first, len).unwrap();
            assert_eq!(segment.end() - segment.first(), len);
            assert!(i64::try_from(segment.end()).is_ok());
        }
    }

    #[test]
    fn what_is_beyond_is_refused() {
        assert_eq!(Segment::new(1, 0), Err(ReserveError::Empty));
        for step in [0, MAX_NUMBER + 1] {
            assert_eq!(
                Segment::stepped(1, 1, step),
                Err(ReserveError::Step { step })
            );
        }
        for first in [0, MAX_NUMBER + 2, u64::MAX] {
            assert_eq!(Segment::new(first, 1), Err(ReserveError::First { first }));
        }
        for (first, asked, left) in [
            (MAX_NUMBER + 1, 1, 0),
            (MAX_NUMBER, 2, 1),
            (2, MAX_NUMBER, MAX_NUMBER - 1),
            (1, u64::MAX, MAX_NUMBER),
        ] {
            let refused = Segment::new(first, asked);
            assert_eq!(refused, Err(ReserveError::Exhausted { asked, left }));
        }
    }

    /// The number after the last one is stored, so it has to fit as well.
    #[test]
    fn the_last_step_fits() {
        let last = Segment::stepped(MAX_NUMBER - 9, 2, 5).unwrap();
        assert_eq!(last.end(), MAX_NUMBER + 1);
        for (first, asked, left) in [(MAX_NUMBER - 9, 3, 2), (MAX_NUMBER - 3, 1, 0)] {
            let refused = Segment::stepped(first, asked, 5);
            assert_eq!(refused, Err(ReserveError::Exhausted { asked, left }));
        }
    }
}
