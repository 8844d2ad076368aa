//! Segment buffer: one segment in use, one in reserve.

use core::error::Error;
use core::fmt::{self, Display, Formatter};
use core::time::Duration;

use super::Segment;
use crate::permutation::fill_ids;
use crate::{AtomicWord, Id, Permutation};

/// Issues the numbers of segments, each once, to any number of threads without a lock.
///
/// It holds two segments at most; when the first one is used up, another can be [`put`] while
/// numbers of the second are issued. Segments must ascend, so numbers do as well and none repeats.
///
/// ```
/// use randflake_core::internal::SegmentBuffer;
/// use randflake_core::segment::Segment;
/// use std::sync::atomic::AtomicU64;
///
/// let buffer = SegmentBuffer::<AtomicU64>::new(Segment::new(1, 2)?);
/// buffer.put(Segment::new(11, 2)?)?;
/// let mut next = || buffer.take(1).map(|numbers| numbers.first());
/// assert_eq!([next(), next(), next()], [Some(1), Some(2), Some(11)]);
/// assert_eq!(buffer.remaining(), 1);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// [`put`]: SegmentBuffer::put
#[derive(Debug)]
pub struct SegmentBuffer<W> {
    // Places count what was ever put in, so they only grow, and a word that compares equal has not
    // changed. A number is its place times the counter's step, plus its segment's offset.
    /// The first place not taken yet.
    taken: W,
    /// The first place behind the last segment.
    end: W,
    halves: [Half<W>; 2],
    /// By how much each number is above the one before it: the same in all segments of a counter.
    step: u64,
    /// 1 while a thread adds a segment.
    putting: W,
}

/// Where a segment's places begin, and what to add to their products with the step.
#[derive(Debug)]
struct Half<W> {
    begin: W,
    offset: W,
}

impl<W: AtomicWord<Value = u64>> SegmentBuffer<W> {
    /// Creates a buffer with its first segment.
    #[must_use]
    pub fn new(first: Segment) -> Self {
        let half = |begin, offset| Half {
            begin: W::new(begin),
            offset: W::new(offset),
        };
        Self {
            // No place is 0, so that the empty half begins before the other.
            taken: W::new(1),
            end: W::new(first.len().wrapping_add(1)),
            halves: [
                half(1, first.first().wrapping_sub(first.step())),
                half(0, 0),
            ],
            step: first.step(),
            putting: W::new(0),
        }
    }

    /// Takes up to `most` consecutive numbers, at least one; `None` if none is left.
    #[inline]
    pub fn take(&self, most: u64) -> Option<Segment> {
        loop {
            // In this order: a thread that sees a new end sees its half as well, and a half is
            // written anew only when every place of it is taken. So if the exchange below finds
            // `taken` as it was, what was read since then belongs to it.
            let taken = self.taken.load();
            let end = self.end.load();
            if taken >= end {
                return None;
            }
            let (half, end) = self.at(taken, end);
            let count = most.max(1).min(end.wrapping_sub(taken));
            let first = self.number(taken, half.offset.load());
            if self
                .taken
                .compare_exchange(taken, taken.wrapping_add(count))
            {
                let step = self.step;
                return Some(Segment {
                    first,
                    len: count,
                    step,
                });
            }
        }
    }

    /// The number at a place of a segment with an offset.
    #[inline]
    fn number(&self, place: u64, offset: u64) -> u64 {
        place.wrapping_mul(self.step).wrapping_add(offset)
    }

    /// The half of a place, and where its segment ends.
    #[inline]
    fn at(&self, place: u64, end: u64) -> (&Half<W>, u64) {
        let [a, b] = &self.halves;
        let (a_begin, b_begin) = (a.begin.load(), b.begin.load());
        // The half with the largest `begin` at or below the place contains it.
        let (half, other_begin) = if b_begin > place || (a_begin <= place && a_begin > b_begin) {
            (a, b_begin)
        } else {
            (b, a_begin)
        };
        let segment_end = if other_begin > place {
            other_begin
        } else {
            end
        };
        // A run ends with its segment, since the next one has another offset.
        (half, segment_end.min(end))
    }

    /// Fills a slice with numbers in their public form and returns how many were written: fewer if
    /// no more are left.
    pub fn fill(&self, ids: &mut [Id], permutation: &impl Permutation) -> usize {
        let mut filled = 0;
        while let Some(rest @ [_, ..]) = ids.get_mut(filled..) {
            let Some(numbers) = self.take(rest.len() as u64) else {
                break;
            };
            let len = usize::try_from(numbers.len()).unwrap_or(usize::MAX);
            if let Some(ids) = rest.get_mut(..len) {
                fill_ids(permutation, numbers.first(), self.step, ids);
            }
            filled = filled.saturating_add(len);
        }
        filled
    }

    /// Count of numbers that are not taken yet.
    pub fn remaining(&self) -> u64 {
        let taken = self.taken.load(); // first: the end only grows
        self.end.load().saturating_sub(taken)
    }

    /// Count of numbers taken since the buffer was made.
    pub fn taken(&self) -> u64 {
        self.taken.load().saturating_sub(1)
    }

    /// Adds a segment behind the last one, of the same step.
    ///
    /// # Errors
    ///
    /// [`PutError::Full`] unless at most one segment has numbers left, and [`PutError::WentBack`]
    /// when the segment begins before the end of an earlier one, or has another step, as only
    /// another counter has.
    pub fn put(&self, segment: Segment) -> Result<(), PutError> {
        // A second caller is refused rather than made to wait: it would put a segment that was
        // reserved in vain.
        if !self.putting.compare_exchange(0, 1) {
            return Err(PutError::Full);
        }
        // Alone from here on: `putting` is a lock that nobody waits for.
        let outcome = self.put_alone(segment);
        // After a refusal as well: otherwise no segment could be put any more.
        set(&self.putting, 0);
        outcome
    }

