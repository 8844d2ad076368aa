//! Conversion between ticks and time.

use core::time::Duration;

use super::{LayoutFields, LayoutSpec};

const MS_PER_SECOND: u64 = 1_000;
const NANOS_PER_MS: u32 = 1_000_000;

impl LayoutSpec {
    /// The tick at a time since the Unix epoch, or `None` before the layout's epoch. It may be past
    /// [`max_tick`](LayoutSpec::max_tick).
    ///
    /// ```
    /// use core::time::Duration;
    /// use randflake_core::{Layout, Randflake};
    ///
    /// let tick_at = |s| Randflake::SPEC.tick_at(Duration::from_secs(s));
    /// assert_eq!(tick_at(1_730_000_042), Some(42));
    /// assert_eq!(tick_at(1_729_999_999), None);
    /// ```
    #[must_use]
    #[inline]
    pub const fn tick_at(&self, unix: Duration) -> Option<u64> {
        let LayoutFields {
            epoch_unix_ms,
            tick_ms,
            ..
        } = self.fields;
        // The divisors are not zero: checked division leaves no panic in the code.
        if tick_ms.is_multiple_of(MS_PER_SECOND) && epoch_unix_ms.is_multiple_of(MS_PER_SECOND) {
            // No sub-second part is needed: for a constant layout this leaves one subtraction.
            return match unix.as_secs().checked_sub(epoch_unix_ms / MS_PER_SECOND) {
                Some(seconds) => seconds.checked_div(tick_ms / MS_PER_SECOND),
                None => None,
            };
        }
        match unix_ms(unix).checked_sub(epoch_unix_ms) {
            Some(ms) => ms.checked_div(tick_ms),
            None => None,
        }
    }

    /// The ticks from `start` to the one at a time since the Unix epoch; `None` before `start`.
    #[inline]
    pub(crate) const fn ticks_since(&self, start: u64, unix: Duration) -> Option<u64> {
        if self.fields.tick_ms == MS_PER_SECOND
            && let Some(start_s) = self.unix_s(start)
        {
            // For a constant layout one subtraction, where `tick_at` would make two.
            return unix.as_secs().checked_sub(start_s);
        }
        match self.tick_at(unix) {
            Some(tick) => tick.checked_sub(start),
            None => None,
        }
    }

    /// Start of a tick in the form that [`allows`](LayoutSpec::allows) takes.
    #[inline]
    pub(crate) const fn begins(&self, tick: u64) -> u64 {
        // In the unit in which `allows` compares: seconds where epoch and tick are whole seconds.
        match self.unix_s(tick) {
            Some(seconds) => seconds,
            None => self.unix_ms(tick),
        }
    }

    /// Whether the tick that is `elapsed` ticks after the one that [`begins`](LayoutSpec::begins)
    /// then is the one that a clock at `unix` shows, or at most `tolerance` ticks ahead of it:
    /// without a division by the tick's length.
    ///
    /// The answer may be `false` in the epoch's first second with a tolerance, after 292 million
    /// years, and for ticks of more than 24 days.
    #[inline]
    pub(crate) const fn allows(
        &self,
        begins: u64,
        elapsed: u64,
        tolerance: u32,
        unix: Duration,
    ) -> bool {
        // With these, what is compared is the difference of two numbers below 2^63.
        const MOST_S: u64 = (1 << 63) / MS_PER_SECOND - 1;
        const MOST_LENGTH: u64 = 1 << 31;
        let LayoutFields {
            epoch_unix_ms,
            tick_ms,
            ..
        } = self.fields;
        let seconds = unix.as_secs();
        // Without tolerance a time before the epoch is before the lease as well.
        let is_before_epoch = tolerance > 0 && seconds < epoch_unix_ms.div_ceil(MS_PER_SECOND);
        if seconds > MOST_S || is_before_epoch || tick_ms > MOST_LENGTH {
            return false;
        }
        let (now, length) = if self.unix_s(0).is_some() {
            (seconds, tick_ms / MS_PER_SECOND)
        } else {
            (unix_ms(unix), tick_ms)
        };
        let last = length.wrapping_sub(1);
        let most = (tolerance as u64).wrapping_mul(length).wrapping_add(last);
        // The distance from now to the end of the tick: at most a tick less a unit if the clock
        // shows the tick, and more by the tolerance if it is ahead. An earlier tick wraps to a
        // large number. Ticks after the lease may wrap here.
        let ends = begins
            .wrapping_add(elapsed.wrapping_mul(length))
            .wrapping_add(last);
        ends.wrapping_sub(now) <= most
    }

    /// The Unix time in milliseconds at which a tick begins; saturates for ticks that no layout
    /// has.
    #[must_use]
    #[inline]
    pub const fn unix_ms(&self, tick: u64) -> u64 {
        tick.saturating_mul(self.fields.tick_ms)
            .saturating_add(self.fields.epoch_unix_ms)
    }

    /// The Unix time in milliseconds at which the last tick ends: from then on there are no ids.
    /// Saturates.
    #[must_use]
    pub const fn end_unix_ms(&self) -> u64 {
        self.unix_ms(self.max_tick().saturating_add(1))
    }

    /// The first tick that begins at a whole second of Unix time or later.
    pub(crate) const fn tick_from(&self, unix_s: u32) -> u64 {
        let unix_s = unix_s as u64;
        // Before the epoch: the first tick begins later than that.
        let Some(tick) = self.tick_at(Duration::from_secs(unix_s)) else {
            return 0;
        };
        let began_before = match self.unix_s(tick) {
            Some(began_s) => began_s < unix_s,
            None => self.unix_ms(tick) < unix_s.saturating_mul(MS_PER_SECOND),
        };
        // Rounded up: a tick that began before the horizon may have been used.
        tick.saturating_add(began_before as u64)
    }

