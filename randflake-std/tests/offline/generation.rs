//! Handles on a machine whose state is resumed twice: the generation number changes.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use core::sync::atomic::{AtomicU64, Ordering};
use core::time::Duration;
use std::collections::{BTreeMap, HashSet};
use std::sync::Arc;
use std::thread;

use randflake_std::lease::{MemoryStore, Namespace, Record};
use randflake_std::{
    Builder, ExactSystemClock, GenerateError, Handle, Health, Id, Lease, Randflake, Secret,
};

/// So long that no lease ends, nor is renewed, while a test runs.
const TTL: Duration = Duration::from_secs(60);
/// Far longer than what is waited for takes, on a busy machine too.
const PATIENCE: Duration = Duration::from_secs(60);

fn store() -> MemoryStore {
    let namespace = Namespace::new("test", Randflake).unwrap();
    MemoryStore::new(namespace, Arc::new(ExactSystemClock))
}

fn word() -> &'static AtomicU64 {
    Box::leak(Box::new(AtomicU64::new(1)))
}

fn builder(store: &MemoryStore, word: &'static AtomicU64) -> Builder {
    Handle::builder(&Secret::from_bytes([7; 16]), store.clone())
        .ttl(TTL)
        .generation(word)
}

fn lease(handle: &Handle) -> Lease<Randflake> {
    handle.lease().leases[0]
}

fn record(store: &MemoryStore, node_id: u32) -> Record {
    let records = store.clone().list().unwrap();
    records
        .into_iter()
        .find(|record| record.grant.node_id == node_id)
        .unwrap()
}

#[test]
fn change_of_generation_replaces_all_leases() {
    let (store, word) = (store(), word());
    let handle = builder(&store, word).node_ids(2).build().unwrap();
    let mut ids: HashSet<Id> = (0..100).map(|_| handle.generate().unwrap()).collect();
    let before = handle.lease().leases;
    let records = [0, 1].map(|n| record(&store, before[n].node_id()));

    // So that there is a time without leases to look at.
    store.fail_next(u32::MAX);
    word.fetch_add(1, Ordering::SeqCst);
    let mut buffer = [Id::from_u64(0); 16];
    assert_eq!(handle.generate(), Err(GenerateError::Copied));
    assert_eq!(handle.fill(&mut buffer), Err(GenerateError::Copied));
    assert!(!handle.health().is_ready());
    assert_eq!(
        handle.generate_wait(Duration::from_millis(1)),
        Err(GenerateError::Copied)
    );

    store.fail_next(0);
    ids.extend((0..100).map(|_| handle.generate_wait(PATIENCE).unwrap()));
    assert_eq!(ids.len(), 200);
    // The keeper clears its last error a moment after it has a lease.
    while !matches!(handle.health(), Health::Ready { .. }) {
        thread::yield_now();
    }
    assert_eq!(handle.lease().losses.contested, 2);
    // Another copy goes on with the leases from before: they are as they were.
    for (lease, former) in before.iter().zip(records) {
        let now = record(&store, lease.node_id());
        assert_eq!(
            (now.grant, &now.holder),
            (former.grant, &former.holder),
            "it was renewed, released or acquired"
        );
        let next = handle.lease().leases;
        assert!(next.iter().all(|next| next.node_id() != lease.node_id()));
        for next in next {
            assert_ne!(record(&store, next.node_id()).holder, former.holder);
        }
    }
}

#[test]
fn close_after_a_copy_releases_no_old_lease() {
    let (store, word) = (store(), word());
    let handle = builder(&store, word).build().unwrap();
    handle.generate().unwrap();
    let before = record(&store, lease(&handle).node_id());
    word.fetch_add(1, Ordering::SeqCst);
    handle.close().unwrap();
    let now = record(&store, before.grant.node_id);
    assert_eq!(now.grant, before.grant);
    assert!(handle.generate().is_err());
}

/// A call that begins after the change has no id of before, on any thread and however it is asked.
#[test]
fn calls_after_a_change_have_no_id_of_old_leases() {
    let (store, word) = (store(), word());
    let handle = builder(&store, word).build().unwrap();
    let issue = |number: usize| {
        let mut issued = Vec::new();
        let mut buffer = [Id::from_u64(0); 3];
        for n in 0..60_000 {
            let generation = word.load(Ordering::SeqCst);
            let ids = if (n + number).is_multiple_of(4) {
                handle
                    .fill_wait(&mut buffer, PATIENCE)
                    .map(|n| &buffer[..n])
            } else {
                handle.generate_wait(PATIENCE).map(|id| {
                    buffer[0] = id;
                    &buffer[..1]
                })
            };
            issued.extend(ids.unwrap().iter().map(|&id| (generation, id)));
            if n % 20_000 == 10_000 && number == 0 {
                word.fetch_add(1, Ordering::SeqCst);
            }
        }
        issued
    };
    let issued: Vec<(u64, Id)> = thread::scope(|scope| {
        let threads = [0, 1, 2].map(|number| scope.spawn(move || issue(number)));
        let joined = threads.into_iter().map(|thread| thread.join().unwrap());
        joined.flatten().collect()
    });
    let ids: HashSet<Id> = issued.iter().map(|&(_, id)| id).collect();
    assert_eq!(ids.len(), issued.len());
    // Each lease has a node id of its own: the leases from before are still held when the next is
    // acquired. The latest generation in which a call began that got an id of a lease is the
    // lease's: a slow call began in an earlier one, and none in a later one.
    let mut latest = BTreeMap::new();
    for (generation, id) in issued {
        let of_lease = latest.entry(handle.inspect(id).node_id).or_insert(0);
        *of_lease = generation.max(*of_lease);
    }
    let mut generations: Vec<_> = latest.values().copied().collect();
    generations.sort_unstable();
    assert_eq!(
        generations,
        [1, 2, 3, 4],
        "ids of leases that another copy has"
    );
    assert_eq!(latest[&lease(&handle).node_id()], 4);
}
