//! What an engine has read.

use core::time::Duration;

use super::{NamespaceRecord, NodeRecord, Seen};

/// What to read.
#[derive(Clone, Copy, Debug, Default)]
pub struct Wanted<'a> {
    /// These node ids.
    pub nodes: &'a [u32],
    /// Besides, so many that are free, if there are so many. An engine finds them by whatever index or hint it has: a
    /// wrong one costs another try, never an id. But a record of this process's own that is taken for absent without a
    /// look counts as forgotten.
    pub free: usize,
    /// The first and the last node id that may be among these; all if there is none.
    pub within: Option<(u32, u32)>,
    /// What this process has seen, so that it does not follow a hint to a node id that it has leased itself meanwhile.
    pub seen: Option<&'a Seen>,
}

/// A namespace as an engine has it, at one moment.
#[derive(Clone, Debug)]
pub struct View {
    /// The store's clock, as time since the Unix epoch.
    pub now: Duration,
    /// What the engine says of itself.
    pub continuity: Continuity,
    /// The namespace's record, if it is there.
    pub namespace: Option<NamespaceRecord>,
    /// The node ids asked for, and candidates that may be free.
    pub nodes: Vec<Node>,
    /// The engine proves that no other process has a lease of these node ids, as a lock on their only file does: one
    /// that was not released is that of a process that has ended, so the next lease may be granted before it begins.
    pub is_sole: bool,
    /// The first tick at which as many may be free as were wanted, where the engine knows; else none.
    pub free_from: Option<u64>,
}

/// A node id, and its record if it was ever leased.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Node {
    /// Which.
    pub node_id: u32,
    /// None before its first lease.
    pub record: Option<NodeRecord>,
}

/// Whether an engine still is what it was.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Continuity {
    /// What it is known by. Another one means that answered writes may be lost: a restored backup, a promoted
    /// replica, a copy, a restart without durability.
    pub fingerprint: String,
    /// A namespace that is not there was never there: the engine would show it if it had been deleted.
    pub is_absence_certain: bool,
    /// The latest end of a lease that is known from elsewhere than the records, in Unix milliseconds; 0 if none.
    pub known_end_unix_ms: u64,
    /// A setting by which answered writes are lost: what it is, and what to change.
    pub fault: Option<String>,
}

impl View {
    /// What a process expects to read: what it wrote last.
    pub(crate) fn carried(now: Duration, namespace: NamespaceRecord, nodes: Vec<Node>) -> Self {
        Self {
            now,
            continuity: Continuity {
                fingerprint: namespace.fingerprint.clone(),
                ..Continuity::default()
            },
            namespace: Some(namespace),
            nodes,
            is_sole: false,
            free_from: None,
        }
    }

    /// Whether the namespace was dropped, and nobody has opened it since.
    pub(crate) fn is_dropped(&self) -> bool {
        let record = self.namespace.as_ref();
        record.is_some_and(|record| record.reason.is_dropped)
    }

    /// The record of a node id, if it was read and is there.
    #[must_use]
    pub fn record(&self, node_id: u32) -> Option<&NodeRecord> {
        let node = self.nodes.iter().find(|node| node.node_id == node_id)?;
        node.record.as_ref()
    }
}
