//! What a process has seen of a namespace, in case that the store forgets it.

use std::collections::BTreeMap;

use super::{NamespaceRecord, NodeRecord};

/// What this process has seen.
#[derive(Clone, Debug, Default)]
pub struct Seen {
    /// The namespace's record.
    namespace: Option<SeenNamespace>,
    /// It had a lease.
    has_leased: bool,
    /// For each node id that it had: the end of the last lease, cut where it was released.
    ends: BTreeMap<u32, u64>,
    /// The leases are those of others, who tell of them.
    is_for_others: bool,
}

/// What a process remembers of a namespace's record.
#[derive(Clone, Copy, Debug)]
struct SeenNamespace {
    origin: u64,
    writes: u64,
    /// The first tick after the quarantine.
    quarantine: u64,
}

impl Seen {
    /// Whether the record is one that this process cannot find after what it has seen.
    #[must_use]
    pub fn contradicts(&self, record: Option<&NamespaceRecord>) -> bool {
        match (self.namespace, record) {
            (None, _) => false,
            (Some(_), None) => true,
            (Some(seen), Some(record)) => {
                record.origin != seen.origin || record.writes < seen.writes
            }
        }
    }

    /// The number by which a namespace's record is told from one that was made anew.
    pub(crate) fn origin(&self) -> Option<u64> {
        self.namespace.map(|seen| seen.origin)
    }

    /// Whether the namespace that this process has seen is gone, or another one is in its place.
    #[must_use]
    pub fn misses(&self, record: Option<&NamespaceRecord>) -> bool {
        let is_another =
            |seen: SeenNamespace| record.is_none_or(|record| record.origin != seen.origin);
        self.namespace.is_some_and(is_another)
    }

    /// Whether somebody else has made the record anew or moved its quarantine since this process has seen it. A key that it
    /// has learnt changes nothing of that.
    #[must_use]
    pub fn has_changed(&self, record: Option<&NamespaceRecord>) -> bool {
        let seen = self.namespace.zip(record);
        let is_moved = seen.is_some_and(|(seen, record)| record.quarantine != seen.quarantine);
        is_moved || self.contradicts(record)
    }

    /// The end of the last lease of a node id that this process had; 0 if it had none.
    #[must_use]
    pub fn end_of(&self, node_id: u32) -> u64 {
        self.ends.get(&node_id).copied().unwrap_or(0)
    }

    /// Whether it had a lease: so the namespace is not new, whatever the store knows of it.
    #[must_use]
    pub fn has_leased(&self) -> bool {
        self.has_leased
    }

    /// The latest end of all.
    #[must_use]
    pub fn latest_end(&self) -> u64 {
        self.ends.values().copied().max().unwrap_or(0)
    }

    /// The ends of leases are not noted from now on: they are those of others, who go to other servers, too.
    pub fn serve_others(&mut self) {
        self.is_for_others = true;
    }

    /// Whether what is known of leases is what others tell, which may be wrong.
    #[must_use]
    pub fn is_for_others(&self) -> bool {
        self.is_for_others
    }

    /// Notes the namespace's record as it is now.
    pub fn note_namespace(&mut self, record: &NamespaceRecord) {
        self.namespace = Some(SeenNamespace {
            origin: record.origin,
            writes: record.writes,
            quarantine: record.quarantine,
        });
    }

    /// Notes a lease of this process as it was written.
    pub fn note(&mut self, record: &NodeRecord) {
        self.has_leased = true;
        if !self.is_for_others {
            self.ends.insert(record.node_id, record.end);
        }
    }
}
