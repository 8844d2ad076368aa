//! History of leases: who held which node id, and when.

use core::fmt::{self, Display, Formatter};
use core::time::Duration;
use std::collections::BTreeMap;

use randflake_core::LayoutSpec;

use super::{MAX_SKEW, Record};
#[cfg(doc)]
use crate::store::LeaseStore;

/// How long a store keeps a lease after its end: a year, so that somebody who looks once a year
/// finds it, and five weeks.
pub(crate) const HISTORY_KEPT: Duration = Duration::from_secs(400 * 24 * 60 * 60);

/// The leases of a namespace that a store knows, also earlier ones: see
/// [`HistoryReader::read`](crate::HistoryReader::read).
#[derive(Clone, Debug)]
pub struct History {
    spec: LayoutSpec,
    now: Duration,
    /// First tick since which the store has lost nothing.
    known_from: u64,
    node_ids: BTreeMap<u32, NodeHistory>,
    gaps: Vec<Gap>,
}

/// The leases of one node id that were read.
#[derive(Clone, Debug, Default)]
pub(crate) struct NodeHistory {
    /// Leases in the order of their starts.
    leases: Vec<PastLease>,
    /// Where leases are missing or changed: before the first one of those that were read, and
    /// behind the last one.
    gaps: Vec<Gap>,
    /// Why the leases before the first one are not there; none if there were none.
    cut: Option<UnknownCause>,
}

/// A lease, which may have been followed by another.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PastLease {
    /// Node id, interval and holder. The end is the last one that a renewal or the release gave it.
    pub record: Record,
    /// Whether its holder released it. Otherwise it expired, or is held.
    pub is_released: bool,
    /// The end of the lease of the node id before it; 0 if it is the first one.
    pub(crate) follows: u64,
}

/// A place in the history where a lease was removed or changed by something else than a store's
/// client.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Gap {
    /// The node id. Its leases before the gap are not reported.
    pub node_id: u32,
    /// The start of the lease behind the gap, as a tick; ahead of the store's clock if the latest
    /// one is missing.
    pub before: u64,
    /// The fencing token of that lease; 0 if the latest one is missing.
    pub fencing_token: u64,
    /// Whether another record is in its place; otherwise it is missing.
    pub is_changed: bool,
}

/// Who held a node id at a tick.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Explanation {
    /// This lease: an id of that node id and tick was issued under it, unless somebody else knows
    /// the secret.
    Held(PastLease),
    /// Nobody: an id that says so was made under another secret or layout, in another namespace, or
    /// not by randflake.
    Nobody,
    /// Nobody yet: the tick is ahead of the store's clock, by more than clocks may differ.
    Ahead,
    /// The history does not reach back so far.
    Unknown {
        /// First tick that it reaches.
        known_from: u64,
        /// Reason why it is unknown.
        cause: UnknownCause,
    },
}

/// Reason why a history does not reach back further.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum UnknownCause {
    /// The namespace was created later, or its store may have lost leases until then.
    Forgotten,
    /// The leases before ended more than 400 days ago, and were removed.
    Old,
    /// Later leases of the node id took the places of those before.
    Replaced,
    /// A lease was removed or changed: see [`Gap`].
    Gap,
}

/// Answer of [`HistoryReader::explain`](crate::HistoryReader::explain) about a node id at a tick.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TickExplanation {
    /// Holder of the node id at that tick.
    pub explanation: Explanation,
    /// A lease of the node id that was removed or changed, if the search has met one: the one for
    /// which the holder is [unknown](UnknownCause::Gap), if that is why.
    pub gap: Option<Gap>,
    /// The store's clock, as time since the Unix epoch.
    pub now: Duration,
}

impl Explanation {
    /// In a word, for programs: `held`, `contested`, `nobody`, `ahead` or `unknown`.
    #[must_use]
    pub const fn name(&self) -> &'static str {
        match self {
            // Two held it then: who looks for the issuer of an id must not stop at one.
            Self::Held(lease) if lease.record.contested => "contested",
            Self::Held(_) => "held",
            Self::Nobody => "nobody",
            Self::Ahead => "ahead",
            Self::Unknown { .. } => "unknown",
        }
    }
}

