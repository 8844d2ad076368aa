//! `build_async`, and what becomes of a build that nobody waits for any more.

use core::future::Future;
use core::sync::atomic::{AtomicU32, Ordering};
use core::task::{Context, Poll, Waker};
use core::time::Duration;
use std::pin::pin;
use std::sync::Arc;
use std::thread;

use randflake_std::BuildError;
use randflake_std::lease::{self, StoreError, StoreErrorKind};

use crate::tasks::{
    PATIENCE, builder, current_thread, eventually, is_unused, records, store, ticks_until_it_opens,
};

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
fn a_store_that_is_deferred_is_opened_beside_the_tasks() {
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
fn a_build_that_is_dropped_in_the_middle_gives_back_what_it_is_granted() {
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
fn a_runtime_that_ends_waits_for_a_build_that_is_dropped() {
    // Once, for a machine on which the store's thread is kept from running for a second now and then.
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
fn a_build_that_waits_and_is_dropped_takes_nothing_later() {
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
