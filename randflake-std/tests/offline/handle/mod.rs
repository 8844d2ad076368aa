//! Handles: refused settings, ids over threads, restarts and layouts, and close.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

mod leases;

use core::sync::atomic::{AtomicI64, Ordering};
use core::time::Duration;
use std::collections::{BTreeSet, HashSet};
use std::sync::Arc;
use std::thread;
use std::time::Instant;

use randflake_core::{Clock, Plain};
use randflake_std::lease::{Grant, MemoryStore, Namespace, StoreError};
use randflake_std::{
    BuildError, Builder, ExactSystemClock, GenerateError, Handle, Health, Id, Layout, Randflake,
    Secret, Snowflake,
};

use crate::fixtures::Gate;
use crate::fixtures::{Narrow, SLOW_TTL, Slow};

const TTL: Duration = Duration::from_secs(3);
/// For leases of which the keeper's next call is waited for, which is after a third, and not their
/// end.
const LONGER_TTL: Duration = Duration::from_secs(20);
/// For leases that are not to end, nor to be renewed, while a test runs.
const LONG_TTL: Duration = Duration::from_secs(300);
/// Far longer than what is waited for takes, on a busy machine too.
const PATIENCE: Duration = Duration::from_secs(60);
const SECOND: Duration = Duration::from_secs(1);

/// The real time, off by what the test says.
#[derive(Debug, Default)]
struct StoreClock {
    offset_ms: AtomicI64,
}

impl Clock for StoreClock {
    fn now(&self) -> Option<Duration> {
        let now_ms = i64::try_from(ExactSystemClock.now()?.as_millis()).ok()?;
        let shown_ms = now_ms + self.offset_ms.load(Ordering::SeqCst);
        Some(Duration::from_millis(shown_ms.cast_unsigned()))
    }
}

fn store_for<L: Layout>() -> (MemoryStore, Arc<StoreClock>) {
    let clock = Arc::new(StoreClock::default());
    let namespace = Namespace::new("test", L::default())
        .unwrap()
        .with_max_ttl(LONG_TTL);
    (MemoryStore::new(namespace, Arc::clone(&clock)), clock)
}

fn store() -> MemoryStore {
    store_for::<Randflake>().0
}

fn builder(store: &MemoryStore) -> Builder {
    Handle::builder(&Secret::from_bytes([7; 16]), store.clone()).ttl(TTL)
}

/// Waits until something holds.
fn eventually(what: &str, mut holds: impl FnMut() -> bool) {
    let started = Instant::now();
    while !holds() {
        assert!(started.elapsed() < PATIENCE, "{what} did not happen");
        thread::sleep(Duration::from_millis(20));
    }
}

fn node_id<L: Layout>(handle: &Handle<L>) -> u32 {
    handle.lease().leases[0].node_id()
}

fn live(store: &MemoryStore) -> Vec<Grant> {
    let mut store = store.clone();
    let now = Randflake::SPEC.tick_at(store.now().unwrap()).unwrap();
    let grants = store.list().unwrap().into_iter().map(|record| record.grant);
    grants.filter(|grant| now < grant.end).collect()
}

#[test]
fn a_store_whose_clock_is_far_off_is_refused() {
    let (store, clock) = store_for::<Randflake>();
    for offset_ms in [-60_000, 60_000] {
        clock.offset_ms.store(offset_ms, Ordering::SeqCst);
        let error = builder(&store.clone().compared_with(Arc::new(ExactSystemClock)))
            .build()
            .unwrap_err();
        assert!(
            matches!(error, BuildError::Store(StoreError::ClockSkew { .. })),
            "{error}"
        );
        assert!(live(&store).is_empty(), "what was acquired was given back");
    }
}

#[test]
fn out_of_range_settings_name_the_allowed_range() {
    let message = |builder: Builder| builder.build().unwrap_err().to_string();
    assert_eq!(
        message(builder(&store()).ttl(Duration::from_secs(2))),
        "a TTL of 2s is too short: at least 3s is allowed"
    );
    assert_eq!(
        message(builder(&store()).ttl(Duration::from_secs(301))),
        "a TTL of 5m 1s was asked for: 1s to 5m are allowed in this namespace, whose longest TTL was fixed when it was created"
    );
    assert_eq!(
        message(builder(&store()).tolerance(6)),
        "a tolerance of 6 ticks is too large: at most 5 is allowed"
    );
    assert_eq!(
        message(builder(&store()).node_ids(0)),
        "0 node ids asked for: 1 to 131072 are allowed"
    );
    assert_eq!(
        message(Handle::builder(
            &Secret::from_bytes([7; 16]),
            store_for::<Snowflake>().0
        )),
        "the store was opened for namespace \"test\" of another layout than the handle's: give both the same one, as in \
         Namespace::new(\"test\", Milliflake) and Builder::encrypted(Milliflake, &secret, store), or Builder::new(Snowflake, \
         Plain, store) for plain ids; Handle::builder(&secret, store) is for Randflake"
    );
}