/// What follows for an id of that node id and tick, above all one that a database has refused as a
/// duplicate.
impl Display for Explanation {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Held(lease) if lease.record.contested => {
                "a copy of the holder had the same lease: both may have issued the id"
            }
            Self::Held(_) => {
                "issued under this lease, once: a second row with the id is a repeated or replayed insert"
            }
            Self::Nobody => {
                "nobody held the node id then: made under another secret, layout or namespace, or a number that is no id"
            }
            Self::Ahead => {
                "that time has not come: made under another secret, layout or namespace, or a number that is no id"
            }
            Self::Unknown { cause, .. } => match cause {
                UnknownCause::Forgotten => {
                    "the namespace is younger, or its store may have lost leases since"
                }
                UnknownCause::Old => "leases are kept for 400 days after their end",
                UnknownCause::Replaced => {
                    "later leases of the node id took its place: the last 65,536 are kept, by a static file the last one"
                }
                UnknownCause::Gap => "a lease of the node id was removed or changed in the store",
            },
        })
    }
}

impl NodeHistory {
    /// Leases that follow on each other, the last one included.
    pub(crate) fn new(
        leases: impl IntoIterator<Item = impl Into<PastLease>>,
        cut: Option<UnknownCause>,
    ) -> Self {
        Self {
            leases: leases.into_iter().map(Into::into).collect(),
            gaps: Vec::new(),
            cut,
        }
    }

    /// As `new`, where the lease before the first one is not what it should be.
    pub(crate) fn behind_gap(
        leases: impl IntoIterator<Item = impl Into<PastLease>>,
        gap: Gap,
    ) -> Self {
        Self {
            gaps: vec![gap],
            ..Self::new(leases, Some(UnknownCause::Gap))
        }
    }

    /// Notes that a lease is kept which the latest one does not follow on: the record of the node
    /// id was removed or set back. `kept` is its start, if it can be read; `ahead` is a tick that
    /// has not come by any clock.
    pub(crate) fn lose_latest(&mut self, node_id: u32, kept: Option<u64>, ahead: u64) {
        // Leased anew since: what is gone came before. Otherwise it came after all that is known.
        let first = self.leases.first().map(|first| first.record.grant);
        let first = first.filter(|first| kept.is_some_and(|kept| kept < first.start));
        self.gaps.push(Gap {
            node_id,
            before: first.map_or(ahead, |first| first.start),
            fencing_token: first.map_or(0, |first| first.fencing_token),
            is_changed: false,
        });
    }

    /// Who had the node id at a tick, as far as these leases tell.
    fn explain(&self, tick: u64, is_ahead: bool, known_from: u64) -> Explanation {
        // Starts are in order and leases disjoint, so only the last one that began can be live.
        let later = self
            .leases
            .partition_point(|lease| lease.record.grant.start <= tick);
        // A lease that was released in its first tick is empty, and the one before it ended no
        // later.
        let last = later.checked_sub(1).map(|last| &self.leases[last]);
        if let Some(lease) = last.filter(|lease| tick < lease.record.grant.end) {
            return Explanation::Held(lease.clone());
        }
        // After the leases: one that waits for a former lease may begin ahead of the clock.
        if is_ahead {
            return Explanation::Ahead;
        }
        // A gap hides the ticks before it, back to a lease that is known.
        let next = self.leases.get(later).map(|next| next.record.grant.start);
        let gap = self
            .gaps
            .iter()
            .filter(|gap: &&Gap| next.is_none_or(|next| gap.before <= next))
            .map(|gap| gap.before);
        // The first lease tells when the one before it ended: in between the node id was free.
        let (begin, cause) = match (gap.max(), self.leases.first()) {
            (Some(before), _) => (before, UnknownCause::Gap),
            (None, Some(first)) => (first.follows, self.cut.unwrap_or(UnknownCause::Forgotten)),
            (None, None) => (0, UnknownCause::Forgotten),
        };
        if tick < begin.max(known_from) {
            // The later of the two limits is the one that hides it.
            let (known_from, cause) = if begin < known_from {
                (known_from, UnknownCause::Forgotten)
            } else {
                (begin, cause)
            };
            Explanation::Unknown { known_from, cause }
        } else {
            Explanation::Nobody
        }
    }
}

