//! Clocks for servers: the system clock, and one anchored to the clock of a store.

use core::sync::atomic::{AtomicU64, Ordering};
use core::time::Duration;
use std::time::{SystemTime, UNIX_EPOCH};

use randflake_core::{AnyLayout, Clock, Randflake};

/// The operating system's wall clock at the cost of a few nanoseconds.
///
/// On Linux it is `CLOCK_REALTIME_COARSE`, five times cheaper than the exact clock: it advances in
/// steps of 1 to 10 ms, precise enough for ticks of a second. For layouts with shorter ticks use
/// [`ExactSystemClock`]. On other systems the two are the same.
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

/// Unix time by the exact wall clock; `None` before 1970.
#[inline]
#[must_use]
pub fn wall_exact() -> Option<Duration> {
    SystemTime::now().duration_since(UNIX_EPOCH).ok()
}

/// A reading of the monotonic clock, in nanoseconds from a point that only this process knows.
#[derive(Clone, Copy, Debug)]
// Not `Instant`, which has no coarse reading.
pub struct MonotonicTime(u64);

impl MonotonicTime {
    #[must_use]
    /// Reads the exact clock.
    pub fn exact() -> Self {
        Self(os::monotonic_exact_ns())
    }

    /// Nanoseconds since the point that only this process knows.
    #[must_use]
    pub fn nanos(self) -> u64 {
        self.0
    }

    /// Reads the coarse clock: never ahead of the exact one, some milliseconds behind where that is
    /// much cheaper.
    #[inline]
    fn coarse() -> Self {
        Self(os::monotonic_coarse_ns())
    }
}

/// Where the clocks of leases end: the year 2500. Nanoseconds in 64 bits do in 2554, and a clock
/// goes on from its store's time.
pub const END: Duration = Duration::from_secs(16_725_225_600);

/// Whether an [`AnchoredClock`] of the layout has a more exact reading than its own.
#[inline]
pub fn is_coarse(layout: impl AnyLayout) -> bool {
    // The coarse clock is up to 10 ms late: a hundredth of such a tick, but several ticks of a
    // layout of milliseconds.
    layout.spec().tick_ms() >= 1_000
}

/// The time of the store, extrapolated by the local monotonic clock: steps of the local wall clock
/// have no effect, and it never goes back.
///
/// For long ticks it reads the coarse clock, so it may be some milliseconds late: precise enough to
/// say that a tick has ids, not to say that it has none.
///
/// After a suspend it is behind until the next renewal. Ids then have old times, within their own
/// lease.
#[derive(Debug)]
pub struct AnchoredClock<L> {
    /// Unix time minus monotonic time in nanoseconds; it only grows.
    offset_ns: AtomicU64,
    layout: L,
}

impl<L: AnyLayout> AnchoredClock<L> {
    /// Creates the clock of a store that answered `unix` to a request sent at `sent`. It assumes
    /// that the answer took no time, so it is ahead of the store by at most the request time, and a
    /// lease ends here no later than there.
    pub fn new(layout: L, unix: Duration, sent: MonotonicTime) -> Self {
        let clock = Self {
            offset_ns: AtomicU64::new(0),
            layout,
        };
        clock.anchor(unix, sent);
        clock
    }

    /// Moves the clock ahead to a later answer of the store, never back.
    pub fn anchor(&self, unix: Duration, sent: MonotonicTime) {
        let unix_ns = u64::try_from(unix.min(END).as_nanos()).unwrap_or(u64::MAX);
        let offset_ns = unix_ns.saturating_sub(sent.0);
        // Relaxed: the offset alone is shared. A reader that sees an older one is behind the store,
        // which is safe.
        self.offset_ns.fetch_max(offset_ns, Ordering::Relaxed);
    }

    /// The same clock, read to the nanosecond.
    pub fn exact(&self) -> Exact<'_, L> {
        Exact(self)
    }

    #[inline]
    fn at(&self, monotonic: MonotonicTime) -> Duration {
        Duration::from_nanos(self.ns_at(monotonic))
    }

    #[inline]
    fn ns_at(&self, monotonic: MonotonicTime) -> u64 {
        let offset_ns = self.offset_ns.load(Ordering::Relaxed);
        // Both are times of the last centuries.
        monotonic.0.wrapping_add(offset_ns)
    }

    /// The time in nanoseconds since the Unix epoch, which a division less makes cheaper.
    #[inline]
    pub fn now_ns(&self) -> u64 {
        self.ns_at(if is_coarse(self.layout) {
            MonotonicTime::coarse()
        } else {
            MonotonicTime::exact()
        })
    }
}

impl<L: AnyLayout> Clock for AnchoredClock<L> {
    #[inline]
    fn now(&self) -> Option<Duration> {
        Some(Duration::from_nanos(self.now_ns()))
    }
}

/// An [`AnchoredClock`], read to the nanosecond.
#[derive(Debug)]
pub struct Exact<'a, L>(&'a AnchoredClock<L>);

impl<L: AnyLayout> Clock for Exact<'_, L> {
    fn now(&self) -> Option<Duration> {
        Some(self.0.at(MonotonicTime::exact()))
    }
}

/// The wall clock, except that it does not go back while this lives.
#[derive(Debug)]
pub(crate) struct SteadyClock(AnchoredClock<Randflake>);

