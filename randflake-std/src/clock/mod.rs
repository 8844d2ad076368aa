//! The clocks of a server.

use core::marker::PhantomData;
use core::sync::atomic::{AtomicU64, Ordering};
use core::time::Duration;
use std::time::{SystemTime, UNIX_EPOCH};

use randflake_core::{Clock, Layout};

#[cfg(target_os = "linux")]
mod linux;
#[cfg(target_os = "linux")]
use linux as os;
#[cfg(not(target_os = "linux"))]
mod other;
#[cfg(not(target_os = "linux"))]
use other as os;

/// The operating system's wall clock at the cost of a few nanoseconds.
///
/// On Linux it is `CLOCK_REALTIME_COARSE`, five times cheaper than the exact clock: it moves in steps
/// of 1 to 10 ms, which loses nothing for ticks of a second. For layouts of shorter ticks take
/// [`ExactSystemClock`]. Elsewhere the two are the same.
#[derive(Clone, Copy, Debug, Default)]
pub struct SystemClock;

/// The operating system's wall clock to the nanosecond: `SystemTime`.
#[derive(Clone, Copy, Debug, Default)]
pub struct ExactSystemClock;

impl Clock for SystemClock {
    #[inline]
    fn now(&self) -> Option<Duration> {
        os::wall_coarse()
    }
}

impl Clock for ExactSystemClock {
    #[inline]
    fn now(&self) -> Option<Duration> {
        wall_exact()
    }
}

/// `None` before 1970.
#[inline]
pub(crate) fn wall_exact() -> Option<Duration> {
    SystemTime::now().duration_since(UNIX_EPOCH).ok()
}

/// A reading of the machine's monotonic clock, in nanoseconds from a point that only this process
/// knows.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Monotonic(u64);

impl Monotonic {
    /// The clock that is exact enough for the layout's ticks, and no dearer.
    #[inline]
    pub(crate) fn now<L: Layout>() -> Self {
        let coarse_is_enough = const { L::SPEC.tick_ms() >= 1_000 };
        Self(if coarse_is_enough {
            os::monotonic_coarse_ns()
        } else {
            os::monotonic_exact_ns()
        })
    }
}

/// The store's time, carried on by this machine's monotonic clock: jumps of the local wall clock have
/// no effect, and it never goes back.
///
/// After a suspend it is behind until the next renewal. Ids carry old times then, of their own lease.
#[derive(Debug)]
pub(crate) struct AnchoredClock<L> {
    /// Unix time minus monotonic time in nanoseconds; it only grows.
    offset_ns: AtomicU64,
    layout: PhantomData<L>,
}

impl<L: Layout> AnchoredClock<L> {
    /// The clock of a store that answered `unix` to a request sent at `sent`. It is ahead of the
    /// store's by at most the time that the request took, so a lease ends here no later than there.
    pub(crate) fn new(unix: Duration, sent: Monotonic) -> Self {
        let clock = Self {
            offset_ns: AtomicU64::new(0),
            layout: PhantomData,
        };
        clock.anchor(unix, sent);
        clock
    }

    /// Moves the clock ahead if the store's answer says so.
    pub(crate) fn anchor(&self, unix: Duration, sent: Monotonic) {
        let unix_ns = u64::try_from(unix.as_nanos()).unwrap_or(u64::MAX);
        self.offset_ns
            .fetch_max(unix_ns.saturating_sub(sent.0), Ordering::Relaxed);
    }
}

impl<L: Layout> Clock for AnchoredClock<L> {
    #[inline]
    fn now(&self) -> Option<Duration> {
        let offset_ns = self.offset_ns.load(Ordering::Relaxed);
        Some(Duration::from_nanos(
            Monotonic::now::<L>().0.saturating_add(offset_ns),
        ))
    }
}

#[cfg(test)]
mod tests {
    use randflake_core::{Randflake, Snowflake};

    use super::*;

    const HOUR: Duration = Duration::from_secs(3600);

    fn difference(a: Option<Duration>, b: Option<Duration>) -> Duration {
        a.unwrap().abs_diff(b.unwrap())
    }

    #[test]
    fn the_coarse_clock_is_the_wall_clock() {
        assert!(difference(SystemClock.now(), ExactSystemClock.now()) < Duration::from_secs(1));
    }

    #[test]
    fn an_anchored_clock_goes_on_from_the_store_s_time() {
        for now in [wall_exact().unwrap() + HOUR, wall_exact().unwrap() - HOUR] {
            let coarse = AnchoredClock::<Randflake>::new(now, Monotonic::now::<Randflake>());
            let exact = AnchoredClock::<Snowflake>::new(now, Monotonic::now::<Snowflake>());
            assert!(difference(coarse.now(), Some(now)) < Duration::from_secs(1));
            assert!(difference(exact.now(), Some(now)) < Duration::from_secs(1));
        }
    }

    #[test]
    fn a_store_that_went_back_does_not_turn_the_clock_back() {
        let sent = Monotonic::now::<Snowflake>();
        let now = wall_exact().unwrap();
        let clock = AnchoredClock::<Snowflake>::new(now, sent);
        clock.anchor(now - HOUR, sent);
        assert!(clock.now().unwrap() >= now);
        clock.anchor(now + HOUR, sent);
        assert!(clock.now().unwrap() >= now + HOUR);
    }
}
