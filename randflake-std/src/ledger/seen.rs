//! What a process has seen of a namespace, in case that the store forgets it.

use std::collections::BTreeMap;

use super::{NamespaceRecord, NodeRecord};

/// What this process has seen.
#[derive(Clone, Debug, Default)]
pub struct Seen {
    /// Origin and writes of the namespace's record.
    namespace: Option<(u64, u64)>,
    /// It had a lease.
    has_leased: bool,
    /// For each node id that it had: the end of the last lease, cut where it was released.
    ends: BTreeMap<u32, u64>,
    /// The leases are those of others, who tell of them.
    is_for_others: bool,
}

impl Seen {
    /// Whether the record is one that this process cannot find after what it has seen.
    #[must_use]
    pub fn contradicts(&self, record: Option<&NamespaceRecord>) -> bool {
        match (self.namespace, record) {
            (None, _) => false,
            (Some(_), None) => true,
            (Some((origin, writes)), Some(record)) => {
                record.origin != origin || record.writes < writes
            }
        }
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
        self.namespace = Some((record.origin, record.writes));
    }

    /// Notes a lease of this process as it was written.
    pub fn note(&mut self, record: &NodeRecord) {
        self.has_leased = true;
        if !self.is_for_others {
            self.ends.insert(record.node_id, record.end);
        }
    }
}