impl SteadyClock {
    pub(crate) fn new() -> Self {
        let sent = MonotonicTime::exact();
        let now = wall_exact().unwrap_or_default();
        Self(AnchoredClock::new(Randflake, now, sent))
    }
}

impl Clock for SteadyClock {
    fn now(&self) -> Option<Duration> {
        // In this order a delay in between makes this clock ahead, as that of a store is, never
        // behind.
        let sent = MonotonicTime::exact();
        if let Some(wall) = wall_exact() {
            self.0.anchor(wall, sent);
        }
        self.0.exact().now()
    }
}

/// Linux: the kernel's coarse clocks cost a load, the exact ones a reading of the time stamp
/// counter.
#[cfg(target_os = "linux")]
mod os {
    use core::time::Duration;

    use rustix::time::{ClockId, Timespec, clock_gettime};

    /// Unix time by the coarse wall clock; `None` before 1970.
    #[inline]
    pub(super) fn wall_coarse() -> Option<Duration> {
        let Timespec { tv_sec, tv_nsec } = clock_gettime(ClockId::RealtimeCoarse);
        let nanos = u32::try_from(tv_nsec).ok()?;
        Some(Duration::new(u64::try_from(tv_sec).ok()?, nanos))
    }

    #[inline]
    pub(super) fn monotonic_coarse_ns() -> u64 {
        monotonic_ns(ClockId::MonotonicCoarse)
    }

    #[inline]
    pub(super) fn monotonic_exact_ns() -> u64 {
        monotonic_ns(ClockId::Monotonic)
    }

    /// Counts from the machine's start, so it is never negative and fits for 584 years.
    #[inline]
    fn monotonic_ns(id: ClockId) -> u64 {
        // Wrapping: what cannot overflow is not checked, since this is in the path of each id.
        let Timespec { tv_sec, tv_nsec } = clock_gettime(id);
        tv_sec
            .cast_unsigned()
            .wrapping_mul(1_000_000_000)
            .wrapping_add(tv_nsec.cast_unsigned())
    }
}

/// Other systems: the clocks of the standard library.
#[cfg(not(target_os = "linux"))]
mod os {
    use core::time::Duration;
    use std::sync::OnceLock;
    use std::time::Instant;

    pub(super) fn wall_coarse() -> Option<Duration> {
        super::wall_exact()
    }

    pub(super) fn monotonic_coarse_ns() -> u64 {
        monotonic_exact_ns()
    }

    pub(super) fn monotonic_exact_ns() -> u64 {
        // An `Instant` does not show its number, only differences: these are from the first
        // reading.
        static ORIGIN: OnceLock<Instant> = OnceLock::new();
        let elapsed = ORIGIN.get_or_init(Instant::now).elapsed();
        u64::try_from(elapsed.as_nanos()).unwrap_or(u64::MAX)
    }
}

#[cfg(test)]
mod tests {
    use std::time::Instant;

    use randflake_core::Snowflake;

    use super::*;

    const HOUR: Duration = Duration::from_secs(3600);

    const SECOND: Duration = Duration::from_secs(1);

    #[test]
    fn the_coarse_clock_is_the_wall_clock() {
        let before = wall_exact().unwrap();
        let coarse = SystemClock.now().unwrap();
        let after = wall_exact().unwrap();
        assert!(coarse + SECOND > before && coarse < after + SECOND);
    }

    #[test]
    fn an_anchored_clock_goes_on_from_the_store_s_time() {
        for now in [
            wall_exact().unwrap() + HOUR,
            wall_exact().unwrap().saturating_sub(HOUR),
        ] {
            let begin = Instant::now();
            let coarse = AnchoredClock::new(Randflake, now, MonotonicTime::exact());
            let exact = AnchoredClock::new(Snowflake, now, MonotonicTime::exact());
            for shown in [coarse.now().unwrap(), exact.now().unwrap()] {
                assert!(shown + SECOND > now && shown < now + begin.elapsed() + SECOND);
            }
        }
    }

    #[test]
    fn store_that_went_back_does_not_turn_clock_back() {
        let sent = MonotonicTime::exact();
        let now = wall_exact().unwrap();
        let clock = AnchoredClock::new(Snowflake, now, sent);
        clock.anchor(now.saturating_sub(HOUR), sent);
        assert!(clock.now().unwrap() >= now);
        clock.anchor(now + HOUR, sent);
        assert!(clock.now().unwrap() >= now + HOUR);
    }

    #[test]
    fn a_clock_stops_at_its_end_and_does_not_wrap() {
        for now in [END, Duration::from_nanos(u64::MAX), Duration::MAX] {
            let clock = AnchoredClock::new(Snowflake, now, MonotonicTime::exact());
            assert!((END..END + HOUR).contains(&clock.now().unwrap()));
        }
    }

    #[test]
    fn anchored_clock_is_never_ahead_of_the_store() {
        // At every place between two steps of the coarse clock.
        let begin = Instant::now();
        while begin.elapsed() < Duration::from_millis(8) {
            let (start, now) = (Instant::now(), wall_exact().unwrap());
            let clock = AnchoredClock::new(Randflake, now, MonotonicTime::exact());
            let coarse = clock.now().unwrap();
            let exact = clock.exact().now().unwrap();
            assert!(coarse <= exact);
            assert!(exact <= now + start.elapsed());
        }
    }
}
