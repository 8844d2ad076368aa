//! Counters for metrics and the page: connections, refusals, and answers with their times.

use core::sync::atomic::{AtomicU64, Ordering};
use core::time::Duration;

use crate::refusal::RefusalKind;

/// A number that only grows, or a gauge that goes up and down.
#[derive(Debug, Default)]
pub(crate) struct Count(AtomicU64);

impl Count {
    pub(crate) fn add(&self, more: u64) {
        // Relaxed, here and below: each number stands for itself, and nothing is read by it.
        self.0.fetch_add(more, Ordering::Relaxed);
    }

    pub(crate) fn sub(&self, less: u64) {
        self.0.fetch_sub(less, Ordering::Relaxed);
    }

    pub(crate) fn get(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }
}

/// Counts of the connections of one listener.
#[derive(Debug, Default)]
pub(crate) struct Connections {
    /// Number of connections open now.
    pub(crate) open: Count,
    pub(crate) accepted: Count,
    /// Closed at once: too many are open.
    pub(crate) refused: Count,
    /// Whose TLS handshake failed or took too long.
    pub(crate) failed_handshakes: Count,
}

/// Counts of the whole service.
#[derive(Debug, Default)]
pub(crate) struct Counters {
    pub(crate) resp: Connections,
    pub(crate) http: Connections,
    /// Of commands of the Redis protocol; their times are those of what one read brings, which is
    /// answered at once.
    pub(crate) resp_answers: Answers,
    pub(crate) http_answers: Answers,
    refusals: [Count; RefusalKind::ALL.len()],
}

impl Counters {
    pub(crate) fn refused(&self, kind: RefusalKind) {
        self.refusals[kind as usize].add(1);
    }

    /// How many requests were refused, by the names of the kinds.
    pub(crate) fn refusals(&self) -> impl Iterator<Item = (&'static str, u64)> {
        let names = RefusalKind::ALL.iter().map(|(_, name, ..)| *name);
        names.zip(self.refusals.iter().map(Count::get))
    }
}

/// How a request was answered: the label `status`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum AnswerStatus {
    Ok,
    /// The client asked for what it may not, or cannot, have.
    Refused,
    /// The server or its store could not answer.
    Failed,
}

impl AnswerStatus {
    pub(crate) const ALL: [Self; 3] = [Self::Ok, Self::Refused, Self::Failed];

    /// Status of an HTTP answer, by its code.
    pub(crate) const fn of_http(status: u16) -> Self {
        match status {
            0..400 => Self::Ok,
            400..500 => Self::Refused,
            _ => Self::Failed,
        }
    }

    pub(crate) const fn of_refusal(kind: RefusalKind) -> Self {
        Self::of_http(kind.http())
    }

    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Ok => "ok",
            Self::Refused => "refused",
            Self::Failed => "failed",
        }
    }
}

/// Counts of answers by their status, and their times.
#[derive(Debug, Default)]
pub(crate) struct Answers {
    counts: [Count; AnswerStatus::ALL.len()],
    pub(crate) times: AnswerTimes,
}

impl Answers {
    pub(crate) fn add(&self, status: AnswerStatus, more: u64) {
        self.counts[status as usize].add(more);
    }

    pub(crate) fn counts(&self) -> impl Iterator<Item = (AnswerStatus, u64)> {
        AnswerStatus::ALL
            .into_iter()
            .zip(self.counts.iter().map(Count::get))
    }

    pub(crate) fn total(&self) -> u64 {
        self.counts().map(|(_, count)| count).sum()
    }
}

/// The upper bounds of a histogram's buckets, in microseconds, and as Prometheus has them: from an
/// id that is there (under 0.1 ms) to a request that has waited for everything it may (30 s).
const BOUNDS: [(u64, &str); 14] = [
    (100, "0.0001"),
    (250, "0.00025"),
    (500, "0.0005"),
    (1_000, "0.001"),
    (2_500, "0.0025"),
    (5_000, "0.005"),
    (10_000, "0.01"),
    (25_000, "0.025"),
    (50_000, "0.05"),
    (100_000, "0.1"),
    (250_000, "0.25"),
    (1_000_000, "1"),
    (5_000_000, "5"),
    (30_000_000, "30"),
];

/// A histogram of durations.
#[derive(Debug, Default)]
pub(crate) struct AnswerTimes {
    /// Those between two bounds; the last are longer than all bounds.
    buckets: [AtomicU64; BOUNDS.len() + 1],
    nanos: AtomicU64,
}

impl AnswerTimes {
    pub(crate) fn add(&self, time: Duration) {
        let nanos = u64::try_from(time.as_nanos()).unwrap_or(u64::MAX);
        let micros = nanos.div_ceil(1_000);
        // Rounded up to microseconds, so that a bucket never has what took longer than its bound.
        let bucket = BOUNDS.partition_point(|(bound, _)| *bound < micros);
        self.buckets[bucket].fetch_add(1, Ordering::Relaxed);
        self.nanos.fetch_add(nanos, Ordering::Relaxed);
    }

    /// For each bound how many took no longer, then how many there are.
    pub(crate) fn cumulative(&self) -> impl Iterator<Item = (&'static str, u64)> {
        let bounds = BOUNDS.iter().map(|(_, bound)| *bound).chain(["+Inf"]);
        // Read one after the other while requests are counted: a scrape may miss some, but no count
        // falls from one bound to the next.
        let counts = self.buckets.iter().scan(0, |sum, bucket| {
            *sum += bucket.load(Ordering::Relaxed);
            Some(*sum)
        });
        bounds.zip(counts)
    }

    pub(crate) fn sum(&self) -> Duration {
        Duration::from_nanos(self.nanos.load(Ordering::Relaxed))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_time_is_in_every_bucket_from_its_bound_on() {
        let times = AnswerTimes::default();
        for micros in [100, 101, 40_000_000] {
            times.add(Duration::from_micros(micros));
        }
        let counts: Vec<_> = times.cumulative().collect();
        assert_eq!(counts[..2], [("0.0001", 1), ("0.00025", 2)]);
        assert_eq!(counts[13..], [("30", 2), ("+Inf", 3)]);
        assert_eq!(times.sum(), Duration::from_micros(40_000_201));
    }

    #[test]
    fn every_kind_of_refusal_has_a_status() {
        for (kind, ..) in RefusalKind::ALL {
            assert_ne!(AnswerStatus::of_refusal(kind), AnswerStatus::Ok, "{kind:?}");
        }
        assert_eq!(AnswerStatus::of_http(304), AnswerStatus::Ok);
    }
}
