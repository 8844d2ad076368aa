//! Thread blocks of a handle: ids of the current second only, each once, and none after the end.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use core::sync::atomic::{AtomicBool, Ordering};
use core::time::Duration;
use std::collections::HashSet;
use std::sync::{Arc, Barrier, mpsc};
use std::thread;
use std::time::Instant;

use randflake_core::Clock;
use randflake_std::lease::{Grant, MemoryStore, Namespace};
use randflake_std::{
    Builder, ExactSystemClock, GenerateError, Handle, Id, Lease, Randflake, Secret, Snowflake,
    SystemClock,
};

use crate::fixtures::Narrow;

const TTL: Duration = Duration::from_secs(3);
/// For leases of which the keeper's next call is waited for, which is after a third, and not their
/// end.
const LONGER_TTL: Duration = Duration::from_secs(20);
/// For leases that are not to end, nor to be renewed, while a test runs.
const LONG_TTL: Duration = Duration::from_secs(300);
/// Far longer than what is waited for takes, on a busy machine too.
const PATIENCE: Duration = Duration::from_secs(60);
const SECOND: Duration = Duration::from_secs(1);
const CLOSED: GenerateError = GenerateError::Closed;

fn store() -> MemoryStore {
    let namespace = Namespace::new("test", Randflake)
        .unwrap()
        .with_max_ttl(LONG_TTL);
    MemoryStore::new(namespace, Arc::new(ExactSystemClock))
}

fn builder(store: &MemoryStore) -> Builder {
    Handle::builder(&Secret::from_bytes([7; 16]), store.clone()).ttl(TTL)
}

/// Leaves a thread in the middle of a block of 256.
fn warm_up(handle: &Handle) -> HashSet<Id> {
    (0..600)
        .map(|_| handle.generate_wait(PATIENCE).unwrap())
        .collect()
}

fn now() -> Duration {
    ExactSystemClock.now().unwrap()
}

/// All leases that the store knows.
fn granted(store: &MemoryStore) -> Vec<Grant> {
    let records = store.clone().list().unwrap().into_iter();
    records.map(|record| record.grant).collect()
}

#[test]
fn threads_and_buffers_never_repeat_an_id() {
    const EACH: usize = 100_000;
    let handle = builder(&store()).node_ids(4).build().unwrap();
    let single = |_| {
        (0..EACH)
            .map(|_| handle.generate_wait(PATIENCE).unwrap())
            .collect::<Vec<Id>>()
    };
    let filled = |_| {
        let mut ids = vec![Id::from_u64(0); EACH];
        let mut rest = &mut ids[..];
        while !rest.is_empty() {
            let count = handle.fill_wait(rest, PATIENCE).unwrap();
            rest = &mut rest[count..];
        }
        ids
    };
    let ids: HashSet<Id> = thread::scope(|scope| {
        let singles = (0..6).map(|n| scope.spawn(move || single(n)));
        let all: Vec<_> = singles.chain([scope.spawn(move || filled(6))]).collect();
        all.into_iter()
            .flat_map(|thread| thread.join().unwrap())
            .collect()
    });
    assert_eq!(ids.len(), 7 * EACH);
}

#[test]
fn an_id_has_the_second_in_which_it_was_asked_for() {
    let handle = builder(&store()).build().unwrap();
    let second = |time: Duration| Duration::from_secs(time.as_secs());
    for _ in 0..2_000 {
        // Pauses in the middle of blocks, some of them over the turn of a second.
        (0..300).for_each(|_| {
            // Late by as much as the handle's.
            let before = SystemClock.now().unwrap();
            let id = handle.generate_wait(PATIENCE).unwrap();
            let time = Duration::from_millis(handle.codec().unix_ms(id));
            let earliest = second(before);
            // A handle's is ahead by at most what an answer of the store took.
            let latest = now() + TTL;
            assert!(
                (earliest..=latest).contains(&time),
                "{time:?} at {before:?}"
            );
        });
        thread::sleep(Duration::from_millis(1));
    }
}

