//! Adaptive length of segments.

use core::time::Duration;

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
