//! What the stores in databases have in common.

use core::time::Duration;

use randflake_core::Spec;

/// How long a server may take to answer.
pub(super) const ANSWER_LIMIT: Duration = Duration::from_secs(3);
/// How long it may take to make the tables and a namespace, or to wait for another who does.
pub(super) const SETUP_LIMIT: Duration = Duration::from_secs(20);

/// For an operation under a TTL, in ticks: so short that it can be tried again in time.
pub(super) fn time_limit(ttl: u64, spec: Spec) -> Duration {
    /// What even a busy server needs.
    const SHORTEST: Duration = Duration::from_millis(500);
    const TRIES_PER_TTL: u32 = 6;
    let ttl = Duration::from_millis(ttl.saturating_mul(spec.tick_ms()));
    (ttl / TRIES_PER_TTL).clamp(SHORTEST, ANSWER_LIMIT)
}

/// The limit for an operation on so many node ids, where it is that for a few.
pub(super) fn with_node_ids(limit: Duration, node_ids: usize) -> Duration {
    let many = u32::try_from(node_ids).unwrap_or(u32::MAX);
    limit + Duration::from_micros(100) * many
}

/// What this process has seen of the store, in case the server forgets it.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Seen {
    /// The random number of the store.
    pub(super) store: Option<i64>,
    /// When the last lease ends that this process was granted, in Unix time.
    pub(super) until_ms: u64,
}

impl Seen {
    /// Notes what this process was granted.
    pub(super) fn remember(&mut self, ends: impl Iterator<Item = u64>, spec: Spec) {
        if let Some(last) = ends.max() {
            self.until_ms = self.until_ms.max(spec.unix_ms(last));
        }
    }
}

/// A number as databases keep it. Nothing that is kept exceeds that; what is compared may.
pub(super) fn sql(number: u64) -> i64 {
    i64::try_from(number).unwrap_or(i64::MAX)
}

/// A span as databases keep it.
pub(super) fn sql_ms(span: Duration) -> i64 {
    sql(u64::try_from(span.as_millis()).unwrap_or(u64::MAX))
}
