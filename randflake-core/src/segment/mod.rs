//! Sequential numbers: ranges of a counter, reserved at once and issued one by one. No clock is
//! needed.
//!
//! Start here: a [`Segment`] is such a range. `randflake-std` issues its numbers to threads.

pub(crate) mod buffer;

use core::error::Error;
use core::fmt::{self, Display, Formatter};
use core::time::Duration;

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

/// Keeps segments as long as they must be to last for a given time, within bounds.
///
/// The length doubles when a segment would not last that long at the rate seen, and halves when it
/// would last twice as long: the rule of Leaf's segment mode (Meituan-Dianping/Leaf,
/// `SegmentIDGenImpl.java`, `updateSegmentFromDb`).
///
/// ```
/// use core::time::Duration;
/// use randflake_core::internal::SegmentLength;
///
/// let mut length = SegmentLength::new(1_000, 1_000_000, Duration::from_secs(60));
/// assert_eq!(length.get(), 1_000);
/// length.adapt(500, Duration::from_secs(1)); // 500 a second: 1,000 last for 2 s
/// assert_eq!(length.get(), 2_000);
/// ```
#[derive(Clone, Copy, Debug)]
pub struct SegmentLength {
    length: u32,
    min: u32,
    max: u32,
    target: Duration,
}

impl SegmentLength {
    /// Begins with `min`, which is at least 1, and never exceeds `max`, which is at least `min`;
    /// each is raised if it is less.
    #[must_use]
    pub fn new(min: u32, max: u32, target: Duration) -> Self {
        let min = min.max(1);
        Self {
            length: min,
            min,
            max: max.max(min),
            target,
        }
    }

    /// Length of the next segment.
    #[must_use]
    pub const fn get(&self) -> u32 {
        self.length
    }

    /// Notes that `issued` numbers were issued in a time. Without any, nothing is known of the rate
    /// and the length stays.
    pub fn adapt(&mut self, issued: u64, time: Duration) {
        // Multiplied before it is divided, in 128 bits, so that short times and low rates lose no
        // precision.
        let all_in = time.as_nanos().saturating_mul(u128::from(self.length));
        let Some(lasts) = all_in.checked_div(u128::from(issued)) else {
            return;
        };
        let target = self.target.as_nanos();
        let length = if lasts < target {
            self.length.saturating_mul(2)
        } else if lasts >= target.saturating_mul(2) {
            // Not at any smaller excess: half of the length must still last for the target, or it
            // would double again.
            self.length / 2
        } else {
            self.length
        };
        self.length = length.clamp(self.min, self.max);
    }
}

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

    const SECOND: Duration = Duration::from_secs(1);

    fn settled(rate: u64, target: Duration) -> u32 {
        let mut length = SegmentLength::new(10, 1_000_000, target);
        for _ in 0..64 {
            length.adapt(rate, SECOND);
        }
        length.get()
    }

    #[test]
    fn segment_lasts_one_to_two_targets() {
        for rate in [1, 3, 17, 1_000, 9_999] {
            for seconds in [1, 10, 60] {
                let length = u64::from(settled(rate, Duration::from_secs(seconds)));
                let enough = length >= rate * seconds;
                assert!(enough && (length < 2 * rate * seconds || length == 10));
            }
        }
    }

    #[test]
    fn the_bounds_hold() {
        assert_eq!(settled(u64::MAX, SECOND), 1_000_000);
        let mut length = SegmentLength::new(10, 1_000_000, SECOND);
        length.adapt(1, Duration::MAX);
        assert_eq!(length.get(), 10);
        let mut fixed = SegmentLength::new(0, 0, SECOND);
        fixed.adapt(1_000, SECOND);
        assert_eq!(fixed.get(), 1);
    }

    #[test]
    fn a_rate_that_falls_halves_it() {
        let mut length = SegmentLength::new(10, 1_000, SECOND);
        length.adapt(100, SECOND);
        length.adapt(100, SECOND);
        assert_eq!(length.get(), 40);
        length.adapt(10, SECOND);
        assert_eq!(length.get(), 20);
        length.adapt(0, SECOND);
        assert_eq!(length.get(), 20);
    }

    #[test]
    fn length_is_kept_from_target_to_twice_target() {
        let mut length = SegmentLength::new(10, 1_000, SECOND);
        length.adapt(10, SECOND);
        assert_eq!(length.get(), 10, "it lasts for a second");
        length.adapt(11, SECOND);
        assert_eq!(length.get(), 20);
        length.adapt(11, SECOND);
        assert_eq!(length.get(), 20);
        length.adapt(10, SECOND);
        assert_eq!(length.get(), 10, "it lasts for two");
    }
}