impl History {
    /// One without leases, of a namespace whose store has lost none since a tick.
    pub(crate) fn new(spec: LayoutSpec, now: Duration, known_from: u64) -> Self {
        Self {
            spec,
            now,
            known_from,
            node_ids: BTreeMap::new(),
            gaps: Vec::new(),
        }
    }

    /// Adds what is known of a node id.
    pub(crate) fn add(&mut self, node_id: u32, leases: NodeHistory) {
        self.gaps.extend(&leases.gaps);
        self.node_ids.insert(node_id, leases);
    }

    /// Who held a node id at a tick of the layout, as far as the history of that node id was asked
    /// for.
    #[must_use]
    pub fn explain(&self, node_id: u32, tick: u64) -> Explanation {
        match self.node_ids.get(&node_id) {
            Some(leases) => self.explain_by(leases, tick),
            None => self.explain_by(&NodeHistory::default(), tick),
        }
    }

    fn explain_by(&self, leases: &NodeHistory, tick: u64) -> Explanation {
        let begin = Duration::from_millis(self.spec.unix_ms(tick));
        // Within the skew: the clock of a holder may be ahead of the store's.
        leases.explain(tick, begin > self.now + MAX_SKEW, self.known_from)
    }

    /// The answer about one tick, from the leases of its node id around it.
    pub(crate) fn explained(&self, leases: &NodeHistory, tick: u64) -> TickExplanation {
        let explanation = self.explain_by(leases, tick);
        let gap = leases.gaps.iter().find(|gap: &&Gap| match explanation {
            Explanation::Unknown { known_from, cause } => {
                cause == UnknownCause::Gap && gap.before == known_from
            }
            _ => false,
        });
        TickExplanation {
            gap: gap.or_else(|| leases.gaps.first()).copied(),
            explanation,
            now: self.now,
        }
    }

    /// The leases in the order of node ids and starts.
    pub fn leases(&self) -> impl Iterator<Item = &PastLease> {
        self.node_ids.values().flat_map(|it| &it.leases)
    }

    /// Leases that were removed or changed; none in a store that nobody has tampered with.
    #[must_use]
    pub fn gaps(&self) -> &[Gap] {
        &self.gaps
    }

    /// The store's clock when the history was read, as time since the Unix epoch.
    #[must_use]
    pub fn now(&self) -> Duration {
        self.now
    }

    /// When a tick begins, as time since the Unix epoch.
    #[must_use]
    pub fn time_of(&self, tick: u64) -> Duration {
        Duration::from_millis(self.spec.unix_ms(tick))
    }
}

#[cfg(test)]
mod tests {
    use randflake_core::{Layout as _, Randflake};

    use super::*;
    use crate::types::{Grant, Token};

    #[test]
    fn of_two_gaps_the_one_that_hides_the_holder_is_named() {
        let grant = Grant {
            node_id: 7,
            start: 100,
            end: 200,
            fencing_token: 100,
            token: Token::from_bytes([0; 16]),
        };
        let lease = PastLease {
            record: Record {
                grant,
                contested: false,
                holder: String::new(),
                version: 1,
            },
            is_released: true,
            follows: 90,
        };
        let before = Gap {
            node_id: 7,
            before: 100,
            fencing_token: 100,
            is_changed: true,
        };
        let mut leases = NodeHistory::behind_gap([lease], before);
        leases.lose_latest(7, None, 1_000);
        let now = Duration::from_millis(Randflake::SPEC.unix_ms(990));
        let history = History::new(Randflake::SPEC, now, 0);
        for (tick, known_from) in [(50, 100), (300, 1_000)] {
            let explained = history.explained(&leases, tick);
            let cause = UnknownCause::Gap;
            let unknown = Explanation::Unknown { known_from, cause };
            assert_eq!(explained.explanation, unknown);
            assert_eq!(explained.gap.map(|gap| gap.before), Some(known_from));
        }
    }
}