#[test]
fn a_namespace_has_one_secret() {
    let store = store();
    let ids = builder(&store).build().unwrap();
    let refused = Handle::builder(&Secret::from_bytes([8; 16]), store)
        .build()
        .unwrap_err();
    assert!(
        matches!(refused, BuildError::Store(StoreError::Terms { .. })),
        "{refused}"
    );
    ids.generate().unwrap();
}

#[test]
fn nothing_shows_the_secret() {
    // Neither text of two such bytes is ever a part of what else is shown, as a time is.
    let secret = Secret::from_bytes([0xAB; 16]);
    let handle = Handle::builder(&secret, store()).ttl(TTL).build().unwrap();
    let shown = format!("{handle:?}");
    assert!(shown.contains("node_id"), "{shown}");
    for of_secret in ["171, 171", "abab"] {
        assert!(!shown.to_lowercase().contains(of_secret), "{shown}");
    }
}

/// Two tests of one program, each with a store of its own and the secret of all tests.
#[test]
fn system_clock_stores_start_at_varied_node_ids() {
    let node_ids: BTreeSet<_> = (0..8)
        .map(|_| {
            let namespace = Namespace::new("orders", Randflake).unwrap();
            let store = MemoryStore::with_system_clock(namespace);
            let ids = Handle::builder(&Secret::from_bytes([7; 16]), store)
                .build()
                .unwrap();
            ids.inspect(ids.generate().unwrap()).node_id
        })
        .collect();
    // Of 131,072: that four of eight are equal is impossible for a working random source.
    assert!(node_ids.len() > 4, "{node_ids:?}");
}

#[test]
fn a_handle_is_shared_by_threads_and_no_id_repeats() {
    fn shared<T: Send + Sync + Clone>(_: &T) {}
    let handle = builder(&store()).ttl(LONG_TTL).build().unwrap();
    shared(&handle);
    let threads: Vec<thread::JoinHandle<Vec<Id>>> = (0..4)
        .map(|_| {
            let handle = handle.clone();
            thread::spawn(move || {
                (0..20_000)
                    .map(|_| handle.generate_wait(PATIENCE).unwrap())
                    .collect()
            })
        })
        .collect();
    let ids: Vec<Id> = threads
        .into_iter()
        .flat_map(|t| t.join().unwrap())
        .collect();
    assert_eq!(ids.iter().collect::<HashSet<_>>().len(), 80_000);

    let lease = handle.lease().leases[0];
    let parts = handle.inspect(ids[0]);
    assert_eq!(parts.node_id, lease.node_id());
    assert!((lease.start()..lease.end()).contains(&parts.tick));
    assert_eq!(handle.codec().compose(parts), Ok(ids[0]));
}

/// Known failure (e) of the older packages: a restart in the same second with the same lease.
#[test]
fn a_restarted_process_repeats_nothing() {
    let store = store();
    let mut ids = HashSet::new();
    for round in 0..20 {
        let handle = builder(&store).build().unwrap();
        for _ in 0..1_000 {
            assert!(
                ids.insert(handle.generate_wait(PATIENCE).unwrap()),
                "round {round}"
            );
        }
        match round % 3 {
            0 => handle.close().unwrap(),
            1 => drop(handle),
            _ => core::mem::forget(handle), // as killed: nothing is released
        }
    }
}

#[test]
fn exhausted_node_ids_wait_for_the_next_second() {
    const PER_SECOND: usize = 256;
    let store = store_for::<Narrow<17, 8>>().0;
    let builder = Builder::new(Narrow::<17, 8>, Plain, store);
    let handle = builder.node_ids(2).ttl(PATIENCE).build().unwrap();
    let mut ids = HashSet::new();
    let started = Instant::now();
    // More than two node ids have in two seconds.
    for _ in 0..5 * PER_SECOND {
        assert!(ids.insert(handle.generate_wait(PATIENCE).unwrap()));
    }
    // It waited for a whole second at least, of a clock that steps by some milliseconds.
    assert!(
        started.elapsed() > SECOND * 9 / 10,
        "a second's ids are not more than the layout has"
    );

    let (node_id, error) = loop {
        match handle.generate() {
            Ok(id) => drop(ids.insert(id)),
            Err(error) => break (node_id(&handle), error),
        }
    };
    let GenerateError::SequenceExhausted { retry_in_ms } = error else {
        panic!("node id {node_id}: {error}");
    };
    assert!((1..=1_000).contains(&retry_in_ms));
    // A limit that is known to be too short is not waited for.
    assert!((0..50 * PER_SECOND).any(|_| handle.generate_wait(Duration::ZERO).is_err()));
}

