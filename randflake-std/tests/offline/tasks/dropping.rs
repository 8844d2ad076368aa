//! The drop of a handle's last clone, where tasks run.

use core::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use core::time::Duration;
use std::sync::Arc;
use std::thread;

use crate::tasks::{builder, current_thread, eventually, is_unused, records, store};

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
    // Once, for a machine on which the store's thread is kept from running for a second now and then.
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
