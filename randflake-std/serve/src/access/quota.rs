//! Quotas: rate limits of a token, and what each request counts as against them.
//!
//! One that an id takes as long as counts as one. What takes longer counts as more, by what it
//! costs beside an `INCR` of a pipeline; what asks for several things at once counts as each of
//! them. What needs neither ids nor the store has a quota of its own: a client that greets, or asks
//! whether the server answers, is not refused because its ids were many.

use core::num::NonZeroU64;
use core::sync::atomic::{AtomicU64, Ordering};
use core::time::Duration;
use std::sync::Arc;
use std::time::Instant;

use tokio::sync::{OwnedSemaphorePermit, Semaphore};

/// What a token has a quota of, in the order of their table.
#[derive(Clone, Copy, Debug)]
pub enum QuotaKind {
    /// New ids.
    Ids,
    /// Requests of any kind.
    Requests,
    /// New leases.
    Leases,
    /// Looks at the store.
    Reads,
}

/// A value for each kind of quota.
pub type PerQuota<T> = [T; QuotaKind::ALL.len()];

impl QuotaKind {
    /// Each with its name in files and messages, and its limit where a token's line has none: a
    /// store keeps the last 65,536 leases of a node id, so that at 50 a second one token takes more
    /// than 20 minutes to push out a lease of others. At once it is as many as one request may ask
    /// for.
    pub(super) const ALL: [(&'static str, Option<Limit>); 4] = [
        ("ids", None),
        ("requests", None),
        ("leases", Some(Limit::new(50, 1_000))),
        ("reads", Some(Limit::new(100, 1_000))),
    ];
}

const NANOS: u64 = 1_000_000_000;

/// A rate per second, and the largest burst.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Limit {
    pub(crate) per_second: NonZeroU64,
    /// Largest burst: the amount of one second, or more.
    pub(crate) at_once: NonZeroU64,
}

impl Limit {
    pub(crate) const fn new(per_second: u64, at_once: u64) -> Self {
        Self {
            per_second: at_least_one(per_second),
            at_once: at_least_one(at_once),
        }
    }

    /// A limit whose burst is the amount of one second.
    pub(crate) const fn of(per_second: NonZeroU64) -> Self {
        Self {
            per_second,
            at_once: per_second,
        }
    }
}

const fn at_least_one(number: u64) -> NonZeroU64 {
    match NonZeroU64::new(number) {
        Some(number) => number,
        None => NonZeroU64::MIN,
    }
}

/// A token bucket: the generic cell rate algorithm (ITU-T I.371, virtual scheduling), whose whole
/// state is the time at which the bucket is full again. One word, so that all connections of a
/// token share it without a lock; nothing else is published by it, so that relaxed order is enough.
#[derive(Debug)]
pub(crate) struct Quota {
    limit: Limit,
    begun: Instant,
    /// Time at which the bucket is full, in nanoseconds since `begun`.
    full_at: AtomicU64,
}

impl Quota {
    pub(crate) fn new(limit: Limit) -> Self {
        Self {
            limit,
            begun: Instant::now(),
            full_at: AtomicU64::new(0),
        }
    }

    pub(crate) fn limit(&self) -> Limit {
        self.limit
    }

    /// Takes an amount, or returns the time until it is available; `None` if it exceeds the burst.
    pub(crate) fn take(&self, amount: u64) -> Result<(), Option<Duration>> {
        let since = self.begun.elapsed();
        self.take_at(u64::try_from(since.as_nanos()).unwrap_or(u64::MAX), amount)
    }

