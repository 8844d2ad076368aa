//! End of the period of a handle's numbers, by two clocks.

use core::sync::atomic::{AtomicU64, Ordering};
use core::time::Duration;

use randflake_lease::unstable::clock::{MonotonicTime, wall_exact};

/// The end of a period by two clocks of this machine, of which the first to reach it counts.
///
/// The monotonic clock carries the store's time on, and stands still while the machine is
/// suspended; the other one does not, but may be set. What ends too early by it is only reserved
/// again.
#[derive(Debug)]
pub(super) struct PeriodEnd {
    monotonic_ns: AtomicU64,
    wall_ns: AtomicU64,
}

impl PeriodEnd {
    /// Of a period that lasts so long since a request was sent: no longer here than in the store.
    pub(super) fn new(sent: &Sent, lasts: Duration) -> Self {
        let end = Self {
            monotonic_ns: AtomicU64::new(0),
            wall_ns: AtomicU64::new(0),
        };
        end.set(sent, lasts);
        end
    }

    pub(super) fn set(&self, sent: &Sent, lasts: Duration) {
        let lasts = nanos(lasts);
        // Relaxed: who sees an old one is refused a number once more than needed.
        let (monotonic, wall) = (sent.monotonic_ns, sent.wall_ns);
        self.monotonic_ns
            .store(monotonic.saturating_add(lasts), Ordering::Relaxed);
        self.wall_ns
            .store(wall.saturating_add(lasts), Ordering::Relaxed);
    }

    /// How long until the period ends; zero if it has ended.
    #[inline]
    pub(super) fn left(&self) -> Duration {
        let now = Sent::now();
        let monotonic =
            (self.monotonic_ns.load(Ordering::Relaxed)).saturating_sub(now.monotonic_ns);
        let wall = (self.wall_ns.load(Ordering::Relaxed)).saturating_sub(now.wall_ns);
        Duration::from_nanos(monotonic.min(wall))
    }
}

/// When a request was sent, by both clocks.
#[derive(Clone, Copy, Debug)]
pub(super) struct Sent {
    monotonic_ns: u64,
    wall_ns: u64,
}

impl Sent {
    pub(super) fn now() -> Self {
        Self {
            monotonic_ns: MonotonicTime::exact().nanos(),
            wall_ns: nanos(wall_exact().unwrap_or_default()),
        }
    }
}

fn nanos(time: Duration) -> u64 {
    u64::try_from(time.as_nanos()).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    const HOUR: Duration = Duration::from_secs(3_600);

    #[test]
    fn a_period_ends_by_whichever_clock_reaches_it_first() {
        let now = Sent::now();
        let hour = nanos(HOUR);
        let end = PeriodEnd::new(&now, HOUR * 2);
        assert!(end.left() > HOUR && end.left() <= HOUR * 2);
        // The machine was suspended for three hours, or its clock was set ahead.
        let suspended = Sent {
            wall_ns: now.wall_ns - 3 * hour,
            ..now
        };
        end.set(&suspended, HOUR * 2);
        assert_eq!(end.left(), Duration::ZERO);
        // Its clock was set back.
        let set_back = Sent {
            monotonic_ns: now.monotonic_ns,
            wall_ns: now.wall_ns + 9 * hour,
        };
        end.set(&set_back, HOUR);
        assert!(end.left() <= HOUR && end.left() > HOUR / 2);
        end.set(&now, Duration::MAX);
        assert!(end.left() > HOUR);
    }
}
