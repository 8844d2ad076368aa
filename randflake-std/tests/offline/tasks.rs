//! Handles in tasks: a runtime of one thread goes on with its other tasks while the store hangs.
//!
//! In each test the store hangs until a task of the same runtime has been polled a hundred times.
//! If a call blocked the runtime, that would never be.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use core::future::Future;
use core::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};
use core::task::{Context, Poll, Waker};
use core::time::Duration;
use std::collections::HashSet;
use std::pin::pin;
use std::sync::Arc;
use std::thread;
use std::time::Instant;

use randflake_core::Plain;
use randflake_std::lease::{
    self, LeaseStore, MemoryStore, Namespace, Record, StoreError, StoreErrorKind,
};
use randflake_std::{BuildError, Builder, ExactSystemClock, GenerateError, Handle, Health, Id};
use tokio::runtime::{self, Runtime};
use tokio::time::sleep;

use crate::fixtures::Gate;
use crate::fixtures::{Narrow, SLOW_TTL, Slow};

/// Far longer than what is waited for takes, on a busy machine too.
const PATIENCE: Duration = Duration::from_secs(60);

/// A store behind a gate that is open.
fn store() -> (MemoryStore, Arc<Gate>) {
    let gate = Arc::new(Gate::default());
    let namespace = Namespace::new("test", Slow).unwrap().with_max_ttl(SLOW_TTL);
    (MemoryStore::new(namespace, Arc::clone(&gate)), gate)
}

fn builder(store: impl Into<LeaseStore>) -> Builder<Slow> {
    Builder::new(Slow, Plain, store).ttl(SLOW_TTL)
}

fn current_thread() -> Runtime {
    runtime::Builder::new_current_thread()
        .enable_time()
        .build()
        .unwrap()
}

/// A task that lets the store answer once it has been polled a hundred times while a call of the
/// store hung.
async fn ticks_until_it_opens(gate: Arc<Gate>) {
    let started = Instant::now();
    while !gate.is_waited_for() {
        assert!(started.elapsed() < PATIENCE, "nothing calls the store");
        sleep(Duration::from_millis(1)).await;
    }
    for _ in 0..100 {
        tokio::task::yield_now().await;
    }
    assert!(gate.is_waited_for(), "the store hangs to the end");
    gate.open();
}

fn records(store: &MemoryStore) -> Vec<Record> {
    store.clone().list().unwrap()
}

/// Whether the lease was given back without an id.
fn is_unused(record: &Record) -> bool {
    record.grant.end == record.grant.start
}

/// Waits until something holds.
fn eventually(what: &str, mut holds: impl FnMut() -> bool) {
    let started = Instant::now();
    while !holds() {
        assert!(started.elapsed() < PATIENCE, "{what} did not happen");
        thread::sleep(Duration::from_millis(5));
    }
}

#[test]
fn a_build_leaves_the_runtime_to_its_tasks() {
    let (store, gate) = store();
    gate.close();
    let runtime = current_thread();
    let ticking = runtime.spawn(ticks_until_it_opens(gate));
    let handle = runtime.block_on(builder(store).build_async()).unwrap();
    runtime.block_on(ticking).unwrap();
    handle.generate().unwrap();
}

#[test]
fn deferred_store_is_opened_beside_the_tasks() {
    let (store, gate) = store();
    gate.close();
    let namespace = store.namespace().clone();
    let opened = lease::deferred(&namespace, move |namespace| store.open(namespace.clone()));
    let runtime = current_thread();
    let ticking = runtime.spawn(ticks_until_it_opens(gate));
    let handle = runtime.block_on(builder(opened).build_async()).unwrap();
    runtime.block_on(ticking).unwrap();
    handle.generate().unwrap();
}

#[test]
fn a_build_that_was_never_polled_takes_nothing() {
    let (store, _) = store();
    drop(builder(store.clone()).build_async());
    assert_eq!(records(&store), []);
}

