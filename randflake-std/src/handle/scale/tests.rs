//! Giving back a node id in whose block a thread is, looked at while the store is told.

use core::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, Weak};
use std::thread;

use randflake_core::{Clock, Codec, Id, Layout, Randflake, Sparx64};

use super::*;
use crate::ExactSystemClock;
use crate::generation::Generation;
use crate::handle::shared::Shared;
use crate::handle::tenant::Tenant;
use crate::lease::{LeaseStore, MemoryStore, Namespace};

const TTL: Duration = Duration::from_secs(60);

/// The store's clock, which issues ids when the store looks at it.
#[derive(Default)]
struct Issuing {
    handle: Mutex<Weak<Shared<Randflake>>>,
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
fn keeper(store: MemoryStore) -> Keeper<Randflake> {
    let mut tenant = Tenant::new(Box::new(store), "test".to_owned(), TTL);
    let (acquired, sent) = tenant.acquire(NodeIds::Any(2)).unwrap();
    let issuer = |grant| Issuer::new(Randflake, grant, acquired.now, sent, 0).unwrap();
    let count = NodeIdCount::from(1..=2);
    let generation = Generation::constant();
    assert_eq!(generation.now(), 0);
    let shared = Shared::new(
        acquired.grants.iter().map(issuer).collect(),
        count,
        Codec::new(Sparx64::new(&[7; 16])),
        0,
        generation,
        (acquired.now, sent),
    );
    Keeper::new(Arc::new(shared), tenant, acquired.grants, false, count)
}

/// Leaves this thread in the middle of a block of a node id of which another thread has taken the rest of the tick.
/// Gives that node id and its last tick.
fn enter_block(shared: &Shared<Randflake>) -> Option<(u32, u64)> {
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
    let namespace = Namespace::of::<Randflake>("test").unwrap();
    for _ in 0..50 {
        let mut store = MemoryStore::new(namespace.clone(), Arc::clone(&clock));
        let mut keeper = keeper(store.clone());
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