#[test]
fn no_thread_has_an_id_after_close() {
    let handle = builder(&store()).ttl(LONG_TTL).build().unwrap();
    let is_closed = AtomicBool::new(false);
    let ready = Barrier::new(4);
    thread::scope(|scope| {
        for _ in 0..3 {
            scope.spawn(|| {
                warm_up(&handle);
                ready.wait();
                loop {
                    let was_closed = is_closed.load(Ordering::SeqCst);
                    match handle.generate() {
                        Ok(_) => assert!(!was_closed, "an id after close"),
                        Err(CLOSED) => break,
                        Err(error) => {
                            assert!(error.retry_in_ms().is_some(), "{error}");
                        }
                    }
                }
            });
        }
        ready.wait();
        handle.close().unwrap();
        is_closed.store(true, Ordering::SeqCst);
    });
    assert_eq!(handle.generate(), Err(CLOSED));
}

#[test]
fn close_drops_a_half_used_block() {
    let handle = builder(&store()).ttl(LONG_TTL).build().unwrap();
    warm_up(&handle);
    handle.clone().close().unwrap();
    for _ in 0..300 {
        assert_eq!(handle.generate(), Err(CLOSED));
    }
}

#[test]
fn block_ends_with_its_lease() {
    let store = store();
    let handle = builder(&store).build().unwrap();
    let mut ids = warm_up(&handle);
    store.fail_next(u32::MAX);
    let started = Instant::now();
    let error = loop {
        // Slowly, so that blocks are neither used up nor small.
        match handle.generate_wait(Duration::ZERO) {
            Ok(id) => assert!(ids.insert(id)),
            Err(GenerateError::SequenceExhausted { .. }) => {}
            Err(error) => break error,
        }
        assert!(started.elapsed() < PATIENCE, "it goes on after its lease");
    };
    let is_over = matches!(error, GenerateError::LeaseOver { .. });
    assert!(is_over, "{error}");
    store.fail_next(0);
    assert!(ids.insert(handle.generate_wait(PATIENCE).unwrap()));
}

/// A copy renews first: what this one has left of its block may be the copy's, too.
#[test]
fn a_contested_lease_drops_every_block() {
    let store = store();
    let handle = builder(&store).ttl(LONGER_TTL).build().unwrap();
    warm_up(&handle);
    let mut copy = store.clone();
    copy.renew(&granted(&store), 60).unwrap();
    copy.administration().start_quarantine().unwrap();
    let started = Instant::now();
    while handle.lease().losses.contested == 0 {
        assert!(started.elapsed() < PATIENCE, "nobody has noticed");
        thread::sleep(Duration::from_millis(1));
        if handle.lease().losses.contested == 0 {
            let _fills_another_block = handle.generate();
        }
    }
    for _ in 0..300 {
        assert_eq!(handle.generate(), Err(CLOSED));
    }
}

#[test]
fn lost_lease_drops_its_block() {
    let store = store();
    let handle = builder(&store).ttl(LONGER_TTL).build().unwrap();
    let mut ids = warm_up(&handle);
    // Another node id may begin in the same second.
    let name = |lease: Lease<Randflake>| (lease.node_id(), lease.start());
    let first = name(handle.lease().leases[0]);
    store.clone().release(&granted(&store)).unwrap();
    let started = Instant::now();
    while name(handle.lease().leases[0]) == first {
        assert!(started.elapsed() < PATIENCE, "it is not replaced");
        thread::sleep(Duration::from_millis(1));
    }
    let next = handle.lease().leases[0];
    for _ in 0..1_000 {
        let id = handle.generate_wait(PATIENCE).unwrap();
        assert!(ids.insert(id));
        let parts = handle.inspect(id);
        assert!(parts.tick >= next.start() && parts.node_id == next.node_id());
    }
}