#[test]
fn dropped_build_releases_a_late_grant() {
    let (store, gate) = store();
    gate.close();
    let runtime = current_thread();
    let building = runtime.spawn(builder(store.clone()).build_async());
    runtime.block_on(async {
        while !gate.is_waited_for() {
            tokio::task::yield_now().await;
        }
        building.abort();
        assert!(building.await.unwrap_err().is_cancelled());
    });
    gate.open();
    eventually(
        "a lease, granted and released",
        || matches!(&records(&store)[..], [record] if is_unused(record)),
    );
}

/// As at the end of `main`. The store answers after the runtime has begun to end.
#[test]
fn ending_runtime_waits_for_a_dropped_build() {
    // Once, for a machine on which the store's thread is kept from running for a second now and
    // then.
    let has_waited = (0..5).any(|_| {
        let (store, gate) = store();
        gate.close();
        let runtime = current_thread();
        runtime.spawn(builder(store.clone()).build_async());
        runtime.block_on(async {
            while !gate.is_waited_for() {
                tokio::task::yield_now().await;
            }
        });
        let opening = Arc::clone(&gate);
        let opening = thread::spawn(move || {
            thread::sleep(Duration::from_millis(100));
            opening.open();
        });
        // It drops its tasks.
        drop(runtime);
        let has_waited = gate.is_open();
        opening.join().unwrap();
        eventually("the release", || records(&store).iter().all(is_unused));
        has_waited
    });
    assert!(has_waited);
}

#[test]
fn a_build_whose_result_is_not_taken_gives_it_back() {
    let (store, _) = store();
    let mut building = Box::pin(builder(store.clone()).build_async());
    let mut context = Context::from_waker(Waker::noop());
    // On a busy machine it may be ready at once, and is then dropped here.
    drop(building.as_mut().poll(&mut context));
    eventually("a lease", || !records(&store).is_empty());
    // The handle is on its way, or there.
    drop(building);
    eventually(
        "its release",
        || matches!(&records(&store)[..], [record] if is_unused(record)),
    );
}

#[test]
fn dropped_waiting_build_acquires_nothing_later() {
    let (store, _) = store();
    let taken = builder(store.clone()).choose([7]).build().unwrap();
    let told = Arc::new(AtomicU32::new(0));
    let tell = Arc::clone(&told);
    let waiting =
        builder(store.clone())
            .choose([7])
            .wait(PATIENCE)
            .on_wait(move |error: &StoreError, _| {
                assert_eq!(error.kind(), StoreErrorKind::Exhausted);
                tell.fetch_add(1, Ordering::SeqCst);
            });
    let runtime = current_thread();
    runtime.block_on(async {
        let mut building = pin!(waiting.build_async());
        core::future::poll_fn(|context| {
            assert!(building.as_mut().poll(context).is_pending());
            match told.load(Ordering::SeqCst) {
                0 => {
                    context.waker().wake_by_ref();
                    Poll::Pending
                }
                _ => Poll::Ready(()),
            }
        })
        .await;
    });
    // The thread drops the function that it tells, when it ends.
    eventually("the end of the build", || Arc::strong_count(&told) == 1);
    taken.close().unwrap();
    assert!(
        records(&store).iter().all(is_unused),
        "{:?}",
        records(&store)
    );
}

#[test]
fn a_build_reports_what_a_blocking_one_would() {
    let (store, _) = store();
    let runtime = current_thread();
    let settings = runtime.block_on(builder(store.clone()).tolerance(1).build_async());
    assert!(matches!(settings, Err(BuildError::Tolerance { .. })));

    store.fail_next(3);
    let outcome = runtime.block_on(builder(store).build_async());
    let Err(BuildError::Store(error)) = outcome else {
        panic!("{outcome:?}");
    };
    assert_eq!(error.kind(), StoreErrorKind::Unavailable);
}

