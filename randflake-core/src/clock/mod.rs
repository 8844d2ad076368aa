//! Clocks: the traits for Unix time and monotonic time, their implementations, and limits on the
//! times that a device accepts.

mod unix;
mod uptime;

use core::time::Duration;

use crate::{Layout, Lease};

pub use unix::UnixClock;
pub use uptime::Uptime;

/// A source of Unix time.
///
/// Its contract:
///
/// - `now` is cheap, never blocks, and may be called from an interrupt.
/// - It is the time since 1970-01-01 00:00:00 UTC, as Unix counts it (no leap seconds), or `None`
///   as long as the time is not known: before the first synchronisation, say.
/// - It **may** stand still, jump ahead or go back. Ids stay unique under any clock; it decides
///   only which times they carry, and when ids are refused.
pub trait Clock {
    /// The current Unix time, or `None` if it is not known yet.
    fn now(&self) -> Option<Duration>;
}

impl<C: Clock + ?Sized> Clock for &C {
    #[inline]
    fn now(&self) -> Option<Duration> {
        (**self).now()
    }
}

/// A source of monotonic time, such as the time since boot.
///
/// Its contract:
///
/// - `uptime` is cheap, never blocks, never fails, and may be called from an interrupt.
/// - It never goes back, and passes as fast as time does.
pub trait Monotonic {
    /// Time since a fixed moment, usually boot.
    fn uptime(&self) -> Duration;
}

impl<M: Monotonic + ?Sized> Monotonic for &M {
    #[inline]
    fn uptime(&self) -> Duration {
        (**self).uptime()
    }
}

#[cfg(target_has_atomic = "64")]
pub use manual::ManualClock;

#[cfg(target_has_atomic = "64")]
mod manual {
    use core::sync::atomic::{AtomicU64, Ordering};
    use core::time::Duration;

    use super::Clock;

    /// A clock that is set by hand, in milliseconds: for tests and simulations. Share it by
    /// reference.
    ///
    /// ```
    /// use core::time::Duration;
    /// use randflake_core::{Clock, ManualClock};
    ///
    /// let clock = ManualClock::unknown();
    /// assert_eq!(clock.now(), None);
    /// clock.set_unix_ms(1_730_000_000_000);
    /// clock.advance_ms(1_500);
    /// assert_eq!(clock.now(), Some(Duration::from_millis(1_730_000_001_500)));
    /// ```
    #[derive(Debug)]
    pub struct ManualClock(AtomicU64);

    // No time that a test needs: 584 million years after 1970.
    const UNKNOWN: u64 = u64::MAX;

    impl ManualClock {
        /// Creates a clock that does not know the time.
        #[must_use]
        pub const fn unknown() -> Self {
            Self(AtomicU64::new(UNKNOWN))
        }

        /// Creates a clock at a Unix time in milliseconds.
        #[must_use]
        pub const fn at_unix_ms(unix_ms: u64) -> Self {
            Self(AtomicU64::new(unix_ms))
        }

        /// Sets the Unix time in milliseconds.
        pub fn set_unix_ms(&self, unix_ms: u64) {
            // The strongest ordering: tests on several threads reason about one order of all steps.
            self.0.store(unix_ms, Ordering::SeqCst);
        }

        /// Advances the time; no effect while it is unknown.
        pub fn advance_ms(&self, ms: u64) {
            self.change(|now| now.saturating_add(ms));
        }

        /// Steps the time ahead, or back if `ms` is negative; no effect while it is unknown.
        pub fn step_ms(&self, ms: i64) {
            self.change(|now| now.saturating_add_signed(ms));
        }

        fn change(&self, to: impl Fn(u64) -> u64) {
            let _was_unknown = self
                .0
                // Not a load and a store: steps that two threads make at once must add up.
                .fetch_update(Ordering::SeqCst, Ordering::SeqCst, |now| {
                    (now != UNKNOWN).then(|| to(now))
                });
        }
    }

    impl Clock for ManualClock {
        fn now(&self) -> Option<Duration> {
            match self.0.load(Ordering::SeqCst) {
                UNKNOWN => None,
                unix_ms => Some(Duration::from_millis(unix_ms)),
            }
        }
    }
}

