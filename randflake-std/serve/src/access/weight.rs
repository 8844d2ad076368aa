//! What each request counts as, against a token's quotas.
//!
//! One that an id takes as long as counts as one. What takes longer counts as more, by what it costs beside an `INCR` of a
//! pipeline; what asks for several things at once counts as each of them. What needs neither ids nor the store has a
//! quota of its own: a client that greets, or asks whether the server answers, is not refused because its ids were many.

use core::num::NonZeroU64;

/// Weight of a request against the quotas of a token.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Weight {
    /// As one small request: `PING`, `AUTH`, and all that is wrong.
    Small,
    /// As so many requests. Never more than a second brings: who may send one a second may send any one.
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
    /// For the greetings of as many connections: a token with a quota of one request a second may still have a pool.
    const LEAST: NonZeroU64 = NonZeroU64::new(100).unwrap();
    const TIMES: NonZeroU64 = NonZeroU64::new(10).unwrap();
    requests.saturating_mul(TIMES).max(LEAST)
}
