//! Scaling step by step: samples, acquires that the store refuses, and node ids given back.

use core::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, Weak};
use std::thread;

use randflake_core::{
    Clock, Codec, Field, Id, Layout, LayoutFields, LayoutSpec, Plain, Randflake, Sparx64,
};
use randflake_lease::ExactSystemClock;
use randflake_lease::MemoryStore;
use randflake_lease::Namespace;

use super::*;
use crate::handle::keeper::tests::{AtRest, SLOW_TTL, Slow, at_rest, slow};
use crate::handle::shared::SharedHandle;
use crate::handle::store_client::StoreClient;

const TTL: Duration = Duration::from_secs(60);

/// The store's clock, which issues ids when the store looks at it.
#[derive(Default)]
struct Issuing {
    handle: Mutex<Weak<SharedHandle<Randflake, Sparx64>>>,
    is_on: AtomicBool,
    issued: Mutex<Vec<Id>>,
}

impl Clock for Issuing {
    fn now(&self) -> Option<Duration> {
        if self.is_on.load(Ordering::SeqCst) {
            let handle = self.handle.lock().unwrap().upgrade().unwrap();
            let ids = (0..3).map(|_| handle.generate().unwrap());
            self.issued.lock().unwrap().extend(ids);
        }
        ExactSystemClock.now()
    }
}

/// Leaves this thread in the middle of a block of a node id of which another thread has taken the
/// rest of the tick. Gives that node id and its last tick.
fn enter_block(shared: &SharedHandle<Randflake, Sparx64>) -> Option<(u32, u64)> {
    let parts = |id| shared.codec.inspect(id);
    for _ in 0..600 {
        shared.generate().ok()?;
    }
    let node_id = parts(shared.generate().ok()?).node_id;
    let mut ids = vec![Id::from_u64(0); 1_024];
    thread::scope(|scope| {
        // Takes the rest of the tick.
        scope.spawn(|| {
            while shared.fill(&mut ids).is_ok() && parts(ids[ids.len() - 1]).node_id == node_id {}
        });
    });
    // Not if another tick has begun.
    let last = parts(shared.generate().ok()?);
    let is_in_use = shared.last_used() == usize::from(node_id == 0);
    (last.node_id == node_id && is_in_use).then_some((node_id, last.tick))
}

#[test]
#[cfg_attr(miri, ignore = "a tick has too many ids for an interpreter")]
fn node_id_is_released_after_its_last_block() {
    let clock = Arc::new(Issuing::default());
    let namespace = Namespace::new("test", Randflake).unwrap();
    for _ in 0..50 {
        let mut store = MemoryStore::new(namespace.clone(), Arc::clone(&clock));
        let codec = Codec::new(Randflake, Sparx64::new(&[7; 16]));
        let mut keeper = at_rest(store.clone(), codec, 1..=2);
        *clock.handle.lock().unwrap() = Arc::downgrade(&keeper.shared);
        let Some((node_id, last_tick)) = enter_block(&keeper.shared) else {
            continue;
        };
        clock.is_on.store(true, Ordering::SeqCst);
        keeper.give_back(1);
        clock.is_on.store(false, Ordering::SeqCst);
        let while_told = clock.issued.lock().unwrap().split_off(0);
        assert!(!while_told.is_empty());
        let after = (0..300).map(|_| keeper.shared.generate().unwrap());
        for id in while_told.into_iter().chain(after) {
            let parts = keeper.shared.codec.inspect(id);
            assert_ne!(parts.node_id, node_id, "it was given back");
        }
        assert_eq!(keeper.leases.len(), 1);
        let records = store.list().unwrap();
        let mut ends = records.iter().map(|record| record.grant);
        let end = ends.find(|grant| grant.node_id == node_id).unwrap().end;
        assert_eq!(end, last_tick + 1);
        return;
    }
    panic!(
        "a tick has always ended meanwhile, of {} ms",
        Randflake::SPEC.tick_ms()
    );
}

