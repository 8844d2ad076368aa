//! Ids taken in advance: the same promises, for a bounded time.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use core::time::Duration;
use std::collections::HashSet;
use std::sync::Arc;
use std::thread;
use std::time::Instant;

use randflake_core::GenerateError as Refusal;
use randflake_std::lease::{MemoryStore, Namespace};
use randflake_std::{Builder, ExactSystemClock, GenerateError, Handle, Id, Randflake, Secret};

const TTL: Duration = Duration::from_secs(3);
const SECOND: Duration = Duration::from_secs(1);
const TENTH: Duration = Duration::from_millis(100);

fn store() -> MemoryStore {
    MemoryStore::new(
        Namespace::of::<Randflake>("test").unwrap(),
        Arc::new(ExactSystemClock),
    )
}

fn builder(store: &MemoryStore) -> Builder {
    Handle::builder(&Secret::from_bytes([7; 16]), store.clone()).ttl(TTL)
}

fn age(handle: &Handle, id: Id) -> Duration {
    let unix = Duration::from_millis(handle.codec().unix_ms(id));
    randflake_core::Clock::now(&ExactSystemClock)
        .unwrap()
        .saturating_sub(unix)
}

#[test]
fn threads_with_blocks_and_buffers_of_their_own_never_repeat() {
    const EACH: usize = 100_000;
    let handle = builder(&store()).node_ids(4).build().unwrap();
    let prefetched = |handle: Handle| {
        let local = handle.local().unwrap();
        local.take(EACH).map(Result::unwrap).collect::<Vec<Id>>()
    };
    let filled = |handle: Handle| {
        let mut ids = vec![Id::from_u64(0); EACH];
        let mut rest = &mut ids[..];
        while !rest.is_empty() {
            let count = handle.fill_wait(rest, TTL).unwrap();
            rest = &mut rest[count..];
        }
        ids
    };
    let single = |handle: Handle| {
        (0..EACH)
            .map(|_| handle.generate_wait(TTL).unwrap())
            .collect()
    };
    let ids: HashSet<Id> = thread::scope(|scope| {
        let threads = [
            scope.spawn(|| prefetched(handle.clone())),
            scope.spawn(|| prefetched(handle.clone())),
            scope.spawn(|| filled(handle.clone())),
            scope.spawn(|| single(handle.clone())),
        ];
        threads
            .into_iter()
            .flat_map(|thread| thread.join().unwrap())
            .collect()
    });
    assert_eq!(ids.len(), 4 * EACH);
}

#[test]
fn a_block_is_dropped_when_it_is_too_old() {
    let handle = builder(&store()).build().unwrap();
    for (max_age, wait) in [(2 * TENTH, 4 * TENTH), (SECOND, SECOND + 2 * TENTH)] {
        let mut local = handle.local_within(max_age).unwrap();
        for round in 0..3 {
            let issued = local.next_id().unwrap();
            thread::sleep(wait);
            let next = local.next_id().unwrap();
            assert!(handle.inspect(next).tick <= handle.inspect(issued).tick + 2);
            // A tick lasts a second, so a fresh id is up to a second old by its timestamp.
            assert!(age(&handle, next) < SECOND + TENTH, "round {round}");
        }
    }
}

#[test]
fn ids_follow_each_other_without_a_gap_while_a_block_lasts() {
    let handle = builder(&store()).build().unwrap();
    let ids: Vec<Id> = handle
        .local()
        .unwrap()
        .take(5_000)
        .map(Result::unwrap)
        .collect();
    let parts: Vec<_> = ids.iter().map(|&id| handle.inspect(id)).collect();
    let steps = parts
        .windows(2)
        .filter(|pair| pair[1].sequence == pair[0].sequence + 1)
        .count();
    assert!(steps >= 4_990, "{steps}");
}

#[test]
fn a_closed_handle_drops_every_block() {
    let handle = builder(&store()).build().unwrap();
    let mut local = handle.local().unwrap();
    local.next_id().unwrap();
    handle.close().unwrap();
    assert_eq!(
        local.next_id(),
        Err(GenerateError::Refused(Refusal::Sealed))
    );
    assert_eq!(
        local.next_id_wait(TTL),
        Err(GenerateError::Refused(Refusal::Sealed))
    );
}

#[test]
fn at_the_end_of_the_lease_a_block_ends_too() {
    let store = store();
    let handle = builder(&store).build().unwrap();
    let mut local = handle.local().unwrap();
    let mut ids = HashSet::new();
    store.fail_next(u32::MAX);
    let started = Instant::now();
    let error = loop {
        match local.next_id_wait(Duration::ZERO) {
            Ok(id) => assert!(ids.insert(id)),
            Err(GenerateError::Refused(Refusal::SequenceExhausted { .. })) => {}
            Err(error) => break error,
        }
        assert!(
            started.elapsed() < TTL + SECOND,
            "it goes on after the end of its lease"
        );
    };
    assert!(
        matches!(error, GenerateError::Refused(Refusal::LeaseOver { .. })),
        "{error}"
    );
    store.fail_next(0);
    assert!(
        ids.insert(local.next_id_wait(TTL).unwrap()),
        "service resumes by itself"
    );
}

#[test]
fn a_limit_below_a_tenth_of_a_second_takes_nothing_in_advance() {
    let handle = builder(&store()).build().unwrap();
    let mut local = handle.local_within(TENTH / 2).unwrap();
    let first = handle.inspect(local.next_id().unwrap());
    thread::sleep(SECOND);
    assert!(handle.inspect(local.next_id().unwrap()).tick > first.tick);
}
