//! What the service counts, for metrics and the page.

use core::sync::atomic::{AtomicU64, Ordering};

use super::answers::Answers;
use super::refusal::RefusalKind;

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
    /// Of commands of the Redis protocol; their times are those of what one read brings, which is answered at once.
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
