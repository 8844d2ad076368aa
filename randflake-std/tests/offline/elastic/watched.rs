//! Watcher that notes, for each node id, whether the handle has it.

use core::sync::atomic::{AtomicU64, Ordering};
use std::sync::Arc;

use randflake_core::Sparx64;
use randflake_std::lease::{LeaseStore, Token};
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
    let had = [None; NODE_IDS as usize];
    watched(store, Noting { watch, had })
}

/// What the handle has of each node id, as its store reads and writes it.
#[derive(Debug)]
struct Noting {
    watch: Arc<Watch>,
    had: [Option<Token>; NODE_IDS as usize],
}

impl Noting {
    /// The handle takes or loses a node id.
    fn change(&mut self, node_id: u32, token: Option<Token>) {
        let former = self.watch.changes[node_id as usize].fetch_add(1, Ordering::SeqCst);
        assert_eq!(former.is_multiple_of(2), token.is_some(), "granted twice");
        self.had[node_id as usize] = token;
    }

    fn has(&self, record: &NodeRecord) -> bool {
        self.had[record.node_id as usize] == Some(record.token)
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
            if self.had[node_id as usize].is_some() && !(self.has(&record) && record.held) {
                self.change(node_id, None);
            }
        }
    }

    fn writes(&mut self, write: &Write) {
        for record in records(write) {
            if !record.held && self.has(&record) {
                self.change(record.node_id, None);
                self.watch.released.fetch_add(1, Ordering::SeqCst);
            }
        }
    }

    fn has_written(&mut self, write: &Write, committed: WriteOutcome) {
        for record in records(write).filter(|_| committed != WriteOutcome::Stale) {
            if record.held && !self.has(&record) {
                self.change(record.node_id, Some(record.token));
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
