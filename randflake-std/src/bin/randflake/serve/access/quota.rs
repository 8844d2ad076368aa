//! How much a token may be used for in a second.

use core::num::NonZeroU64;
use core::sync::atomic::{AtomicU64, Ordering};
use core::time::Duration;
use std::time::Instant;

const NANOS: u64 = 1_000_000_000;

/// A token bucket that holds what a second brings: the generic cell rate algorithm, whose whole state is the time at
/// which the bucket is full again. One word, so that all connections of a token share it without a lock.
#[derive(Debug)]
pub(crate) struct Quota {
    per_second: NonZeroU64,
    begun: Instant,
    /// In nanoseconds since `begun`.
    full_at: AtomicU64,
}

impl Quota {
    pub(crate) fn new(per_second: NonZeroU64) -> Self {
        Self {
            per_second,
            begun: Instant::now(),
            full_at: AtomicU64::new(0),
        }
    }

    pub(crate) fn per_second(&self) -> NonZeroU64 {
        self.per_second
    }

    /// Takes so much, or says how long it takes until there is as much. More than a second's is never there.
    pub(crate) fn take(&self, amount: u64) -> Result<(), Option<Duration>> {
        let since = self.begun.elapsed();
        self.take_at(u64::try_from(since.as_nanos()).unwrap_or(u64::MAX), amount)
    }

    fn take_at(&self, now: u64, amount: u64) -> Result<(), Option<Duration>> {
        if amount > self.per_second.get() {
            return Err(None);
        }
        // At most a second, so it is below 2^30 nanoseconds.
        let cost = u128::from(amount) * u128::from(NANOS) / u128::from(self.per_second.get());
        let cost = u64::try_from(cost).unwrap_or(NANOS);
        let mut full_at = self.full_at.load(Ordering::Relaxed);
        loop {
            let next = full_at.max(now).saturating_add(cost);
            let behind = next.saturating_sub(now.saturating_add(NANOS));
            if behind > 0 {
                return Err(Some(Duration::from_nanos(behind)));
            }
            let exchanged = self.full_at.compare_exchange_weak(
                full_at,
                next,
                Ordering::Relaxed,
                Ordering::Relaxed,
            );
            match exchanged {
                Ok(_) => return Ok(()),
                Err(seen) => full_at = seen,
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_second_brings_what_it_holds() {
        let quota = Quota::new(NonZeroU64::new(10).unwrap());
        assert_eq!(quota.take_at(0, 11), Err(None));
        assert_eq!(quota.take_at(0, 10), Ok(()));
        let tenth = Duration::from_millis(100);
        assert_eq!(quota.take_at(0, 1), Err(Some(tenth)));
        assert_eq!(quota.take_at(NANOS / 10, 1), Ok(()));
        assert_eq!(quota.take_at(NANOS / 10, 1), Err(Some(tenth)));
        // However long nothing was taken, a second's is the most.
        assert_eq!(quota.take_at(100 * NANOS, 10), Ok(()));
        assert_eq!(quota.take_at(100 * NANOS, 1), Err(Some(tenth)));
    }

    #[test]
    fn more_than_nanoseconds_cost_nothing_each() {
        let quota = Quota::new(NonZeroU64::MAX);
        assert_eq!(quota.take_at(0, u64::MAX), Ok(()));
    }
}
