//! Giving back a node id in whose block a thread is, looked at while the store is told; and taking more than there are.

use core::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, Weak};
use std::thread;

use randflake_core::{
    Clock, Codec, Field, Id, Layout, LayoutFields, LayoutSpec, Plain, Randflake, Sparx64,
};

use super::*;
use crate::clock::ExactSystemClock;
use crate::generation::Generation;
use crate::handle::issuer::Issuer;
use crate::handle::shared::SharedHandle;
use crate::handle::store_client::StoreClient;
use crate::store::engines::MemoryStore;
use crate::vocabulary::Namespace;

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

/// A keeper that is not at work, of two node ids.
fn keeper<L: Layout>(
    store: MemoryStore,
    codec: Codec<L>,
    most: u32,
) -> LeaseKeeper<L, L::Permutation> {
    let mut client = StoreClient::new(store.into(), "test".to_owned(), TTL);
    let (acquired, sent) = client.acquire(NodeIds::Any(2)).unwrap();
    let generation = Generation::constant();
    let issuers = Issuer::of_all(codec.layout(), &acquired, sent, generation.now()).unwrap();
    let (count, anchor) = (NodeIdCount::from(1..=most), (acquired.now, sent));
    let shared = SharedHandle::new(issuers, count, Box::new(codec), 0, generation, anchor);
    LeaseKeeper::new(Arc::new(shared), client, acquired.grants, false, count)
}

/// Leaves this thread in the middle of a block of a node id of which another thread has taken the rest of the tick.
/// Gives that node id and its last tick.
fn enter_block(shared: &SharedHandle<Randflake, Sparx64>) -> Option<(u32, u64)> {
    let parts = |id| shared.codec.inspect(id);
    for _ in 0..600 {
        shared.generate().ok()?;
    }
    let node_id = parts(shared.generate().ok()?).node_id;
    let mut ids = vec![Id::from_u64(0); 1_024];
    let take_the_rest = || {
        while shared.fill(&mut ids).is_ok() && parts(ids[ids.len() - 1]).node_id == node_id {}
    };
    thread::scope(|scope| scope.spawn(take_the_rest).join()).unwrap();
    // Not if another tick has begun.
    let last = parts(shared.generate().ok()?);
    let is_in_use = shared.last_used() == usize::from(node_id == 0);
    (last.node_id == node_id && is_in_use).then_some((node_id, last.tick))
}

#[test]
#[cfg_attr(miri, ignore = "a tick has too many ids for an interpreter")]
fn a_node_id_is_given_back_after_the_last_id_of_every_block() {
    let clock = Arc::new(Issuing::default());
    let namespace = Namespace::new("test", Randflake).unwrap();
    for _ in 0..50 {
        let mut store = MemoryStore::new(namespace.clone(), Arc::clone(&clock));
        let codec = Codec::new(Randflake, Sparx64::new(&[7; 16]));
        let mut keeper = keeper::<Randflake>(store.clone(), codec, 2);
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
        assert_eq!(keeper.holdings.len(), 1);
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
fn as_many_are_taken_as_there_are_and_no_more_is_asked_for_at_once() {
    let namespace = Namespace::new("test", Few).unwrap();
    let store = MemoryStore::new(namespace, Arc::new(ExactSystemClock));
    let mut others = StoreClient::new(store.clone().into(), "others".to_owned(), TTL);
    others.acquire(NodeIds::Any(3)).unwrap();
    let mut keeper = keeper::<Few>(store, Codec::new(Few, Plain), 8);
    let mut scale = keeper.scale.take().unwrap();
    keeper.take_more(&mut scale, 6);
    assert_eq!((keeper.held(), keeper.can_take(&scale)), (5, true));
    let slots = keeper.shared.slots.read();
    assert_eq!(slots.values().count(), 5);
    drop(slots);
    keeper.take_more(&mut scale, 1);
    assert_eq!((keeper.held(), keeper.can_take(&scale)), (5, false));
    assert!(keeper.shared.phase.lock().shortage.is_some());
}

/// The lease that the store is not told of ends by itself: nothing is issued from it.
#[test]
fn a_surplus_is_given_back_although_the_store_fails() {
    let namespace = Namespace::new("test", Few).unwrap();
    let store = MemoryStore::new(namespace, Arc::new(ExactSystemClock));
    let mut keeper = keeper::<Few>(store.clone(), Codec::new(Few, Plain), 8);
    store.fail_next(1);
    keeper.give_back(1);
    assert_eq!(keeper.held(), 1);
    assert_eq!(keeper.shared.slots.read().values().count(), 1);
    let error = keeper.shared.phase.lock().last_error.clone();
    assert!(matches!(error.as_deref(), Some(StoreError::Unavailable(_))));
}