/// A layout of eight node ids.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Few;

impl Layout for Few {
    type Permutation = Plain;
    const SPEC: LayoutSpec = LayoutSpec::declare(LayoutFields {
        node_id: Field { bits: 3, shift: 17 },
        ..Randflake::SPEC.fields()
    });
}

#[test]
fn all_free_node_ids_are_taken_then_none_asked_for() {
    let namespace = Namespace::new("test", Few).unwrap();
    let store = MemoryStore::new(namespace, Arc::new(ExactSystemClock));
    let mut others = StoreClient::new(store.clone().into(), "others".to_owned(), TTL);
    others.acquire(NodeIds::Any(3)).unwrap();
    let mut keeper = at_rest(store, Codec::new(Few, Plain), 1..=8);
    let mut scale = keeper.scale.take().unwrap();
    let now = Instant::now();
    keeper.take_more(&mut scale, 6);
    assert_eq!((keeper.held(), keeper.can_take(&scale, now)), (5, true));
    let slots = keeper.shared.slots.read();
    assert_eq!(slots.values().count(), 5);
    drop(slots);
    keeper.take_more(&mut scale, 1);
    assert_eq!((keeper.held(), keeper.can_take(&scale, now)), (5, false));
    assert!(keeper.can_take(&scale, now + TTL));
    assert!(keeper.shared.phase.lock().shortage.is_some());
}

/// The lease that could not be released expires: nothing is issued from it.
#[test]
fn a_surplus_is_given_back_although_the_store_fails() {
    let namespace = Namespace::new("test", Few).unwrap();
    let store = MemoryStore::new(namespace, Arc::new(ExactSystemClock));
    let mut keeper = at_rest(store.clone(), Codec::new(Few, Plain), 1..=8);
    store.fail_next(1);
    keeper.give_back(1);
    assert_eq!(keeper.held(), 1);
    assert_eq!(keeper.shared.slots.read().values().count(), 1);
    let error = keeper.shared.phase.lock().last_error.clone();
    assert!(matches!(error.as_deref(), Some(StoreError::Unavailable(_))));
}

/// Issues so many ids, of a tick that does not end.
fn issue(keeper: &AtRest<Slow>, count: usize) {
    let mut ids = vec![Id::from_u64(0); count];
    let issued = keeper.shared.fill(&mut ids);
    assert_eq!(issued.unwrap_or_default(), count);
}

fn exhaust(keeper: &AtRest<Slow>) {
    let mut ids = vec![Id::from_u64(0); 100];
    assert!(keeper.shared.fill(&mut ids).unwrap_or_default() < ids.len());
}

#[test]
fn sample_counts_ids_of_the_tick_and_active_leases() {
    let (mut keeper, _) = slow(1..=8);
    let sample = |keeper: &mut AtRest<Slow>| {
        let sample = keeper.sample();
        let used = sample.used.unwrap();
        assert_eq!((sample.held, used.of), (2, 4));
        (sample.active, used.ids, sample.ran_out)
    };
    assert_eq!(sample(&mut keeper), (0, 0, false));
    issue(&keeper, 3);
    assert_eq!(sample(&mut keeper), (1, 3, false));
    assert_eq!(sample(&mut keeper), (0, 3, false));
    exhaust(&keeper);
    assert_eq!(sample(&mut keeper), (2, 8, true));
}

#[test]
fn an_exhausted_tick_is_answered_once() {
    let (mut keeper, _) = slow(1..=8);
    let now = Instant::now();
    keeper.scale(now);
    assert_eq!(keeper.held(), 2);
    exhaust(&keeper);
    // Half of a tick, and as many again.
    keeper.scale(now);
    assert_eq!((keeper.held(), wanted(&keeper)), (5, 5));
    let demand = keeper.shared.demand.as_ref().unwrap();
    assert!(demand.can_take() && !demand.has_run_out());
    issue(&keeper, 12);
    exhaust(&keeper);
    keeper.scale(now);
    // An eighth is left to others.
    assert_eq!((keeper.held(), wanted(&keeper)), (7, 7));
    let demand = keeper.shared.demand.as_ref().unwrap();
    assert!(!demand.can_take() && !demand.has_run_out());
}