/// Limits for the time that a device accepts from a real-time clock or over the network.
///
/// Uniqueness does not depend on them: a wrong time makes ids old, or burns ticks of a lease, which
/// are lost for ever. These rules limit that loss:
///
/// - **A time too early** (a real-time clock whose battery was replaced): the horizon is the lower
///   bound, since every tick below may have been used.
/// - **A time too late**: a step forward is limited to [a day](Self::DEFAULT_MAX_STEP) unless set,
///   and to the end of the lease.
/// - **No time** (no real-time clock): the clock begins at [`start`](TimeBounds::start) and runs on
///   its own ticks, so that there are ids before the first synchronisation.
///
/// [`UnixClock::set_within`](crate::UnixClock::set_within) counts steps from the last trusted
/// setting, so that many wrong times burn no more than one. When the time is corrected, ids that
/// are already stamped stay ahead of it: a generator with a
/// [tolerance](crate::Generator::with_tolerance) of the largest step and a block goes on where it
/// was.
///
/// ```
/// use core::time::Duration;
/// use randflake_core::{Lease, Randflake, TimeBounds};
///
/// let s = |s: u64| Duration::from_secs(1_730_000_000 + s);
/// let bounds = TimeBounds::from_horizon(s(500))
///     .within(&Lease::new(Randflake, 42, 100, 1_000)?)
///     .with_max_step(Duration::from_secs(60));
/// assert_eq!(bounds.start(), s(500));
/// assert_eq!(bounds.believe(s(20), None), s(500), "floored");
/// assert_eq!(bounds.believe(s(999_999), Some(s(700))), s(760), "capped");
/// assert_eq!(bounds.believe(s(999_999), Some(s(980))), s(1_000), "clamped: the lease is over");
/// # Ok::<(), randflake_core::LeaseError>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TimeBounds {
    floor: Duration,
    window: Option<(Duration, Duration)>,
    max_step: Duration,
}

impl TimeBounds {
    /// Default limit of a step forward: a day. A wrong time wastes no more of a grant.
    pub const DEFAULT_MAX_STEP: Duration = Duration::from_secs(86_400);

    /// Creates bounds that accept no time before the horizon. Pass zero without a horizon, and the
    /// start of the rest of a block that [`Blocks::resume`](crate::Blocks::resume) goes on with.
    #[must_use]
    pub const fn from_horizon(horizon: Duration) -> Self {
        Self {
            floor: horizon,
            window: None,
            max_step: Self::DEFAULT_MAX_STEP,
        }
    }

    /// Restricts times to the interval of the lease. The lease must be authenticated, otherwise its
    /// sender sets the clock.
    #[must_use]
    pub const fn within<L: Layout>(mut self, lease: &Lease<L>) -> Self {
        let start = Duration::from_millis(L::SPEC.unix_ms(lease.start()));
        let end = Duration::from_millis(L::SPEC.unix_ms(lease.end()));
        self.window = Some((start, end));
        self
    }

    /// Limits each step forward; [a day](Self::DEFAULT_MAX_STEP) unless set.
    ///
    /// This is how much of a grant a wrong time may waste per boot, and how long the device may be
    /// off without its ids becoming old: after a longer time its clock stays behind until it
    /// receives a trusted time or boots again. Use `Duration::MAX` for a source that is as trusted
    /// as the lease.
    #[must_use]
    pub const fn with_max_step(mut self, max_step: Duration) -> Self {
        self.max_step = max_step;
        self
    }

    /// Time to start at without a time source: the horizon, or the start of the lease if later.
    #[must_use]
    pub fn start(&self) -> Duration {
        match self.window {
            Some((start, _)) => start.max(self.floor),
            None => self.floor,
        }
    }

    /// Limits a received time. `trusted` is the time by the last trusted setting, or `None` before
    /// the first. Steps are then counted from [`start`](Self::start), unless that is zero. A lease
    /// that starts later than the trusted time replaces it, so that a clock far behind can enter a
    /// new lease.
    ///
    /// Steps back are accepted down to the floor; a generator then holds, waits or refuses.
    #[must_use]
    pub fn believe(&self, received: Duration, trusted: Option<Duration>) -> Duration {
        let from = match (trusted, self.window) {
            // The start of an authenticated lease is as trusted as a setting of the clock.
            (Some(trusted), Some((start, _))) => Some(trusted.max(start)),
            (trusted, _) => trusted.or(self.step_base()),
        };
        // Cap first, then the window, then the floor: each later limit overrides the earlier ones.
        let capped = match from {
            // Saturates, as a largest step of `Duration::MAX` stands for none.
            Some(from) => received.min(from.saturating_add(self.max_step)),
            None => received,
        };
        let clamped = match self.window {
            Some((start, end)) => capped.max(start).min(end),
            None => capped,
        };
        // The floor comes last: ticks below the horizon may be used, even if the lease is over by
        // then.
        clamped.max(self.floor)
    }

