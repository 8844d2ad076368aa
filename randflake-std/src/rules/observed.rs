//! Memory of a process about a namespace, which reveals that the store has forgotten something.

use core::time::Duration;
use std::collections::BTreeMap;

use super::{NamespaceRecord, NodeRecord};

/// What a process has observed of a namespace.
#[derive(Clone, Debug, Default)]
pub struct Observed {
    /// Record of the namespace as last seen.
    namespace: Option<ObservedNamespace>,
    /// Whether this process ever had a lease.
    has_leased: bool,
    /// End of the last lease of each node id that this process had, cut at its release.
    ends: BTreeMap<u32, u64>,
    /// Whether it acts for holders elsewhere, whose reports about leases may be wrong.
    is_proxy: bool,
}

/// What a process remembers of the record of a namespace.
#[derive(Clone, Copy, Debug)]
struct ObservedNamespace {
    origin: u64,
    writes: u64,
    /// First tick after the quarantine.
    quarantine: u64,
    /// The store's clock then.
    at: Duration,
    /// If it was dropped: when all of its leases are over, as time since the Unix epoch.
    dropped_until: Option<Duration>,
}

/// A record that this process has seen where another one is now.
#[derive(Clone, Copy, Debug)]
pub(super) struct Former {
    /// The store's clock when it was seen last.
    pub(super) at: Duration,
    /// If it was dropped: when all of its leases are over.
    pub(super) dropped_until: Option<Duration>,
}

impl Observed {
    /// Whether a record contradicts what was observed: it is gone, made anew, or older.
    #[must_use]
    pub fn contradicts(&self, record: Option<&NamespaceRecord>) -> bool {
        match (self.namespace, record) {
            (None, _) => false,
            (Some(_), None) => true,
            (Some(seen), Some(record)) => {
                // `writes` only grows: fewer of them is a restored backup or a stale replica.
                record.origin != seen.origin || record.writes < seen.writes
            }
        }
    }

    /// Origin of the record as last seen, which differs in a record made anew.
    pub(crate) fn origin(&self) -> Option<u64> {
        self.namespace.map(|seen| seen.origin)
    }

    /// Whether the observed namespace is gone or replaced by another one.
    #[must_use]
    pub fn misses(&self, record: Option<&NamespaceRecord>) -> bool {
        let is_another =
            |seen: ObservedNamespace| record.is_none_or(|record| record.origin != seen.origin);
        self.namespace.is_some_and(is_another)
    }

    /// What this process has seen in the place of a record of another origin.
    pub(super) fn former_of(&self, record: &NamespaceRecord) -> Option<Former> {
        let seen = self.namespace.filter(|seen| seen.origin != record.origin)?;
        Some(Former {
            at: seen.at,
            dropped_until: seen.dropped_until,
        })
    }

    /// Whether somebody else has recreated the record or moved its quarantine. A newly learnt key check does not
    /// count.
    #[must_use]
    pub fn has_changed(&self, record: Option<&NamespaceRecord>) -> bool {
        let seen = self.namespace.zip(record);
        let is_moved = seen.is_some_and(|(seen, record)| record.quarantine != seen.quarantine);
        is_moved || self.contradicts(record)
    }

    /// End of the last lease that this process had of a node id; 0 if none.
    #[must_use]
    pub fn end_of(&self, node_id: u32) -> u64 {
        self.ends.get(&node_id).copied().unwrap_or(0)
    }

    /// Whether this process had a lease: then the namespace is not new, whatever the store says.
    #[must_use]
    pub fn has_leased(&self) -> bool {
        self.has_leased
    }

    /// Latest end of all leases of this process.
    #[must_use]
    pub fn latest_end(&self) -> u64 {
        self.ends.values().copied().max().unwrap_or(0)
    }

    /// Switches to acting for holders elsewhere: their leases are not remembered, since they may use other servers
    /// too.
    pub fn act_as_proxy(&mut self) {
        self.is_proxy = true;
    }

    /// Whether this process acts for holders elsewhere.
    #[must_use]
    pub fn is_proxy(&self) -> bool {
        self.is_proxy
    }

    /// Remembers the current record of the namespace, at a time of the store's clock.
    pub fn note_namespace(&mut self, record: &NamespaceRecord, at: Duration) {
        let end = Duration::from_millis(record.terms.spec.unix_ms(record.quarantine));
        self.namespace = Some(ObservedNamespace {
            origin: record.origin,
            writes: record.writes,
            quarantine: record.quarantine,
            at,
            dropped_until: record.reason.is_dropped.then_some(end),
        });
    }

    /// Remembers a lease of this process as written.
    pub fn note(&mut self, record: &NodeRecord) {
        self.has_leased = true;
        if !self.is_proxy {
            self.ends.insert(record.node_id, record.end);
        }
    }
}