#[test]
fn classic_layouts_get_leases_too() {
    let (store, _) = store_for::<Snowflake>();
    let before = ExactSystemClock.now().unwrap().as_millis();
    let handle = Builder::new(Snowflake, Plain, store.clone())
        .ttl(SECOND)
        .build()
        .unwrap();
    let ids: Vec<Id> = (0..20_000)
        .map(|_| handle.generate_wait(PATIENCE).unwrap())
        .collect();
    assert!(ids.is_sorted(), "a plain id of one node sorts by time");
    assert_eq!(ids.iter().collect::<HashSet<_>>().len(), ids.len());
    let after = ExactSystemClock.now().unwrap().as_millis();
    let first = u128::from(handle.codec().unix_ms(ids[0]));
    // It is ahead by at most what an answer of the store took.
    let latest = after + (after - before);
    assert!((before..=latest).contains(&first));
}

/// The next tick is decades away.
#[test]
fn a_wait_that_cannot_help_ends_at_once() {
    let namespace = Namespace::new("test", Slow).unwrap();
    let store = MemoryStore::new(namespace.with_max_ttl(SLOW_TTL), Arc::new(ExactSystemClock));
    let builder = Builder::new(Slow, Plain, store);
    let handle = builder.ttl(SLOW_TTL).build().unwrap();
    let mut buffer = [Id::from_u64(0); 5];
    assert_eq!(handle.fill(&mut buffer), Ok(4));
    let refused = [
        handle.generate_wait(LONG_TTL).unwrap_err(),
        handle.fill_wait(&mut buffer, LONG_TTL).unwrap_err(),
    ];
    for error in refused {
        assert!(
            matches!(error, GenerateError::SequenceExhausted { .. }),
            "{error:?}"
        );
    }
}

#[test]
fn close_ends_all_clones_and_releases_the_rest() {
    let store = store();
    let handle = builder(&store).ttl(LONG_TTL).node_ids(3).build().unwrap();
    let clone = handle.clone();
    let last = handle.inspect(handle.generate().unwrap());
    handle.close().unwrap();
    assert_eq!(clone.generate(), Err(GenerateError::Closed));
    assert_eq!(clone.generate_wait(PATIENCE), Err(GenerateError::Closed));
    clone.close().unwrap();

    let records = store.clone().list().unwrap();
    let ends: Vec<_> = records
        .iter()
        .map(|record| record.grant.end - record.grant.start)
        .collect();
    assert_eq!(
        ends.iter().sum::<u64>(),
        last.tick - records[0].grant.start + 1
    );
}

#[test]
fn failed_release_is_reported_and_ends_issuing() {
    let store = store();
    let handle = builder(&store).ttl(LONG_TTL).build().unwrap();
    store.fail_next(u32::MAX);
    assert!(matches!(handle.close(), Err(StoreError::Unavailable(_))));
    assert_eq!(handle.generate(), Err(GenerateError::Closed));
}

#[test]
fn dropping_the_last_clone_releases() {
    let store = store();
    let handle = builder(&store).ttl(LONG_TTL).build().unwrap();
    let clone = handle.clone();
    drop(handle);
    clone.generate().unwrap();
    let end = live(&store)[0].end;
    drop(clone);
    let released = store.clone().list().unwrap()[0].grant.end;
    assert!(released < end);
}

#[test]
fn close_wakes_waiters_before_the_release_ends() {
    let gate = Arc::new(Gate::default());
    let namespace = Namespace::new("test", Slow).unwrap().with_max_ttl(SLOW_TTL);
    let store = MemoryStore::new(namespace, Arc::clone(&gate));
    let builder = Builder::new(Slow, Plain, store).ttl(SLOW_TTL);
    let handle = builder.build().unwrap();
    while handle.generate().is_ok() {}
    let waits_before = handle.clone();
    let waits_before = thread::spawn(move || waits_before.generate_wait(SLOW_TTL));

    gate.close();
    let closing = handle.clone();
    let closing = thread::spawn(move || closing.close());
    // Both who waited before and who asks now have their answer before the store has given any.
    assert!(waits_before.join().unwrap().is_err());
    while !matches!(handle.health(), Health::Closed) {
        thread::yield_now();
    }
    let error = handle.generate_wait(SLOW_TTL).unwrap_err();
    assert!(
        matches!(
            error,
            GenerateError::Closed | GenerateError::SequenceExhausted { .. }
        ),
        "{error:?}"
    );
    assert!(!closing.is_finished(), "the store has not answered yet");
    gate.open();
    closing.join().unwrap().unwrap();
}