    /// Time from which the first setting counts its step; `None` if nothing is known.
    pub(crate) fn step_base(&self) -> Option<Duration> {
        // Zero means that neither a horizon nor a lease is known: then the first received time has
        // nothing to be limited by.
        Some(self.start()).filter(|start| !start.is_zero())
    }
}

#[cfg(test)]
mod tests {
    #![expect(clippy::arithmetic_side_effects, reason = "a test fails by panicking")]

    use super::*;
    use crate::Randflake;

    fn s(s: u64) -> Duration {
        Duration::from_secs(1_730_000_000 + s)
    }

    fn lease() -> Lease<Randflake> {
        Lease::new(Randflake, 1, 100, 1_000).unwrap()
    }

    #[test]
    fn a_clock_behind_is_floored_by_the_horizon() {
        let bounds = TimeBounds::from_horizon(s(500));
        for shown in [None, Some(s(900)), Some(s(10))] {
            assert_eq!(bounds.believe(Duration::ZERO, shown), s(500));
            assert_eq!(bounds.within(&lease()).believe(s(0), shown), s(500));
        }
        assert_eq!(bounds.believe(s(501), Some(s(900))), s(501), "a step back");
    }

    #[test]
    fn a_clock_ahead_is_clamped_to_the_window() {
        let bounds = TimeBounds::from_horizon(s(500)).within(&lease());
        assert_eq!(bounds.believe(s(999), None), s(999));
        assert_eq!(bounds.believe(Duration::MAX, None), s(1_000));
        assert_eq!(
            TimeBounds::from_horizon(s(0))
                .within(&lease())
                .believe(s(0), None),
            s(100),
            "before the window"
        );
    }

    #[test]
    fn a_horizon_past_the_window_wins() {
        let bounds = TimeBounds::from_horizon(s(2_000)).within(&lease());
        assert_eq!(bounds.start(), s(2_000));
        assert_eq!(bounds.believe(s(999), Some(s(998))), s(2_000));
    }

    #[test]
    fn steps_forward_are_capped() {
        let minute = Duration::from_secs(60);
        let bounds = TimeBounds::from_horizon(s(500)).with_max_step(minute);
        assert_eq!(bounds.believe(s(9_999), Some(s(600))), s(660));
        assert_eq!(bounds.believe(s(640), Some(s(600))), s(640));
        assert_eq!(bounds.believe(s(9_999), None), s(560));
        assert_eq!(bounds.within(&lease()).believe(s(9_999), None), s(560));
        assert_eq!(bounds.believe(s(9_999), Some(Duration::MAX)), s(9_999));
        let bounds = TimeBounds::from_horizon(Duration::ZERO).with_max_step(minute);
        assert_eq!(
            bounds.believe(s(9_999), None),
            s(9_999),
            "nothing to count from"
        );
        assert_eq!(bounds.within(&lease()).believe(s(9_999), None), s(160));
    }

    /// It was told the time before it had a lease, of a year later.
    #[test]
    fn steps_count_from_a_later_lease() {
        let bounds = TimeBounds::from_horizon(s(50))
            .with_max_step(Duration::from_secs(60))
            .within(&lease());
        assert_eq!(bounds.believe(s(130), Some(s(20))), s(130));
        assert_eq!(bounds.believe(s(999), Some(s(20))), s(160));
    }

    #[test]
    fn a_day_at_most_unless_set() {
        let bounds = TimeBounds::from_horizon(s(500));
        for trusted in [None, Some(s(500))] {
            assert_eq!(bounds.believe(Duration::MAX, trusted), s(500 + 86_400));
        }
    }

    #[test]
    fn unset_clock_starts_at_horizon_or_lease() {
        assert_eq!(TimeBounds::from_horizon(s(500)).start(), s(500));
        assert_eq!(
            TimeBounds::from_horizon(s(50)).within(&lease()).start(),
            s(100)
        );
        assert_eq!(
            TimeBounds::from_horizon(s(500)).within(&lease()).start(),
            s(500)
        );
    }
}