/// A handle that has no lease to issue from until the store has answered, which it does not yet.
fn waits_for_the_store() -> (Handle<Slow>, Arc<Gate>) {
    let (store, gate) = store();
    let word: &'static AtomicU64 = Box::leak(Box::new(AtomicU64::new(0)));
    let handle = builder(store).generation(word).build().unwrap();
    gate.close();
    word.fetch_add(1, Ordering::SeqCst);
    assert_eq!(handle.generate(), Err(GenerateError::Copied));
    (handle, gate)
}

#[test]
fn a_wait_for_a_lease_leaves_the_runtime_to_its_tasks() {
    let (handle, gate) = waits_for_the_store();
    let runtime = current_thread();
    let ticking = runtime.spawn(ticks_until_it_opens(gate));
    runtime
        .block_on(handle.generate_wait_async(PATIENCE))
        .unwrap();
    runtime.block_on(ticking).unwrap();
}

#[test]
fn fill_wait_leaves_the_runtime_to_its_tasks() {
    let (handle, gate) = waits_for_the_store();
    let runtime = current_thread();
    let ticking = runtime.spawn(ticks_until_it_opens(gate));
    let mut ids = [Id::from_u64(0); 4];
    let filled = runtime.block_on(handle.fill_wait_async(&mut ids, PATIENCE));
    assert_eq!(filled, Ok(4));
    runtime.block_on(ticking).unwrap();
}

#[test]
fn a_wait_that_is_dropped_has_consumed_nothing() {
    let (handle, gate) = waits_for_the_store();
    let mut buffer = [Id::from_u64(0); 4];
    let runtime = current_thread();
    runtime.block_on(async {
        let mut context = Context::from_waker(Waker::noop());
        for _ in 0..100 {
            let mut one = Box::pin(handle.generate_wait_async(PATIENCE));
            assert!(one.as_mut().poll(&mut context).is_pending());
            let mut many = Box::pin(handle.fill_wait_async(&mut buffer, PATIENCE));
            assert!(many.as_mut().poll(&mut context).is_pending());
        }
        // These are woken, and not polled again.
        let mut woken = [(); 100].map(|()| Box::pin(handle.generate_wait_async(PATIENCE)));
        for one in &mut woken {
            assert!(one.as_mut().poll(&mut context).is_pending());
        }
        gate.open();
        let first = handle.generate_wait_async(PATIENCE).await.unwrap();
        drop(woken);
        // A tick has four.
        let mut ids = HashSet::from([first]);
        for _ in 1..4 {
            assert!(ids.insert(handle.generate().unwrap()));
        }
        assert!(matches!(
            handle.generate(),
            Err(GenerateError::SequenceExhausted { .. })
        ));
    });
}

#[test]
fn a_wait_that_cannot_help_ends_at_once() {
    let (store, _) = store();
    let handle = builder(store).build().unwrap();
    while handle.generate().is_ok() {}
    let runtime = current_thread();
    // The next tick is decades away.
    let refused = runtime.block_on(handle.generate_wait_async(Duration::from_millis(1)));
    assert!(matches!(
        refused,
        Err(GenerateError::SequenceExhausted { .. })
    ));
    handle.close().unwrap();
    let closed = runtime.block_on(handle.generate_wait_async(PATIENCE));
    assert!(closed.is_err());
}

#[test]
fn wait_for_the_next_second_sleeps() {
    let layout = Narrow::<17, 4>;
    let namespace = Namespace::new("test", layout).unwrap();
    let store = MemoryStore::new(namespace, Arc::new(ExactSystemClock));
    let handle = Builder::new(layout, Plain, store).build().unwrap();
    let runtime = current_thread();
    let ticks = Arc::new(AtomicU64::new(0));
    let ticking = Arc::clone(&ticks);
    runtime.spawn(async move {
        loop {
            sleep(Duration::from_millis(1)).await;
            ticking.fetch_add(1, Ordering::SeqCst);
        }
    });
    // More than three seconds have; so it waits twice at least.
    let ids = runtime.block_on(async {
        let mut ids = HashSet::new();
        while ids.len() < 50 {
            assert!(ids.insert(handle.generate_wait_async(PATIENCE).await.unwrap()));
        }
        ids
    });
    let seconds: HashSet<u64> = ids.iter().map(|id| handle.inspect(*id).tick).collect();
    assert!(seconds.len() >= 3, "{seconds:?}");
    assert!(ticks.load(Ordering::SeqCst) > 0, "another task ran");
}

