//! Tagged handles while their key is rotated.

use core::sync::atomic::{AtomicBool, Ordering};
use core::time::Duration;
use std::collections::HashMap;
use std::fs;
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Instant;

use randflake_core::{Clock, Field, LayoutFields, LayoutSpec};
use randflake_std::lease::{LeaseStore, MemoryStore, Namespace, StoreError};
use randflake_std::tagged::{
    TagCheckError, TagSecrets, TaggedBuildError, TaggedBuilder, TaggedHandle,
};
use randflake_std::{
    AnyLayout, ExactSystemClock, GenerateError, Health, KeyNumber, Layout, Plain, Randflake,
    TaggedUuid,
};
use tempfile::TempDir;

use crate::tagged::{directory, number, put, secret, secrets};

const TTL: Duration = Duration::from_secs(3);
/// The end of a lease is rounded up to a tick.
const TICK: Duration = Duration::from_secs(1);
/// Far longer than what is waited for takes, on a busy machine too.
const PATIENCE: Duration = Duration::from_secs(60);

/// Two node ids and ticks of a second.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Two;

impl Layout for Two {
    type Permutation = Plain;
    const SPEC: LayoutSpec = LayoutSpec::declare(LayoutFields {
        timestamp: Field { bits: 40, shift: 8 },
        node_id: Field { bits: 1, shift: 7 },
        sequence: Field { bits: 7, shift: 0 },
        epoch_unix_ms: 1_700_000_000_000,
        tick_ms: 1_000,
    });
}

fn store(layout: impl AnyLayout) -> MemoryStore {
    let namespace = Namespace::new("orders", layout).unwrap().with_max_ttl(TTL);
    MemoryStore::new(namespace, Arc::new(ExactSystemClock))
}

fn builder(store: &MemoryStore, directory: &TempDir) -> TaggedBuilder {
    let store = store.clone();
    TaggedHandle::builder(&secrets(directory), move || Ok(store.clone())).ttl(TTL)
}

fn next_key(store: &MemoryStore, next: u8) {
    let mut store = LeaseStore::from(store.clone());
    store
        .administration()
        .next_key(number(next), &secret(next))
        .unwrap();
}

#[track_caller]
fn until(what: impl Fn() -> bool) {
    let begun = Instant::now();
    while !what() {
        assert!(begun.elapsed() < PATIENCE, "it does not come");
        thread::sleep(Duration::from_millis(10));
    }
}

/// When the last UUID of each number was asked for, and all of them.
#[derive(Default)]
struct Issued {
    all: HashMap<TaggedUuid, KeyNumber>,
    last: HashMap<KeyNumber, Instant>,
}

/// Issues until it is told to stop.
fn load(ids: &TaggedHandle, issued: &Mutex<Issued>, is_over: &AtomicBool) {
    let mut buffer = [ids.generate_wait(PATIENCE).unwrap(); 300];
    while !is_over.load(Ordering::Relaxed) {
        let asked = Instant::now();
        let filled = ids.fill(&mut buffer).unwrap_or(0);
        let single = ids.generate().ok();
        let mut issued = issued.lock().unwrap();
        for uuid in buffer[..filled].iter().copied().chain(single) {
            let number = uuid.key_number();
            assert_eq!(issued.all.insert(uuid, number), None, "{uuid} is repeated");
            let last = issued.last.entry(number).or_insert(asked);
            *last = asked.max(*last);
        }
        drop(issued);
        thread::sleep(Duration::from_millis(5));
    }
}

/// Whether the last request was refused because the namespace has gone on from the first key to the
/// second.
fn is_refused_for_its_number(health: &Health) -> bool {
    let Health::NotReady { error: Some(error) } = health else {
        return false;
    };
    matches!(**error, StoreError::KeyNumber { stored, asked } if (stored, asked) == (number(2), number(1)))
}