fn wanted(keeper: &AtRest<Slow>) -> u32 {
    keeper.scale.as_ref().unwrap().wanted()
}

#[test]
fn unanswered_acquire_is_repeated_unchanged() {
    let (mut keeper, store) = slow(1..=8);
    let now = Instant::now();
    exhaust(&keeper);
    store.lose_replies(1);
    keeper.scale(now);
    assert_eq!((keeper.held(), wanted(&keeper)), (2, 5));
    let phase = keeper.shared.phase.lock();
    assert!(phase.last_error.is_some() && phase.shortage.is_none());
    drop(phase);
    let demand = keeper.shared.demand.as_ref().unwrap();
    assert!(!demand.can_take() && !demand.has_run_out());
    keeper.scale(now);
    assert_eq!(keeper.held(), 2, "in the pause");
    // Whatever is needed by then.
    let mut scale = keeper.scale.take().unwrap();
    keeper.take_more(&mut scale, 1);
    keeper.scale = Some(scale);
    assert_eq!(keeper.held(), 5);
    keeper.scale(now + SLOW_TTL / 2);
    assert_eq!(keeper.held(), 5);
    assert_eq!(store.clone().list().unwrap().len(), 5);
    assert!(keeper.shared.demand.as_ref().unwrap().can_take());
    assert!(keeper.shared.phase.lock().last_error.is_none());
}

#[test]
fn a_shortage_ends_with_the_load_that_it_was_about() {
    let (mut keeper, store) = slow(1..=8);
    let mut others = StoreClient::new(store.into(), "others".to_owned(), SLOW_TTL);
    others.acquire(NodeIds::Any(6)).unwrap();
    let now = Instant::now();
    exhaust(&keeper);
    keeper.scale(now);
    assert_eq!((keeper.held(), wanted(&keeper)), (2, 5));
    let shortage = keeper.shared.phase.lock().shortage.clone();
    let Some(StoreError::Exhausted { .. }) = shortage.as_deref() else {
        panic!("{shortage:?}");
    };
    assert!(keeper.shared.phase.lock().last_error.is_none());
    let scale = keeper.scale.take().unwrap();
    assert!(keeper.is_crowded(&scale));
    keeper.scale = Some(scale);
    // It is full, so one is yielded, and the load asks no more of so long a tick.
    keeper.scale(now + SLOW_TTL * 2);
    assert_eq!((keeper.held(), wanted(&keeper)), (1, 1));
    assert!(keeper.shared.phase.lock().shortage.is_none());
    let scale = keeper.scale.take().unwrap();
    assert!(!keeper.is_crowded(&scale));
    let later = now + SLOW_TTL * 2;
    assert!(!keeper.can_take(&scale, later));
    assert!(keeper.can_take(&scale, later + Scale::YIELDED));
}

#[test]
fn unrepeated_demand_and_shortage_end_with_a_ttl() {
    let (mut keeper, store) = slow(1..=8);
    let now = Instant::now();
    exhaust(&keeper);
    store.fail_next(1);
    keeper.scale(now);
    assert_eq!((keeper.held(), wanted(&keeper)), (2, 5));
    keeper.scale(now + SLOW_TTL);
    assert_eq!(wanted(&keeper), keeper.held());
    let refusal = StoreError::Invalid("no".to_owned());
    let refusal = Some(Arc::new(refusal));
    keeper.shared.phase.change(|phase| phase.shortage = refusal);
    keeper.scale(now + SLOW_TTL);
    assert!(keeper.shared.phase.lock().shortage.is_none());
}

