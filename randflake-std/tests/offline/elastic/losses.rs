//! Elastic handles without enough leases: full namespaces, stores that fail, lost leases and new
//! ones, and what a watched store is asked.

use core::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use core::time::Duration;
use std::collections::BTreeMap;
use std::sync::Arc;
use std::thread;
use std::time::Instant;

use randflake_core::Sparx64;
use randflake_std::lease::{Grant, LeaseStore, MemoryStore, StoreErrorKind};
use randflake_std::unstable::engine::{Ask, Reading};
use randflake_std::unstable::rules::{Key, Keys, NodeRecord, VERSION, Write, WriteOutcome};
use randflake_std::{GenerateError, Handle, Health, Id};

use crate::elastic::{
    Few, Ids, LONG_TTL, LONGER_TTL, NODE_IDS, PATIENCE, PER_TICK, Server, Store, TTL,
    assert_distinct, builder, burst, held, is_ready, is_short, memory, node_ids, pause, trickle,
    until,
};
use crate::watched::{Watcher, watched};

/// The pause after a refusal is at least this, less a tenth; and a request is halved twice at most.
const SHORTEST_PAUSE_MS: u128 = 100 - 10;
const CALLS_OF_A_TRY: u128 = 3;

pub(crate) fn full(open: &Server) {
    let count = NODE_IDS - 1;
    let others = builder(open(), count..=count)
        .ttl(LONG_TTL)
        .build()
        .unwrap();
    let watch = Arc::new(Watch::default());
    let store = with_watch(open(), &watch);
    let ids = builder(store, 1..=4).ttl(LONGER_TTL).build().unwrap();
    let started = Instant::now();
    let mut issued = Vec::new();
    until(
        "a shortage",
        || burst(&ids, &mut issued),
        || {
            let error = ids.lease().shortage;
            error.is_some_and(|error| error.kind() == StoreErrorKind::Exhausted)
        },
    );
    until("a shortage", || burst(&ids, &mut issued), || is_short(&ids));
    assert!(ids.lease().last_error.is_none() && ids.health().is_ready());
    // It goes on with what it has.
    let before = issued.len();
    until(
        "some ticks",
        || burst(&ids, &mut issued),
        || started.elapsed() > TTL * 2,
    );
    assert!(issued.len() > before);
    assert_eq!(held(&ids), 1);
    let calls = u128::from(watch.acquires.load(Ordering::SeqCst));
    let tries = started.elapsed().as_millis() / SHORTEST_PAUSE_MS + 2;
    assert!(calls <= tries * CALLS_OF_A_TRY, "{calls} acquires");

    others.close().unwrap();
    until(
        "what became free",
        || burst(&ids, &mut issued),
        || held(&ids) == 4,
    );
    until("readiness", pause, || is_ready(&ids));
    assert_distinct(issued);
}

#[test]
fn fewer_free_node_ids_than_asked_for_are_taken() {
    let store = memory();
    let fixed = builder(store.clone(), 3..=3).ttl(LONG_TTL).build().unwrap();
    let ids = builder(store, 2..=8).ttl(LONGER_TTL).build().unwrap();
    let mut issued = Vec::new();
    until("a shortage", || burst(&ids, &mut issued), || is_short(&ids));
    assert_eq!(held(&ids), 5);
    // No more is asked for after a quiet time, so it is not short any more.
    until("the end of the shortage", pause, || is_ready(&ids));
    fixed.close().unwrap();
    assert_distinct(issued);
}

#[test]
fn outage_keeps_node_ids_and_its_end_adds_more() {
    let store = memory();
    let ids = builder(store.clone(), 1..=4).ttl(LONG_TTL).build().unwrap();
    let mut issued = Vec::new();
    store.fail_next(u32::MAX);
    until(
        "a failure",
        || burst(&ids, &mut issued),
        || matches!(ids.health(), Health::Degraded { .. }),
    );
    assert_eq!(held(&ids), 1);
    let error = ids.lease().last_error.unwrap();
    assert_eq!(error.kind(), StoreErrorKind::Unavailable);
    assert!(ids.lease().shortage.is_none());
    store.fail_next(0);
    until(
        "four node ids",
        || burst(&ids, &mut issued),
        || held(&ids) == 4,
    );
    until("readiness", pause, || is_ready(&ids));
    assert_distinct(issued);
}