#[test]
fn closing_leaves_the_runtime_to_its_tasks() {
    let (store, gate) = store();
    let handle = builder(store.clone()).build().unwrap();
    gate.close();
    let runtime = current_thread();
    let ticking = runtime.spawn(ticks_until_it_opens(gate));
    runtime.block_on(handle.close_async()).unwrap();
    runtime.block_on(ticking).unwrap();
    assert!(records(&store).iter().all(is_unused));
}

#[test]
fn next_close_has_the_result_of_a_dropped_one() {
    let (store, gate) = store();
    let handle = builder(store).build().unwrap();
    gate.close();
    let runtime = current_thread();
    {
        let mut closing = Box::pin(handle.close_async());
        let mut context = Context::from_waker(Waker::noop());
        assert!(closing.as_mut().poll(&mut context).is_pending());
    }
    assert!(matches!(handle.health(), Health::Closed));
    gate.break_down();
    let error = runtime.block_on(handle.close_async()).unwrap_err();
    assert_eq!(error.kind(), StoreErrorKind::Unavailable);
    runtime.block_on(handle.close_async()).unwrap();
}

#[test]
fn the_futures_may_move_between_threads() {
    fn send<T: Send>(_: T) {}
    let (store, _) = store();
    let handle = builder(store.clone()).build().unwrap();
    let mut ids = [Id::from_u64(0); 4];
    send(builder(store).build_async());
    send(handle.generate_wait_async(PATIENCE));
    send(handle.fill_wait_async(&mut ids, PATIENCE));
    send(handle.close_async());
}

/// How often a thread that sleeps most of the time gets to run during some work.
fn beats(work: impl FnOnce()) -> u32 {
    let (beats, is_over) = (AtomicU32::new(0), AtomicBool::new(false));
    thread::scope(|scope| {
        scope.spawn(|| {
            while !is_over.load(Ordering::SeqCst) {
                thread::sleep(Duration::from_millis(10));
                beats.fetch_add(1, Ordering::SeqCst);
            }
        });
        work();
        is_over.store(true, Ordering::SeqCst);
    });
    beats.into_inner()
}

#[test]
fn a_drop_does_not_block_a_runtime() {
    let (store, gate) = store();
    let build = || builder(store.clone()).build().unwrap();
    let (outside, inside) = (build(), [(); 20].map(|()| build()));
    gate.close();
    let blocked = beats(|| drop(outside));
    let runtime = current_thread();
    let not_blocked = beats(|| runtime.block_on(async { drop(inside) }));
    // Twenty times as many if each of them blocked.
    assert!(not_blocked < 10 * blocked, "{not_blocked} {blocked}");
    gate.open();
    eventually("the releases", || records(&store).iter().all(is_unused));
}

/// As at the end of `main`. The store answers after the runtime has begun to end.
#[test]
fn a_runtime_that_ends_waits_for_the_release() {
    // Once, for a machine on which the store's thread is kept from running for a second now and
    // then.
    let has_waited = (0..5).any(|_| {
        let (store, gate) = store();
        let build = || builder(store.clone()).build().unwrap();
        let (handle, of_a_task) = (build(), build());
        let runtime = current_thread();
        runtime.spawn(async {
            core::future::pending::<()>().await;
            drop(of_a_task);
        });
        gate.close();
        let opening = Arc::clone(&gate);
        let opening = thread::spawn(move || {
            thread::sleep(Duration::from_millis(100));
            opening.open();
        });
        runtime.block_on(async {
            tokio::task::yield_now().await;
            drop(handle);
        });
        drop(runtime);
        let has_waited = gate.is_open();
        opening.join().unwrap();
        eventually("the releases", || records(&store).iter().all(is_unused));
        has_waited
    });
    assert!(has_waited);
}