    fn take_at(&self, now: u64, amount: u64) -> Result<(), Option<Duration>> {
        if amount > self.limit.at_once.get() {
            return Err(None);
        }
        // In `u128` inside: a large amount at a small rate would wrap to a short time.
        let (cost, most) = (self.time_of(amount), self.time_of(self.limit.at_once.get()));
        let mut full_at = self.full_at.load(Ordering::Relaxed);
        loop {
            // A bucket that was full before is full now: an idle time saves up no more than a
            // burst.
            let next = full_at.max(now).saturating_add(cost);
            let behind = next.saturating_sub(now.saturating_add(most));
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

    /// Nanoseconds in which an amount accrues.
    fn time_of(&self, amount: u64) -> u64 {
        let time = u128::from(amount) * u128::from(NANOS) / u128::from(self.limit.per_second.get());
        u64::try_from(time).unwrap_or(u64::MAX)
    }
}

/// Weight of a request against the quotas of a token.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Weight {
    /// As one small request: `PING`, `AUTH`, and all that is wrong.
    Small,
    /// As so many requests. Never more than a second brings: who may send one a second may send any
    /// one.
    Requests(u64),
    /// As a request for each thing that is asked for, however many.
    Each(u64),
}

impl Weight {
    /// An id, the fields of one, or a grant. What reads the store has a quota of reads beside.
    pub(crate) const ONE: Self = Self::Requests(1);
    /// `INFO`, `COMMAND`: a text of all namespaces, or of all commands.
    pub(crate) const DESCRIPTION: Self = Self::Requests(10);
    /// `/metrics`, `/v1/status`: all namespaces, each with a look at its store.
    pub(crate) const OVERVIEW: Self = Self::Requests(50);
}

/// Quota of small requests per second, by the quota of requests.
pub(super) fn small_per_second(requests: NonZeroU64) -> NonZeroU64 {
    /// For the greetings of as many connections: a token with a quota of one request a second may
    /// still have a pool.
    const LEAST: NonZeroU64 = NonZeroU64::new(100).unwrap();
    const TIMES: NonZeroU64 = NonZeroU64::new(10).unwrap();
    requests.saturating_mul(TIMES).max(LEAST)
}

/// What a request does with the store.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Work {
    /// Acquires, renews or releases leases.
    Change,
    /// Reads the history or lists leases. It has sessions of its own, so that no number of reads
    /// holds up a lease.
    Read,
}

impl Work {
    /// Requests that the store works on at the same time, each in a session of its own. Few: a
    /// database server has a hundred connections by default, and a fleet of servers shares them.
    pub(crate) const fn sessions(self) -> usize {
        match self {
            Self::Change => 5,
            Self::Read => 3,
        }
    }

    /// Sessions that one token may use: there is always a session for others, however many requests
    /// it sends.
    const fn of_one_token(self) -> usize {
        self.sessions() - 1
    }
}

/// How many requests of one token may work with stores.
#[derive(Debug)]
pub(crate) struct Turns {
    changes: Arc<Semaphore>,
    reads: Arc<Semaphore>,
}

impl Default for Turns {
    fn default() -> Self {
        let new = |work: Work| Arc::new(Semaphore::new(work.of_one_token()));
        Self {
            changes: new(Work::Change),
            reads: new(Work::Read),
        }
    }
}

impl Turns {
    /// Waits until the token may have another request at work.
    pub(crate) async fn take(&self, work: Work) -> Option<OwnedSemaphorePermit> {
        let turns = match work {
            Work::Change => &self.changes,
            Work::Read => &self.reads,
        };
        // They are never closed.
        Arc::clone(turns).acquire_owned().await.ok()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_second_brings_what_it_holds() {
        let quota = Quota::new(Limit::new(10, 10));
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
    fn more_may_be_taken_at_once_than_in_a_second() {
        let quota = Quota::new(Limit::new(10, 100));
        assert_eq!(quota.take_at(0, 101), Err(None));
        assert_eq!(quota.take_at(0, 100), Ok(()));
        assert_eq!(quota.take_at(0, 10), Err(Some(Duration::from_secs(1))));
        assert_eq!(quota.take_at(NANOS, 10), Ok(()));
        assert_eq!(
            quota.take_at(NANOS, 1),
            Err(Some(Duration::from_millis(100)))
        );
    }

    #[test]
    fn more_than_nanoseconds_cost_nothing_each() {
        let quota = Quota::new(Limit::of(NonZeroU64::MAX));
        assert_eq!(quota.take_at(0, u64::MAX), Ok(()));
    }
}