    /// The first whole second of Unix time at which a tick begins, or has begun.
    pub(crate) const fn unix_s_from(&self, tick: u64) -> u64 {
        match self.unix_s(tick) {
            Some(seconds) => seconds,
            None => self.unix_ms(tick).div_ceil(MS_PER_SECOND),
        }
    }

    /// Milliseconds from `now` until a tick begins, rounded up; 0 when it has begun.
    #[inline]
    pub(crate) const fn ms_until(&self, tick: u64, now: Duration) -> u64 {
        let Some(begins_s) = self.unix_s(tick) else {
            return self.unix_ms(tick).saturating_sub(unix_ms(now));
        };
        match begins_s.checked_sub(now.as_secs()) {
            Some(seconds) => ms(seconds).saturating_sub(sub_second_ms(now)),
            None => 0,
        }
    }

    /// Milliseconds since a tick began, rounded down; 0 when it is still to come.
    #[inline]
    pub(crate) const fn ms_since(&self, tick: u64, now: Duration) -> u64 {
        let Some(begun_s) = self.unix_s(tick) else {
            return unix_ms(now).saturating_sub(self.unix_ms(tick));
        };
        match now.as_secs().checked_sub(begun_s) {
            Some(seconds) => ms(seconds).saturating_add(sub_second_ms(now)),
            None => 0,
        }
    }

    /// The second of Unix time at which a tick begins, in layouts whose ticks begin with seconds.
    #[inline]
    const fn unix_s(&self, tick: u64) -> Option<u64> {
        let LayoutFields {
            epoch_unix_ms,
            tick_ms,
            ..
        } = self.fields;
        if !tick_ms.is_multiple_of(MS_PER_SECOND) || !epoch_unix_ms.is_multiple_of(MS_PER_SECOND) {
            return None;
        }
        Some(
            tick.saturating_mul(tick_ms / MS_PER_SECOND)
                .saturating_add(epoch_unix_ms / MS_PER_SECOND),
        )
    }
}

/// Whole milliseconds; saturates after 584 million years.
#[inline]
const fn unix_ms(unix: Duration) -> u64 {
    unix.as_secs()
        .saturating_mul(MS_PER_SECOND)
        .saturating_add((unix.subsec_nanos() / NANOS_PER_MS) as u64)
}

/// Seconds in milliseconds; saturates. It multiplies 16 and 32 bits at a time: for 64, small
/// processors call a function.
#[inline]
#[expect(clippy::cast_possible_truncation, reason = "takes parts")]
const fn ms(seconds: u64) -> u64 {
    const MS: u32 = MS_PER_SECOND as u32;
    // Beyond it the parts below would overflow.
    if seconds > u64::MAX / MS_PER_SECOND {
        return u64::MAX;
    }
    let lowest = (seconds as u32 & 0xffff).wrapping_mul(MS);
    let low = (seconds as u32 >> 16).wrapping_mul(MS);
    let high = ((seconds >> 32) as u32).wrapping_mul(MS);
    (lowest as u64)
        .wrapping_add((low as u64) << 16)
        .wrapping_add((high as u64) << 32)
}

/// The milliseconds of a second that have passed: what a division by 1,000,000 would give, for
/// which small processors call a function.
#[inline]
const fn sub_second_ms(unix: Duration) -> u64 {
    // 1,000,000 is 64 * 15,625, and 4,294 / 2^16 a little less than 1,024 / 15,625.
    let nanos_64 = unix.subsec_nanos() >> 6;
    let ms = (nanos_64 >> 10).wrapping_mul(4_294) >> 16;
    let is_one_more = nanos_64.wrapping_sub(ms.wrapping_mul(15_625)) >= 15_625;
    ms.wrapping_add(is_one_more as u32) as u64
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Layout, Randflake, Snowflake};

    #[test]
    fn a_tick_that_has_begun_is_not_waited_for() {
        for spec in [Randflake::SPEC, Snowflake::SPEC] {
            let begins = spec.unix_ms(5);
            let times = [begins - 1_250, begins, begins + 1_250].map(Duration::from_millis);
            let left = times.map(|now| spec.ms_until(5, now));
            assert_eq!(left, [1_250, 0, 0], "{spec:?}");
            let passed = times.map(|now| spec.ms_since(5, now));
            assert_eq!(passed, [0, 0, 1_250], "{spec:?}");
        }
    }

    #[test]
    fn seconds_are_multiplied_as_in_64_bits() {
        let edges = [
            0,
            1,
            0xffff,
            0x1_0000,
            u64::from(u32::MAX),
            1 << 32,
            u64::MAX / 1_000,
        ];
        for near in edges {
            for seconds in near.saturating_sub(2)..=near.saturating_add(2) {
                assert_eq!(ms(seconds), seconds.saturating_mul(1_000), "{seconds}");
            }
        }
        assert_eq!(ms(u64::MAX), u64::MAX);
    }

    #[test]
    #[cfg_attr(miri, ignore = "arithmetic, thousands of times over")]
    fn milliseconds_of_a_second_are_divided_exactly() {
        for ms in 0..1_000 {
            let begins = ms * NANOS_PER_MS;
            for nanos in [begins, begins + 63, begins + NANOS_PER_MS - 1] {
                assert_eq!(sub_second_ms(Duration::new(0, nanos)), u64::from(ms));
            }
        }
    }
}
