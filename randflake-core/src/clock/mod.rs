//! Clocks: the traits for Unix time and monotonic time, and their implementations.

mod bounds;
mod divisor;
mod unix;
mod uptime;

use core::time::Duration;

pub use bounds::TimeBounds;
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
            let known = |now| (now != UNKNOWN).then(|| to(now));
            let _was_unknown = self
                .0
                // Not a load and a store: steps that two threads make at once must add up.
                .fetch_update(Ordering::SeqCst, Ordering::SeqCst, known);
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