#[test]
fn stopped_threads_hold_at_most_a_sixteenth() {
    const THREADS: usize = 64;
    const IN_A_SECOND: usize = 8_192;
    let layout = Narrow::<17, 13>;
    let namespace = Namespace::new("test", layout).unwrap();
    let store = MemoryStore::new(namespace, Arc::new(ExactSystemClock));
    let cipher = randflake_core::Sparx64::new(&[7; 16]);
    let handle = Builder::new(layout, cipher, store).build().unwrap();
    // Until one attempt was within a second: in the next one nobody has stopped.
    for _ in 0..50 {
        let issued = issued_in_the_last_second(&handle, THREADS);
        assert!(issued >= IN_A_SECOND / 16 * 15, "{issued}");
        if issued < IN_A_SECOND {
            return;
        }
    }
    panic!("no thread has stopped in the middle of a block");
}

/// Threads stop after a few ids, and one goes on to the end of a second: how many ids of that
/// second all had.
fn issued_in_the_last_second(
    handle: &Handle<Narrow<17, 13>, randflake_core::Sparx64>,
    threads: usize,
) -> usize {
    let (stopped, go_on) = (Barrier::new(threads + 1), Barrier::new(threads + 1));
    let until_second = Duration::from_nanos(now().subsec_nanos().into());
    thread::sleep(SECOND.saturating_sub(until_second));
    let issued = thread::scope(|scope| {
        let threads: Vec<_> = (0..threads)
            .map(|_| {
                scope.spawn(|| {
                    let ids: Vec<Id> = (0..40).filter_map(|_| handle.generate().ok()).collect();
                    stopped.wait();
                    go_on.wait();
                    ids
                })
            })
            .collect();
        stopped.wait();
        let rest: Vec<Id> = core::iter::from_fn(|| handle.generate().ok()).collect();
        go_on.wait();
        let stopped = threads.into_iter().map(|thread| thread.join().unwrap());
        stopped.flatten().chain(rest).collect::<Vec<Id>>()
    });
    let second = |id: &Id| handle.inspect(*id).tick;
    let last = issued.iter().map(second).max().unwrap();
    issued
        .iter()
        .map(second)
        .filter(|&tick| tick == last)
        .count()
}

/// Threads that end give their memory back, and so does a handle that ends while threads go on.
#[test]
fn threads_and_handles_may_end_in_any_order() {
    let store = store();
    let (sender, receiver) = mpsc::channel::<Handle>();
    let lives_on = thread::spawn(move || {
        let mut ids = HashSet::new();
        for handle in receiver {
            ids.extend(warm_up(&handle));
        }
        ids
    });
    let mut ids = HashSet::new();
    for _ in 0..30 {
        let handle = builder(&store).build().unwrap();
        let ends = handle.clone();
        sender.send(handle).unwrap();
        ids.extend(thread::spawn(move || warm_up(&ends)).join().unwrap());
    }
    drop(sender);
    ids.extend(lives_on.join().unwrap());
    assert_eq!(ids.len(), 30 * 2 * 600);
}

#[test]
fn a_thread_issues_from_many_handles_in_turn() {
    let store = store();
    let handles: Vec<Handle> = (0..5).map(|_| builder(&store).build().unwrap()).collect();
    let ids: HashSet<Id> = (0..2_000)
        .flat_map(|_| {
            handles
                .iter()
                .map(|handle| handle.generate_wait(PATIENCE).unwrap())
        })
        .collect();
    assert_eq!(ids.len(), 10_000);
}

#[test]
fn encrypted_ticks_of_a_millisecond_have_blocks_too() {
    let namespace = Namespace::new("test", Snowflake).unwrap();
    let store = MemoryStore::new(namespace, Arc::new(ExactSystemClock));
    let cipher = randflake_core::Sparx64::new(&[7; 16]);
    let builder = Builder::new(Snowflake, cipher, store);
    let handle = builder.ttl(SECOND).build().unwrap();
    let mut ids = HashSet::new();
    for _ in 0..50_000 {
        let before = now();
        let id = handle.generate_wait(PATIENCE).unwrap();
        assert!(ids.insert(id));
        let time = Duration::from_millis(handle.codec().unix_ms(id));
        assert!(
            time + Duration::from_millis(2) > before,
            "{time:?} at {before:?}"
        );
    }
}