/// What an acquire was granted whose reply was lost is what the next one gets. Else it would be
/// taken for a whole TTL, which is longer than the test waits.
#[test]
fn a_lost_reply_costs_no_node_id() {
    let store = memory();
    let builder = builder(store.clone(), 1..=8).ttl(LONG_TTL);
    let ids = builder.build().unwrap();
    let mut issued = Vec::new();
    store.lose_replies(2);
    until(
        "all node ids",
        || burst(&ids, &mut issued),
        // An eighth is left to others.
        || held(&ids) == 7,
    );
    assert_distinct(issued);
}

/// A handle with four node ids, and what it has issued.
fn four(store: &MemoryStore) -> (Ids, Vec<Id>) {
    let ids = builder(store.clone(), 1..=4)
        .ttl(LONGER_TTL)
        .build()
        .unwrap();
    let mut issued = Vec::new();
    until(
        "four node ids",
        || burst(&ids, &mut issued),
        || held(&ids) == 4,
    );
    (ids, issued)
}

fn grant_of(store: &MemoryStore, node_id: u32) -> Grant {
    let records = store.clone().list().unwrap();
    let mut grants = records.into_iter().map(|record| record.grant);
    grants.find(|grant| grant.node_id == node_id).unwrap()
}

#[test]
fn one_lost_lease_of_many_ends_alone() {
    let store = memory();
    let (ids, mut issued) = four(&store);
    let before = node_ids(&ids);
    let lost = *before.first().unwrap();
    store.clone().release(&[grant_of(&store, lost)]).unwrap();
    until(
        "the loss",
        || trickle(&ids, &mut issued),
        || !node_ids(&ids).contains(&lost),
    );
    assert!(!node_ids(&ids).is_disjoint(&before));
    issued.push(ids.generate_wait(PATIENCE).unwrap());
    assert_eq!(ids.lease().losses.contested, 0);
    assert_distinct(issued);
}

/// A copy of the process renews one of them first: the one in whose block this thread is.
#[test]
fn one_contested_lease_of_many_ends_alone() {
    let store = memory();
    let (ids, mut issued) = four(&store);
    let before = node_ids(&ids);
    let last = ids.generate_wait(PATIENCE).unwrap();
    let contested = ids.inspect(last).node_id;
    let mut copy = store.clone();
    copy.renew(&[grant_of(&store, contested)], 3).unwrap();
    issued.push(last);
    let mut later = 0;
    until("the loss", pause, || {
        // So few that the one in use is not used up.
        for _ in 0..15 {
            let is_lost = ids.lease().losses.contested == 1;
            let id = ids.generate_wait(PATIENCE).unwrap();
            assert!(!is_lost || ids.inspect(id).node_id != contested);
            issued.push(id);
            later += u32::from(is_lost);
        }
        later > 300
    });
    assert!(!node_ids(&ids).contains(&contested));
    assert!(!node_ids(&ids).is_disjoint(&before));
    assert_eq!(ids.lease().losses.contested, 1);
    assert_distinct(issued);
}

#[test]
fn loss_of_all_is_replaced_up_to_the_minimum() {
    let store = memory();
    let (ids, mut issued) = four(&store);
    let before = node_ids(&ids);
    let grants: Vec<_> = before
        .iter()
        .map(|&node_id| grant_of(&store, node_id))
        .collect();
    store.clone().release(&grants).unwrap();
    // Theirs have not ended, so it is of another node id.
    until(
        "another lease",
        || trickle(&ids, &mut issued),
        || held(&ids) == 1 && node_ids(&ids).is_disjoint(&before),
    );
    issued.push(ids.generate_wait(PATIENCE).unwrap());
    let records = store.clone().list().unwrap().into_iter();
    let others = records.filter(|record| !before.contains(&record.grant.node_id));
    // More than one if the burst's last tick was not over yet.
    assert!((1..before.len()).contains(&others.count()));
    assert_distinct(issued);
}