#[test]
fn nothing_is_yielded_while_the_store_is_away() {
    let (mut keeper, store) = slow(1..=8);
    let mut others = StoreClient::new(store.into(), "others".to_owned(), SLOW_TTL);
    others.acquire(NodeIds::Any(6)).unwrap();
    let now = Instant::now();
    exhaust(&keeper);
    keeper.scale(now);
    keeper.failures = 1;
    keeper.scale(now + SLOW_TTL * 2);
    assert_eq!(keeper.held(), 2);
}

#[test]
fn more_node_ids_answer_what_ran_out_before() {
    let (mut keeper, _) = slow(1..=8);
    exhaust(&keeper);
    keeper.acquire_more(1).unwrap();
    assert!(!keeper.shared.demand.as_ref().unwrap().has_run_out());
}

#[test]
fn pauses_grow_with_failures_and_a_success_ends_them() {
    let (mut keeper, store) = slow(1..=8);
    let mut scale = keeper.scale.take().unwrap();
    let now = Instant::now();
    let error = StoreError::unavailable("no answer");
    (0..10).for_each(|_| scale.failed(&error, 3));
    // Doubled nine times from a tenth of a second.
    assert!(scale.not_before > now + Duration::from_secs(30));
    keeper.take_more(&mut scale, 1);
    assert_eq!(keeper.held(), 5, "what was asked for before");
    keeper.take_more(&mut scale, 1);
    assert_eq!(keeper.held(), 6);
    store.fail_next(1);
    let now = Instant::now();
    keeper.take_more(&mut scale, 1);
    assert!(keeper.can_take(&scale, now + Duration::from_secs(10)));
}

#[test]
fn holder_of_all_but_a_share_crowds_others() {
    let (mut keeper, _) = slow(1..=8);
    let mut scale = keeper.scale.take().unwrap();
    assert!(scale.leaves_a_share && !keeper.is_crowded(&scale));
    keeper.take_more(&mut scale, 5);
    assert_eq!(keeper.held(), 7);
    assert!(keeper.is_crowded(&scale));
    let (mut keeper, _) = slow(1..=2);
    let scale = keeper.scale.take().unwrap();
    assert!(!scale.leaves_a_share && !keeper.is_crowded(&scale));
}

#[test]
fn idle_node_ids_are_released_if_the_store_answers() {
    let (mut keeper, store) = slow(1..=8);
    let now = Instant::now();
    issue(&keeper, 1);
    keeper.failures = 1;
    keeper.scale(now);
    keeper.scale(now + SLOW_TTL);
    assert_eq!(keeper.held(), 2);
    keeper.failures = 0;
    keeper.scale(now + SLOW_TTL);
    keeper.scale(now + SLOW_TTL * 2);
    assert_eq!((keeper.held(), wanted(&keeper)), (1, 1));
    assert_eq!(keeper.shared.slots.read().values().count(), 1);
    let records = store.clone().list().unwrap();
    let unused = records
        .iter()
        .filter(|record| record.grant.end == record.grant.start);
    assert_eq!(unused.count(), 1);
}

#[test]
fn lost_node_ids_are_dropped_down_to_the_minimum() {
    let (mut keeper, _) = slow(1..=8);
    let mut scale = keeper.scale.take().unwrap();
    keeper.take_more(&mut scale, 2);
    keeper.scale = Some(scale);
    let slots = |keeper: &AtRest<Slow>| -> Vec<usize> {
        keeper.leases.iter().map(|lease| lease.slot).collect()
    };
    keeper.drop_lost();
    assert_eq!(slots(&keeper), [0, 1, 2, 3]);
    keeper.leases[1].is_held = false;
    keeper.drop_lost();
    assert_eq!(slots(&keeper), [0, 2, 3]);
    let reading = keeper.shared.slots.read();
    assert!(reading.value(1).is_none() && reading.values().count() == 3);
    drop(reading);
    for lease in &mut keeper.leases {
        lease.is_held = false;
    }
    keeper.drop_lost();
    assert_eq!(slots(&keeper), [3]);
}
