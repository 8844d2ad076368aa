//! Ids of a handle: each once, over threads, restarts, node ids and layouts.

use core::time::Duration;
use std::collections::HashSet;
use std::sync::Arc;
use std::thread;
use std::time::Instant;

use randflake_core::{Clock, Plain};
use randflake_std::lease::{MemoryStore, Namespace};
use randflake_std::{Builder, ExactSystemClock, GenerateError, Handle, Id, Snowflake};

use super::{LONG_TTL, PATIENCE, SECOND, builder, node_id, store, store_for};
use crate::layouts::{Narrow, SLOW_TTL, Slow};

#[test]
fn a_handle_is_shared_by_threads_and_no_id_repeats() {
    fn shared<T: Send + Sync + Clone>(_: &T) {}
    let handle = builder(&store()).ttl(LONG_TTL).build().unwrap();
    shared(&handle);
    let issue = |handle: Handle| {
        move || {
            (0..20_000)
                .map(|_| handle.generate_wait(PATIENCE).unwrap())
                .collect()
        }
    };
    let threads: Vec<thread::JoinHandle<Vec<Id>>> = (0..4)
        .map(|_| thread::spawn(issue(handle.clone())))
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
fn a_pool_multiplies_and_an_exhausted_one_waits_for_the_next_second() {
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
    let at_once = || handle.generate_wait(Duration::ZERO);
    assert!((0..50 * PER_SECOND).any(|_| at_once().is_err()));
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
    let is_exhausted = |error| matches!(error, GenerateError::SequenceExhausted { .. });
    assert!(refused.into_iter().all(is_exhausted), "{refused:?}");
}
