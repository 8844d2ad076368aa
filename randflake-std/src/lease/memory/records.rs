//! The records of one namespace.

use std::collections::{BTreeMap, BTreeSet};

use crate::ledger::{Change, NamespaceRecord, Node, NodeRecord};

#[derive(Debug, Default)]
pub(super) struct Records {
    pub(super) namespace: Option<NamespaceRecord>,
    /// By node id.
    nodes: BTreeMap<u32, NodeRecord>,
    /// End and node id.
    by_end: BTreeSet<(u64, u32)>,
    /// The latest end ever, also of leases that were forgotten.
    pub(super) latest_end: u64,
}

impl Records {
    pub(super) fn all(&self) -> Vec<NodeRecord> {
        self.nodes.values().cloned().collect()
    }

    /// Whether no node id was ever leased, as far as is known.
    pub(super) fn is_empty(&self) -> bool {
        self.nodes.is_empty()
    }

    pub(super) fn node(&self, node_id: u32) -> Node {
        let record = self.nodes.get(&node_id).cloned();
        Node { node_id, record }
    }

    /// So many node ids that are free at a tick: those whose leases ended first, then those never leased. And when as
    /// many will be, if there are fewer.
    pub(super) fn free(&self, count: usize, tick: u64, node_ids: u64) -> (Vec<Node>, Option<u64>) {
        let ended = self.by_end.range(..(tick.saturating_add(1), 0));
        let mut free: Vec<_> = ended
            .take(count)
            .map(|&(_, node_id)| self.node(node_id))
            .collect();
        let never = (0..=u32::MAX).take_while(|node_id| u64::from(*node_id) < node_ids);
        let never = never.filter(|node_id| !self.nodes.contains_key(node_id));
        free.extend(
            never
                .take(count - free.len())
                .map(|node_id| self.node(node_id)),
        );
        let missing = count - free.len();
        let free_from = missing.checked_sub(1).and_then(|place| {
            let live = self.by_end.range((tick.saturating_add(1), 0)..);
            live.map(|&(end, _)| end).nth(place)
        });
        (free, free_from)
    }

    /// Whether everything still is what the change was decided from.
    pub(super) fn allow(&self, change: &Change) -> bool {
        let version = |record: &NamespaceRecord| (record.origin, record.writes);
        let namespace = self.namespace.as_ref().map(version);
        namespace == change.namespace_before.as_ref().map(version)
            && change
                .nodes
                .iter()
                .all(|node| self.nodes.get(&node.after.node_id) == node.before.as_ref())
    }

    pub(super) fn apply(&mut self, change: &Change) {
        if let Some(after) = &change.namespace_after {
            self.namespace = Some(after.clone());
        }
        for after in change.nodes.iter().map(|node| &node.after) {
            if let Some(former) = self.nodes.insert(after.node_id, after.clone()) {
                self.by_end.remove(&(former.end, former.node_id));
            }
            self.by_end.insert((after.end, after.node_id));
            self.latest_end = self.latest_end.max(after.end);
        }
    }

    /// Loses all but when the last lease ends that was granted.
    pub(super) fn forget(&mut self) {
        *self = Self {
            latest_end: self.latest_end,
            ..Self::default()
        };
    }
}
