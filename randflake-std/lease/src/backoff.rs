//! Backoff: how long, and how often, to retry a store that refuses for now.

use core::time::Duration;
use std::time::Instant;

/// Number of tries without a limit if an outcome is unknown.
const TRIES: u32 = 3;
/// First pause; each further one is twice as long.
const FIRST_PAUSE: Duration = Duration::from_millis(100);
/// Longest pause: a release, a recovered store or an ended quarantine is noticed within it.
const LONGEST_PAUSE: Duration = Duration::from_secs(2);

/// Jitter: a pause is multiplied by a random factor from 0.9 to 1.1.
const LEAST_JITTER: f64 = 0.9;
const JITTER: f64 = 0.2;

/// A holder renews after this part of the TTL, so that two renewals may fail.
pub const RENEWALS_PER_TTL: u32 = 3;
/// Longest pause after a failed renewal, as a part of the TTL.
// A sixth: what fails after a third is tried about three times more before the lease ends.
pub const LONGEST_PAUSE_PER_TTL: u32 = 6;

/// Whether retrying a refused call can succeed without a change of settings.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Retry {
    /// The outcome is unknown: the same call may succeed at once.
    Soon,
    /// After at most this time, if it is known.
    Later(Option<Duration>),
    /// After exactly this short time, for which everybody waits: a store in a file that was made a
    /// moment ago.
    Due(Duration),
    /// Never, until a setting is changed.
    Never,
}

/// Pauses between retries: exponential, with jitter, within a time limit.
///
/// ```
/// use randflake_lease::backoff::{Backoff, Retry};
/// use randflake_lease::StoreError;
/// use std::time::Duration;
///
/// let mut backoff = Backoff::new(Duration::from_secs(5));
/// let error = StoreError::unavailable("connection refused");
/// // About 100 ms, then 200 ms, and so on up to 2 s.
/// assert!(backoff.pause(Retry::from(&error)).is_some_and(|pause| pause < Duration::from_secs(1)));
/// // What needs a change of settings is not tried again.
/// assert_eq!(backoff.pause(Retry::from(&StoreError::failed_precondition("wrong password"))), None);
/// ```
#[derive(Debug)]
pub struct Backoff {
    started: Instant,
    limit: Duration,
    tries: u32,
}

impl Backoff {
    /// Starts a limit now. With zero, only calls whose outcome is unknown, and those that are due
    /// soon, are retried, twice.
    #[must_use]
    pub fn new(limit: Duration) -> Self {
        Self {
            started: Instant::now(),
            limit,
            tries: 0,
        }
    }

    /// Time since the start.
    #[must_use]
    pub fn spent(&self) -> Duration {
        self.started.elapsed()
    }

    /// Time left of the limit.
    #[must_use]
    pub fn left(&self) -> Duration {
        self.limit.saturating_sub(self.spent())
    }

    /// Returns the pause after a failure, or `None` if it was the last try.
    ///
    /// A store knows when leases expire, not when a holder releases one early: so it is asked more
    /// often than it says.
    pub fn pause(&mut self, retry: Retry) -> Option<Duration> {
        let doubled = doubled(FIRST_PAUSE, self.tries);
        self.tries = self.tries.saturating_add(1);
        let left = self.left();
        let (latest, most) = match retry {
            // No jitter: it succeeds then, and everybody waits for the same tick.
            Retry::Due(due) if self.tries < TRIES || due <= left => return Some(due),
            // Whatever the limit: an answer that was lost is worth a second request even to those
            // who do not wait.
            Retry::Soon if self.tries < TRIES => (None, Duration::MAX),
            Retry::Soon | Retry::Later(None) => (None, left),
            Retry::Later(Some(latest)) => (Some(latest.max(FIRST_PAUSE)), left),
            Retry::Due(_) | Retry::Never => return None,
        };
        let pause = doubled
            .min(LONGEST_PAUSE)
            .min(latest.unwrap_or(Duration::MAX));
        // Jitter before the limit, so that the last try is when the time is up and not after it.
        (!most.is_zero()).then(|| with_jitter(pause).min(most))
    }
}

/// Time within which every holder that reaches its store has renewed: a third of the longest TTL,
/// one failed try and the most jitter.
#[must_use]
pub fn renewed_within(longest_ttl: Duration) -> Duration {
    let pauses = longest_ttl / RENEWALS_PER_TTL + longest_ttl / LONGEST_PAUSE_PER_TTL;
    pauses.mul_f64(LEAST_JITTER + JITTER)
}

/// Exponential backoff: the pause after one more failure, twice the one before.
#[must_use]
pub fn doubled(first: Duration, former_failures: u32) -> Duration {
    // Capped in the exponent, so that it cannot overflow in a long outage.
    first * 2_u32.saturating_pow(former_failures.min(16))
}

/// Varies a pause by up to a tenth, so that the holders of a fleet do not ask in step.
#[must_use]
pub fn with_jitter(pause: Duration) -> Duration {
    pause.mul_f64(LEAST_JITTER + JITTER * random_part())
}

/// A random number from 0 to 1; 1 without a random source, since jitter is no reason to fail.
#[must_use]
pub fn random_part() -> f64 {
    getrandom::u32().map_or(1.0, |random| f64::from(random) / f64::from(u32::MAX))
}

#[cfg(test)]
mod tests {
    use super::*;

    const HOUR: Duration = Duration::from_secs(3_600);

    fn pauses(limit: Duration, retry: Retry) -> Vec<Option<Duration>> {
        let mut backoff = Backoff::new(limit);
        (0..20).map(|_| backoff.pause(retry)).collect()
    }

    #[test]
    fn without_limit_only_what_may_succeed_is_retried() {
        let soon = pauses(Duration::ZERO, Retry::Soon);
        assert_eq!(soon.iter().flatten().count(), 2);
        assert!(soon[1] > soon[0] && soon[2].is_none());
        let later = Retry::Later(Some(FIRST_PAUSE));
        for retry in [later, Retry::Later(None), Retry::Never] {
            assert_eq!(pauses(Duration::ZERO, retry), [None; 20]);
        }
    }

    #[test]
    fn what_is_due_soon_is_waited_for_exactly() {
        let due = Duration::from_millis(700);
        let expected = [Some(due), Some(due), None];
        assert_eq!(pauses(Duration::ZERO, Retry::Due(due))[..3], expected);
        assert_eq!(pauses(HOUR, Retry::Due(due)), [Some(due); 20]);
    }

    #[test]
    fn store_is_asked_every_two_seconds_within_the_limit() {
        let known = Retry::Later(Some(HOUR));
        for retry in [Retry::Soon, known, Retry::Later(None)] {
            let pauses = pauses(HOUR, retry);
            assert!(pauses.iter().all(Option::is_some), "{retry:?}");
            let longest = pauses.into_iter().flatten().max();
            assert!(longest <= Some(LONGEST_PAUSE.mul_f64(1.1)), "{retry:?}");
        }
        let soonest = pauses(HOUR, Retry::Later(Some(Duration::ZERO)));
        assert!(soonest[19] <= Some(FIRST_PAUSE.mul_f64(1.1)));
        assert_eq!(pauses(HOUR, Retry::Never), [None; 20]);
    }
}
