//! What the stores in databases have in common.

use core::time::Duration;

/// How long a server may take to answer.
pub(super) const ANSWER_LIMIT: Duration = Duration::from_secs(3);
/// How long it may take to make the tables, or to wait for another who does.
pub(super) const SETUP_LIMIT: Duration = Duration::from_secs(20);

/// For an operation under a TTL: so short that it can be tried again in time.
pub(super) fn time_limit(ttl: Duration) -> Duration {
    /// What even a busy server needs.
    const SHORTEST: Duration = Duration::from_millis(500);
    const TRIES_PER_TTL: u32 = 6;
    (ttl / TRIES_PER_TTL).clamp(SHORTEST, ANSWER_LIMIT)
}

/// The limit for an operation on so many node ids, where it is that for a few.
pub(super) fn with_node_ids(limit: Duration, node_ids: usize) -> Duration {
    let many = u32::try_from(node_ids).unwrap_or(u32::MAX);
    limit + Duration::from_micros(100) * many
}
