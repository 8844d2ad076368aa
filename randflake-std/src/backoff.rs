//! How long to go on asking a store that refuses for now.

use core::time::Duration;
use std::time::Instant;

/// How often something is tried without a limit when its outcome is unknown.
const TRIES: u32 = 3;
/// The first pause; it doubles with each further one.
const FIRST_PAUSE: Duration = Duration::from_millis(100);
/// The longest: a release, a store that is back or a quarantine that was ended is noticed as soon.
const LONGEST_PAUSE: Duration = Duration::from_secs(2);

/// The least factor of a pause with jitter, and by how much it may be more.
const LEAST_JITTER: f64 = 0.9;
const JITTER: f64 = 0.2;

/// A holder renews when this part of the TTL has passed, so that two renewals may fail.
pub(crate) const RENEWALS_PER_TTL: u32 = 3;
/// The longest pause after a renewal that failed is this part of the TTL.
pub(crate) const LONGEST_PAUSE_PER_TTL: u32 = 6;

/// Whether what a store refuses may be granted later, although nobody changes a setting.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Retry {
    /// The outcome is unknown: the same call may succeed at once.
    Soon,
    /// After this time at the latest, if it is known.
    Later(Option<Duration>),
    /// Something has to be changed first.
    Never,
}

/// A number of tries, and a time limit.
#[derive(Debug)]
pub struct Patience {
    started: Instant,
    limit: Duration,
    tries: u32,
}

impl Patience {
    /// With a limit that begins now. Zero: only what may succeed at once is tried three times.
    #[must_use]
    pub fn new(limit: Duration) -> Self {
        Self {
            started: Instant::now(),
            limit,
            tries: 0,
        }
    }

    /// How long it has lasted so far.
    #[must_use]
    pub fn spent(&self) -> Duration {
        self.started.elapsed()
    }

    /// How much is left of the limit.
    #[must_use]
    pub fn left(&self) -> Duration {
        self.limit.saturating_sub(self.spent())
    }

    /// How long to pause after one more failure; `None` when it is the last one.
    ///
    /// A store knows when leases expire, but not when a holder releases one, so it is asked before that.
    pub fn pause(&mut self, retry: Retry) -> Option<Duration> {
        let backoff = doubled(FIRST_PAUSE, self.tries);
        self.tries = self.tries.saturating_add(1);
        let left = self.left();
        let (latest, most) = match retry {
            Retry::Soon if self.tries < TRIES => (None, Duration::MAX),
            Retry::Soon | Retry::Later(None) => (None, left),
            Retry::Later(Some(latest)) => (Some(latest.max(FIRST_PAUSE)), left),
            Retry::Never => return None,
        };
        let pause = backoff
            .min(LONGEST_PAUSE)
            .min(latest.unwrap_or(Duration::MAX));
        (!most.is_zero()).then(|| with_jitter(pause).min(most))
    }
}

/// When every holder that reaches its store has renewed, if no TTL is longer than this: with the most jitter, and after one
/// try that failed.
#[must_use]
pub fn renewed_within(longest_ttl: Duration) -> Duration {
    let pauses = longest_ttl / RENEWALS_PER_TTL + longest_ttl / LONGEST_PAUSE_PER_TTL;
    pauses.mul_f64(LEAST_JITTER + JITTER)
}

/// The pause after one more failure, if the first was this long: twice the one before.
pub(crate) fn doubled(first: Duration, former_failures: u32) -> Duration {
    first * 2_u32.saturating_pow(former_failures.min(16))
}

/// Up to a tenth more or less, so that the holders of a fleet do not ask in step.
pub(crate) fn with_jitter(pause: Duration) -> Duration {
    let tenths = getrandom::u32().map_or(1.0, |random| f64::from(random) / f64::from(u32::MAX));
    pause.mul_f64(LEAST_JITTER + JITTER * tenths)
}

#[cfg(test)]
mod tests {
    use super::*;

    const HOUR: Duration = Duration::from_secs(3_600);

    fn pauses(limit: Duration, retry: Retry) -> Vec<Option<Duration>> {
        let mut patience = Patience::new(limit);
        (0..20).map(|_| patience.pause(retry)).collect()
    }

    #[test]
    fn without_a_limit_only_what_may_succeed_at_once_is_tried_again_twice() {
        let soon = pauses(Duration::ZERO, Retry::Soon);
        assert_eq!(soon.iter().flatten().count(), 2);
        assert!(soon[1] > soon[0] && soon[2].is_none());
        let later = Retry::Later(Some(FIRST_PAUSE));
        for retry in [later, Retry::Later(None), Retry::Never] {
            assert_eq!(pauses(Duration::ZERO, retry), [None; 20]);
        }
    }

    #[test]
    fn within_the_limit_the_store_is_asked_at_least_every_two_seconds() {
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
