//! Who held which node id, and when.

use core::fmt::{self, Display, Formatter};
use core::time::Duration;
use std::collections::BTreeMap;

use randflake_core::LayoutSpec;

#[cfg(doc)]
use super::LeaseStore;
use super::{MAX_SKEW, Record};
use crate::ledger::{NodeRecord, Standing};

/// How long a store keeps a lease after its end.
pub(crate) const HISTORY_KEPT: Duration = Duration::from_secs(400 * 24 * 60 * 60);

/// The leases of a namespace that a store knows, also earlier ones: see [`LeaseStore::history`].
#[derive(Clone, Debug)]
pub struct History {
    spec: LayoutSpec,
    now: Duration,
    /// Before this tick the store may have granted what it does not know.
    known_from: u64,
    /// By node id, in the order of their starts.
    leases: BTreeMap<u32, Vec<PastLease>>,
    gaps: Vec<Gap>,
}

/// A lease, which may have been followed by another.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PastLease {
    /// Node id, interval and holder. The end is the last one that a renewal or the release gave it.
    pub record: Record,
    /// The tick at which it was acquired; it starts later where an earlier lease, or a quarantine, ended later.
    pub acquired: u64,
    /// Its holder has released it. Otherwise it expired, or is held.
    pub is_released: bool,
    /// The end of the lease of the node id before it; 0 if it is the first one.
    follows: u64,
    /// How many leases the node id had before it.
    count: u64,
}

/// A place in the history where a lease was removed or changed by something else than a store's client.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Gap {
    /// The node id. Its leases before the gap are not reported.
    pub node_id: u32,
    /// The start of the lease behind the gap, as a tick; ahead of the store's clock if the latest one is missing.
    pub before: u64,
    /// The fencing token of that lease; 0 if the latest one is missing.
    pub fencing_token: u64,
    /// Something else is there; otherwise it is missing.
    pub is_changed: bool,
}

/// Who held a node id at a tick.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Explanation<'h> {
    /// This lease: an id of that node id and tick was issued under it, unless somebody else knows the secret.
    Held(&'h PastLease),
    /// Nobody: an id that says so was made under another secret or layout, in another namespace, or not by randflake.
    Nobody,
    /// Nobody yet: the tick is ahead of the store's clock, by more than clocks may differ.
    Ahead,
    /// The history does not reach back so far.
    Unknown {
        /// From this tick on it does.
        known_from: u64,
    },
}

impl Explanation<'_> {
    /// In a word, for programs: `held`, `contested`, `nobody`, `ahead` or `unknown`.
    #[must_use]
    pub const fn name(&self) -> &'static str {
        match self {
            Self::Held(lease) if lease.record.contested => "contested",
            Self::Held(_) => "held",
            Self::Nobody => "nobody",
            Self::Ahead => "ahead",
            Self::Unknown { .. } => "unknown",
        }
    }
}

/// What follows for an id of that node id and tick, above all one that a database has refused as a duplicate.
impl Display for Explanation<'_> {
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
            Self::Unknown { .. } => "the store does not know who held the node id then",
        })
    }
}

impl History {
    pub(crate) fn begin(standing: &Standing) -> Self {
        Self {
            spec: standing.record.terms.spec,
            now: standing.now.unix,
            known_from: standing.record.reason.since,
            leases: BTreeMap::new(),
            gaps: Vec::new(),
        }
    }

    /// Adds those of a node id.
    pub(crate) fn add(&mut self, past: Vec<NodeRecord>, gap: Option<Gap>, latest: NodeRecord) {
        let node_id = latest.node_id;
        let all = past.into_iter().chain([latest]);
        self.leases
            .insert(node_id, all.map(PastLease::from).collect());
        self.gaps.extend(gap);
    }

    /// How many leases the node id had before its latest one.
    pub(crate) fn count(&self, node_id: u32) -> Option<u64> {
        let latest = self.leases.get(&node_id)?.last()?;
        Some(latest.count)
    }

    /// Leases of the node id that followed on those that are known are gone, but for what they had replaced.
    pub(crate) fn lost(&mut self, node_id: u32, now: u64) {
        if self.gaps.iter().any(|gap| gap.node_id == node_id) {
            return;
        }
        let oldest = self.leases.get(&node_id).and_then(|leases| leases.first());
        let before = oldest.map_or(now + 1, |oldest| oldest.record.grant.start);
        let fencing_token = oldest.map_or(0, |oldest| oldest.record.grant.fencing_token);
        self.gaps.push(Gap {
            node_id,
            before,
            fencing_token,
            is_changed: false,
        });
    }

    /// Who held a node id at a tick of the layout, as far as the history of that node id was asked for.
    #[must_use]
    pub fn explain(&self, node_id: u32, tick: u64) -> Explanation<'_> {
        let leases = self.leases.get(&node_id).map_or(&[][..], Vec::as_slice);
        let later = leases.partition_point(|lease| lease.record.grant.start <= tick);
        let before = &leases[..later];
        // Released in the tick of its start, a lease is empty.
        if let Some(lease) = before.iter().rfind(|lease| tick < lease.record.grant.end) {
            return Explanation::Held(lease);
        }
        let begin = Duration::from_millis(self.spec.unix_ms(tick));
        if begin > self.now + MAX_SKEW {
            return Explanation::Ahead;
        }
        let gap = self.gaps.iter().find(|gap| gap.node_id == node_id);
        let known_from = match (gap, leases.first()) {
            (Some(gap), _) => gap.before,
            (None, Some(oldest)) => oldest.follows,
            (None, None) => 0,
        };
        let known_from = known_from.max(self.known_from);
        if tick < known_from {
            Explanation::Unknown { known_from }
        } else {
            Explanation::Nobody
        }
    }

    /// How many node ids were leased at a time, as time since the Unix epoch; none if the history does not reach back so
    /// far.
    #[must_use]
    pub fn live_at(&self, unix: Duration) -> Option<u64> {
        let tick = self.spec.tick_at(unix)?;
        let mut live = 0;
        for node_id in self.leases.keys() {
            match self.explain(*node_id, tick) {
                Explanation::Held(_) => live += 1,
                Explanation::Nobody | Explanation::Ahead => {}
                Explanation::Unknown { .. } => return None,
            }
        }
        (self.known_from <= tick).then_some(live)
    }

    /// The leases in the order of node ids and starts.
    pub fn leases(&self) -> impl Iterator<Item = &PastLease> {
        self.leases.values().flatten()
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

impl From<NodeRecord> for PastLease {
    fn from(record: NodeRecord) -> Self {
        Self {
            acquired: record.acquired,
            is_released: !record.held,
            follows: record.past.end,
            count: record.past.count,
            record: record.into(),
        }
    }
}

impl From<NodeRecord> for Record {
    fn from(record: NodeRecord) -> Self {
        Self {
            grant: record.grant(),
            contested: record.contested,
            holder: record.holder,
        }
    }
}