/// Two rotations, of which a handle learns late: its directory gets the first key after the end of
/// its lease.
#[test]
fn handles_follow_two_rotations_under_load() {
    let store = store(Randflake);
    let [prompt, late] = [directory(&[1]), directory(&[1])];
    let handles = [&prompt, &prompt, &late].map(|it| builder(&store, it).build().unwrap());
    let lagging = &handles[2];
    let (issued, is_over) = (Mutex::new(Issued::default()), AtomicBool::new(false));
    let first = handles[0].generate_wait(PATIENCE).unwrap();
    let mut second = None;
    thread::scope(|scope| {
        for ids in &handles {
            let (issued, is_over) = (&issued, &is_over);
            scope.spawn(move || load(ids, issued, is_over));
            scope.spawn(move || load(ids, issued, is_over));
        }
        let is_lagging = |ids: &TaggedHandle| ids.key_number() == number(1);

        put(prompt.path(), 2);
        next_key(&store, 2);
        let rotated = Instant::now();
        until(|| handles[..2].iter().all(|ids| !is_lagging(ids)));
        second = handles[0].generate_wait(PATIENCE).ok();
        // The one that lags issues under its old key until its lease ends, and then nothing.
        until(|| matches!(lagging.generate(), Err(GenerateError::LeaseOver { .. })));
        until(|| is_refused_for_its_number(&lagging.health()));
        assert!(is_lagging(lagging));
        put(late.path(), 2);
        until(|| {
            lagging
                .generate()
                .is_ok_and(|uuid| uuid.key_number() == number(2))
        });
        // After one TTL nobody had issued under the old key.
        let last = issued.lock().unwrap().last[&number(1)];
        assert!(last < rotated + TTL + TICK, "{:?}", last - rotated);

        put(prompt.path(), 3);
        put(late.path(), 3);
        next_key(&store, 3);
        let rotated = Instant::now();
        until(|| handles.iter().all(|ids| ids.key_number() == number(3)));
        for ids in &handles {
            assert!(ids.generate_wait(PATIENCE).is_ok());
        }
        // By the threads, too, on however busy a machine.
        until(|| issued.lock().unwrap().last.contains_key(&number(3)));
        is_over.store(true, Ordering::Relaxed);
        let last = issued.lock().unwrap().last[&number(2)];
        assert!(last < rotated + TTL + TICK, "{:?}", last - rotated);
    });

    // All are read, until the file of their key is removed.
    let issued = issued.into_inner().unwrap();
    assert_eq!(issued.last.len(), 3);
    let reader = handles[0].secrets();
    for uuid in issued.all.keys() {
        reader.check(*uuid).unwrap();
    }
    let second = second.unwrap();
    assert!(handles[0].inspect(first).is_ok());
    fs::remove_file(prompt.path().join("1.key")).unwrap();
    let retired = TagCheckError::Retired { number: number(1) };
    until(|| reader.check(first) == Err(retired));
    assert!(reader.check(second).is_ok());
    // The other directory has it still.
    assert!(lagging.secrets().check(first).is_ok());
    for ids in &handles {
        ids.close().unwrap();
        assert!(matches!(ids.health(), Health::Closed));
        assert_eq!(ids.generate(), Err(GenerateError::Closed));
    }
    let left = LeaseStore::from(store).list().unwrap();
    // Each was given back from its first unused tick on.
    let now = Randflake::SPEC.tick_at(ExactSystemClock.now().unwrap());
    let next = now.unwrap() + 1;
    assert!(left.iter().all(|it| it.grant.end <= next), "{left:?}");
}

/// Its own node ids are in the way of the next lease.
#[test]
fn a_handle_that_has_all_node_ids_follows_too() {
    let store = store(Two);
    let keys = directory(&[1, 2]);
    make_namespace_under_first_key(&store);
    let clients = store.clone();
    let ids = TaggedBuilder::new(Two, &secrets(&keys), move || Ok(clients.clone()))
        .node_ids(2)
        .ttl(TTL)
        .build()
        .unwrap();
    // The directory has a later key, and the namespace its own.
    assert_eq!(ids.key_number(), number(1));
    next_key(&store, 2);
    until(|| ids.key_number() == number(2));
    assert_eq!(ids.generate_wait(PATIENCE).unwrap().key_number(), number(2));
    assert_eq!(ids.lease().leases.len(), 2);
}

/// Before a rotation and after it.
#[cfg(feature = "tokio")]
#[test]
fn tasks_wait_for_uuids() {
    let runtime = tokio::runtime::Builder::new_multi_thread();
    let runtime = { runtime }.enable_time().worker_threads(1).build().unwrap();
    let store = store(Two);
    make_namespace_under_first_key(&store);
    let keys = directory(&[1, 2]);
    let clients = store.clone();
    let ids = TaggedBuilder::new(Two, &secrets(&keys), move || Ok(clients.clone()))
        .node_ids(2)
        .ttl(TTL)
        .build()
        .unwrap();
    let issuing = ids.clone();
    let issued = runtime.spawn(async move {
        let mut issued = vec![issuing.generate_wait_async(PATIENCE).await.unwrap()];
        // More than a tick has, so that it waits.
        while issued.len() < 600 || issuing.key_number() == number(1) {
            issued.push(issuing.generate_wait_async(PATIENCE).await.unwrap());
        }
        issued.push(issuing.generate_wait_async(PATIENCE).await.unwrap());
        issued
    });
    next_key(&store, 2);
    let issued = runtime.block_on(issued).unwrap();
    assert_eq!(issued.last().unwrap().key_number(), number(2));
    let distinct: std::collections::HashSet<_> = issued.iter().collect();
    assert_eq!(distinct.len(), issued.len());
}

fn make_namespace_under_first_key(store: &MemoryStore) {
    let keys = directory(&[1]);
    let clients = store.clone();
    let first = TaggedBuilder::new(Two, &secrets(&keys), move || Ok(clients.clone()));
    first.ttl(TTL).build().unwrap().close().unwrap();
}

#[test]
fn a_new_namespace_begins_with_the_highest_number() {
    let store = store(Randflake);
    let keys = directory(&[4, 7]);
    let ids = builder(&store, &keys).build().unwrap();
    let uuid = ids.generate().unwrap();
    assert_eq!(
        (ids.key_number(), uuid.key_number()),
        (number(7), number(7))
    );

    // Who has only an older one is told which file it needs.
    let older = directory(&[4]);
    let refused = builder(&store, &older).build().unwrap_err();
    let TaggedBuildError::KeyFile {
        number: missing,
        file,
    } = &refused
    else {
        panic!("{refused:?}");
    };
    assert_eq!(*missing, number(7));
    assert_eq!(*file, older.path().join("7.key"));
    assert!(
        refused.to_string().contains("7.key is not there"),
        "{refused}"
    );

    let other = TagSecrets::open(keys.path(), "users").unwrap();
    let refused = TaggedHandle::builder(&other, move || Ok(store.clone()))
        .ttl(TTL)
        .build()
        .unwrap_err();
    assert!(
        matches!(refused, TaggedBuildError::Namespace { .. }),
        "{refused:?}"
    );
    // Nor does the other namespace accept the UUID.
    let forged = TagCheckError::Tag { number: number(7) };
    assert_eq!(other.check(uuid), Err(forged));
}
