//! What a keeper must not do: use what a copy may be using, keep what it cannot use, ask when there is nothing to ask.

use core::sync::atomic::{AtomicU64, Ordering};

use super::*;

/// A keeper on a machine that has been copied since its leases were granted.
fn copied() -> (AtRest<Seconds>, MemoryStore) {
    static NUMBER: AtomicU64 = AtomicU64::new(1);
    let (mut keeper, store, _) = fixed();
    let shared = Arc::get_mut(&mut keeper.shared).unwrap();
    shared.generation = Generation::from(&NUMBER);
    assert_eq!(NUMBER.load(Ordering::SeqCst), 1);
    (keeper, store)
}

fn ends(store: &MemoryStore) -> Vec<u64> {
    let records = store.clone().list().unwrap().into_iter();
    records.map(|record| record.grant.end).collect()
}

#[test]
fn what_a_copy_may_be_using_is_lost_at_once_and_counted_once() {
    let (mut keeper, store) = copied();
    keeper.drop_copied_leases();
    keeper.drop_copied_leases();
    for holding in &keeper.holdings {
        assert!(holding.ending && !holding.held);
        assert_eq!(remaining(&keeper, holding.slot), Duration::ZERO);
    }
    assert_eq!(keeper.shared.phase.lock().losses.contested, 2);
    assert_eq!(ends(&store), [NOW_S + 60; 2]);
}

#[test]
fn what_a_copy_may_be_using_is_not_released_at_the_end() {
    let (keeper, store) = copied();
    let (other, other_store, _) = fixed();
    for keeper in [keeper, other] {
        keeper.shared.phase.change(|phase| phase.closing = true);
        keeper.run();
    }
    assert_eq!(ends(&store), [NOW_S + 60; 2]);
    assert_eq!(ends(&other_store), [NOW_S; 2]);
}

#[test]
fn what_is_granted_and_is_no_lease_of_the_layout_is_given_back() {
    let (mut keeper, _) = slow(2..=2);
    let (_, store, _) = fixed();
    keeper.client = StoreClient::new(store.clone().into(), "other".to_owned(), TTL);
    let Err(error) = keeper.acquire(NodeIds::These(&[100])) else {
        panic!("a layout of eight node ids has no 100");
    };
    assert!(error.to_string().contains("the store's grant"), "{error}");
    assert_eq!(ends(&store), [NOW_S + 60, NOW_S + 60, NOW_S]);
}

#[test]
fn an_acquire_brings_the_store_s_time() {
    let (mut keeper, _, clock) = fixed();
    clock.advance_ms(1_000_000);
    keeper.acquire(NodeIds::These(&[100])).unwrap();
    let now = keeper.shared.clock.exact().now().unwrap();
    assert!(now >= Duration::from_secs(NOW_S + 1_000));
}

#[test]
fn without_leases_the_store_is_not_asked() {
    let (mut keeper, store, _) = fixed();
    keeper.release_all().unwrap();
    store.fail_next(1);
    keeper.renew().unwrap();
    keeper.client.release(&[]).unwrap();
}
