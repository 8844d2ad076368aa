//! Watcher that notes, for each node id, whether the handle has it.

use core::sync::atomic::{AtomicU64, Ordering};
use std::collections::BTreeMap;
use std::sync::Arc;

use randflake_core::Sparx64;
use randflake_std::lease::LeaseStore;
use randflake_std::unstable::engine::{Ask, Reading};
use randflake_std::unstable::rules::{Key, Keys, NodeRecord, VERSION, Write, WriteOutcome};
use randflake_std::{Handle, Id};

use crate::elastic::{Few, NODE_IDS, Store};
use crate::watched::{Watcher, watched};

/// What one handle had.
#[derive(Debug, Default)]
pub(crate) struct Watch {
    /// Counts each grant and each release of a node id, before the handle knows of the one and
    /// after it has begun the other: even when the handle does not have it.
    changes: [AtomicU64; NODE_IDS as usize],
    /// How often a node id was released that the handle had.
    pub(crate) released: AtomicU64,
    pub(crate) acquires: AtomicU64,
}

impl Watch {
    fn changes(&self) -> [u64; NODE_IDS as usize] {
        self.changes
            .each_ref()
            .map(|count| count.load(Ordering::SeqCst))
    }

    /// The next id, which must be of a node id that the handle had at some time during the call.
    pub(crate) fn generate(
        &self,
        ids: &Handle<Few, Sparx64>,
    ) -> Result<Id, randflake_std::GenerateError> {
        let before = self.changes();
        let id = ids.generate()?;
        let after = self.changes();
        let node_id = ids.inspect(id).node_id as usize;
        let was_given_back = before[node_id].is_multiple_of(2) && before[node_id] == after[node_id];
        assert!(
            !was_given_back,
            "an id of node id {node_id}, which was given back"
        );
        Ok(id)
    }
}

/// A store, and the watch of the handle that has it.
pub(crate) fn with_watch(store: Store, watch: &Arc<Watch>) -> LeaseStore {
    let watch = Arc::clone(watch);
    let had = BTreeMap::new();
    watched(store, Noting { watch, had })
}

/// What the handle has of each node id, as its store reads and writes it.
#[derive(Debug)]
struct Noting {
    watch: Arc<Watch>,
    had: BTreeMap<u32, NodeRecord>,
}

impl Noting {
    fn count(&self, node_id: u32) {
        self.watch.changes[node_id as usize].fetch_add(1, Ordering::SeqCst);
    }

    fn takes(&mut self, record: NodeRecord) {
        let start = record.start;
        let node_id = record.node_id;
        // Nobody tells of a lease that expired, under load for instance.
        if let Some(former) = self.had.insert(node_id, record) {
            assert!(start >= former.end, "node id {node_id} was granted twice");
            self.count(node_id);
        }
        self.count(node_id);
    }

    fn loses(&mut self, node_id: u32) {
        if self.had.remove(&node_id).is_some() {
            self.count(node_id);
        }
    }

    fn has(&self, record: &NodeRecord) -> bool {
        self.had
            .get(&record.node_id)
            .is_some_and(|had| had.token == record.token)
    }
}

impl Watcher for Noting {
    fn has_read(&mut self, ask: &Ask<'_>, reading: &Reading) {
        if ask.keys.iter().any(|keys| matches!(keys, Keys::Nodes(_))) && ask.with_state {
            self.watch.acquires.fetch_add(1, Ordering::SeqCst);
        }
        for (key, text) in &reading.texts {
            let Key::Node(node_id) = *key else { continue };
            let record = NodeRecord::from_text(node_id, text, VERSION).unwrap();
            if !(self.has(&record) && record.held) {
                self.loses(node_id);
            }
        }
    }

    fn writes(&mut self, write: &Write) {
        for record in records(write) {
            if !record.held && self.has(&record) {
                self.loses(record.node_id);
                self.watch.released.fetch_add(1, Ordering::SeqCst);
            }
        }
    }

    fn has_written(&mut self, write: &Write, committed: WriteOutcome) {
        for record in records(write).filter(|_| committed != WriteOutcome::Stale) {
            if !record.held {
                continue;
            }
            if self.has(&record) {
                self.had.insert(record.node_id, record);
            } else {
                self.takes(record);
            }
        }
    }
}

/// The leases of a write.
fn records(write: &Write) -> impl Iterator<Item = NodeRecord> {
    write.entries.iter().filter_map(|entry| match entry.key {
        Key::Node(node_id) => NodeRecord::from_text(node_id, entry.after.as_deref()?, VERSION).ok(),
        _ => None,
    })
}