#[test]
fn no_node_id_of_before_a_copy_is_issued_from() {
    let word: &'static AtomicU64 = Box::leak(Box::new(AtomicU64::new(1)));
    let store = memory();
    let ids = builder(store.clone(), 1..=4)
        .ttl(LONG_TTL)
        .generation(word)
        .build()
        .unwrap();
    let mut issued = Vec::new();
    until(
        "four node ids",
        || burst(&ids, &mut issued),
        || held(&ids) == 4,
    );
    let before = node_ids(&ids);
    let grants: Vec<_> = before
        .iter()
        .map(|&node_id| grant_of(&store, node_id))
        .collect();
    word.fetch_add(1, Ordering::SeqCst);
    for _ in 0..500 {
        let id = ids.generate_wait(PATIENCE).unwrap();
        assert!(!before.contains(&ids.inspect(id).node_id));
        issued.push(id);
    }
    assert_eq!(ids.lease().losses.contested, 4);
    ids.close().unwrap();
    for grant in grants {
        assert_eq!(
            grant_of(&store, grant.node_id),
            grant,
            "released or renewed"
        );
    }
    assert_distinct(issued);
}

/// A handle, what it had, and whether its threads take all that there is.
struct Party {
    ids: Ids,
    watch: Arc<Watch>,
    is_busy: AtomicBool,
}

impl Party {
    fn new(open: &Server) -> Self {
        let watch = Arc::new(Watch::default());
        let store = with_watch(open(), &watch);
        Self {
            ids: builder(store, 1..=7).build().unwrap(),
            watch,
            is_busy: AtomicBool::new(false),
        }
    }

    fn issue(&self, is_over: &AtomicBool) -> Vec<Id> {
        let mut issued = Vec::new();
        while !is_over.load(Ordering::SeqCst) {
            let is_busy = self.is_busy.load(Ordering::SeqCst);
            for _ in 0..if is_busy { PER_TICK } else { 1 } {
                match self.watch.generate(&self.ids) {
                    Ok(id) => issued.push(id),
                    Err(error) => {
                        assert!(
                            !matches!(error, GenerateError::Copied | GenerateError::InForkedChild),
                            "{error}"
                        );
                        break;
                    }
                }
            }
            thread::sleep(Duration::from_millis(if is_busy { 2 } else { 20 }));
        }
        issued
    }

    fn be_busy(&self) {
        self.is_busy.store(true, Ordering::SeqCst);
        until("a burst", pause, || held(&self.ids) >= 5);
        self.is_busy.store(false, Ordering::SeqCst);
    }

    fn be_quiet(&self) {
        until("a quiet time", pause, || held(&self.ids) == 1);
    }
}

/// However the test ends.
struct EndsThreads<'a>(&'a AtomicBool);

impl Drop for EndsThreads<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::SeqCst);
    }
}

pub(crate) fn to_and_fro(open: &Server) {
    let (first, second) = (Party::new(open), Party::new(open));
    let is_over = AtomicBool::new(false);
    let issued: Vec<Id> = thread::scope(|scope| {
        let threads: Vec<_> = [&first, &second, &first, &second, &first, &second]
            .into_iter()
            .map(|party| {
                let is_over = &is_over;
                scope.spawn(move || party.issue(is_over))
            })
            .collect();
        let ends_threads = EndsThreads(&is_over);
        // Both cannot have five of eight.
        for party in [&first, &second, &first] {
            party.be_busy();
            party.be_quiet();
        }
        drop(ends_threads);
        let joined = threads.into_iter().map(|thread| thread.join().unwrap());
        joined.flatten().collect()
    });
    for party in [first, second] {
        assert!(party.watch.released.load(Ordering::SeqCst) >= 4);
        party.ids.close().unwrap();
    }
    assert_distinct(issued);
}

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
    pub(crate) fn generate(&self, ids: &Handle<Few, Sparx64>) -> Result<Id, GenerateError> {
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
