//! What a process has seen of a namespace, in case that the store forgets it.

use std::collections::BTreeMap;

use super::{NamespaceRecord, NodeRecord};

/// What this process has seen.
#[derive(Clone, Debug, Default)]
pub struct Seen {
    /// Origin and writes of the namespace's record.
    namespace: Option<(u64, u64)>,
    /// For each node id that it had: the end of the last lease, cut where it was released.
    ends: BTreeMap<u32, u64>,
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
        !self.ends.is_empty()
    }

    /// The latest end of all.
    #[must_use]
    pub fn latest_end(&self) -> u64 {
        self.ends.values().copied().max().unwrap_or(0)
    }

    /// Notes the namespace's record as it is now.
    pub fn note_namespace(&mut self, record: &NamespaceRecord) {
        self.namespace = Some((record.origin, record.writes));
    }

    /// Notes a lease of this process as it was written.
    pub fn note(&mut self, record: &NodeRecord) {
        self.ends.insert(record.node_id, record.end);
    }
}