    fn put_alone(&self, segment: Segment) -> Result<(), PutError> {
        let [a, b] = &self.halves;
        let (older, newer) = if a.begin.load() < b.begin.load() {
            (a, b)
        } else {
            (b, a)
        };
        let end = self.end.load();
        // The number behind the newest segment: below it a number was given before, or may have
        // been.
        let reached = self.number(end, newer.offset.load());
        if segment.first() < reached || segment.step() != self.step {
            return Err(PutError::WentBack {
                first: segment.first(),
                reached,
            });
        }
        // The older half may be overwritten only when all its places are taken; they never become
        // free again.
        if self.taken.load() < newer.begin.load() {
            return Err(PutError::Full);
        }
        // The half is not read any more, and is not before its `begin` and then `end` say so.
        let offset = segment.first().wrapping_sub(end.wrapping_mul(self.step));
        set(&older.offset, offset);
        set(&older.begin, end);
        // Segments are disjoint and below 2^63, so their lengths add up to less.
        set(&self.end, end.wrapping_add(segment.len()));
        Ok(())
    }
}

/// Sets a word that nobody else writes.
fn set(word: &impl AtomicWord<Value = u64>, value: u64) {
    let is_set = word.compare_exchange(word.load(), value);
    debug_assert!(is_set, "only the putting thread writes it");
}

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
    use crate::{LocalWord, Plain};

    fn segment(first: u64, len: u64) -> Segment {
        Segment::new(first, len).unwrap()
    }

    fn buffer(first: u64, len: u64) -> SegmentBuffer<LocalWord<u64>> {
        SegmentBuffer::new(segment(first, len))
    }

    #[test]
    fn a_run_ends_with_its_segment() {
        let buffer = buffer(1, 4);
        buffer.put(segment(100, 4)).unwrap();
        assert_eq!(buffer.take(3), Some(segment(1, 3)));
        assert_eq!(buffer.take(3), Some(segment(4, 1)));
        assert_eq!(buffer.take(0), Some(segment(100, 1)));
        assert_eq!(buffer.take(u64::MAX), Some(segment(101, 3)));
    }

    #[test]
    fn two_segments_are_all_it_holds() {
        let buffer = buffer(1, 2);
        buffer.put(segment(3, 2)).unwrap();
        assert_eq!(buffer.put(segment(5, 2)), Err(PutError::Full));
        buffer.take(1);
        assert_eq!(buffer.put(segment(5, 2)), Err(PutError::Full));
        buffer.take(1);
        assert_eq!(buffer.put(segment(5, 2)), Ok(()));
        assert_eq!(buffer.remaining(), 4);
    }

    #[test]
    fn a_counter_that_went_back_is_refused() {
        let buffer = buffer(10, 2);
        let refused = |first, reached| Err(PutError::WentBack { first, reached });
        for first in [1, 10, 11] {
            assert_eq!(buffer.put(segment(first, 5)), refused(first, 12));
        }
        buffer.put(segment(20, 5)).unwrap();
        buffer.take(2);
        assert_eq!(buffer.put(segment(24, 5)), refused(24, 25));
        assert_eq!(buffer.put(segment(25, 5)), Ok(()));
    }

    #[test]
    fn numbers_are_a_step_apart() {
        let stepped = |first, len, step| Segment::stepped(first, len, step).unwrap();
        let buffer = SegmentBuffer::<LocalWord<u64>>::new(stepped(2, 3, 5));
        assert_eq!(buffer.take(2), Some(stepped(2, 2, 5)));
        let refused = |first| {
            let reached = 17;
            Err(PutError::WentBack { first, reached })
        };
        assert_eq!(buffer.put(stepped(12, 3, 5)), refused(12));
        assert_eq!(buffer.put(segment(17, 3)), refused(17));
        buffer.put(stepped(102, 2, 5)).unwrap();
        let mut ids = [Id::from_u64(0); 4];
        assert_eq!(buffer.fill(&mut ids, &Plain), 3);
        assert_eq!(ids.map(Id::to_u64), [12, 102, 107, 0]);
        buffer.put(stepped(112, 1, 5)).unwrap();
        assert_eq!(buffer.take(9), Some(stepped(112, 1, 5)));
    }

    #[test]
    fn filling_goes_over_segments() {
        let buffer = buffer(1, 2);
        buffer.put(segment(9, 2)).unwrap();
        let mut ids = [Id::from_u64(0); 5];
        assert_eq!(buffer.fill(&mut ids[..0], &Plain), 0);
        assert_eq!(buffer.fill(&mut ids, &Plain), 4);
        assert_eq!(ids.map(Id::to_u64), [1, 2, 9, 10, 0]);
        assert_eq!(buffer.fill(&mut ids, &Plain), 0);
    }

    #[test]
    fn the_last_numbers_are_issued() {
        let buffer = buffer(super::super::MAX_NUMBER - 1, 2);
        assert_eq!(buffer.take(9).map(|last| last.end()), Some(i64::MAX as u64));
        assert_eq!(buffer.take(1), None);
    }

    /// A refused call leaves the lock to the call that holds it.
    #[test]
    fn one_puts_at_a_time() {
        let buffer = buffer(1, 2);
        set(&buffer.putting, 1);
        for _ in 0..2 {
            assert_eq!(buffer.put(segment(3, 2)), Err(PutError::Full));
        }
        assert_eq!((buffer.putting.load(), buffer.remaining()), (1, 2));
        set(&buffer.putting, 0);
        assert_eq!(buffer.put(segment(3, 2)), Ok(()));
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
