//! Waits for ids, and `close_async`.

use core::future::Future;
use core::sync::atomic::{AtomicU64, Ordering};
use core::task::{Context, Waker};
use core::time::Duration;
use std::collections::HashSet;
use std::sync::Arc;

use randflake_core::Plain;
use randflake_std::lease::{MemoryStore, Namespace, StoreErrorKind};
use randflake_std::{Builder, ExactSystemClock, GenerateError, Handle, Health, Id};
use tokio::time::sleep;

use crate::gate::Gate;
use crate::layouts::{Narrow, Slow};
use crate::tasks::{PATIENCE, builder, current_thread, records, store, ticks_until_it_opens};

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
fn a_wait_to_fill_a_buffer_leaves_the_runtime_to_its_tasks() {
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
fn a_wait_for_the_next_second_sleeps_and_repeats_nothing() {
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
    assert!(records(&store).iter().all(crate::tasks::is_unused));
}

#[test]
fn a_close_that_is_dropped_goes_on_and_the_next_one_has_its_result() {
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
