//! Leases of a handle: renewed, lost and replaced, on stores that fail, and in an upgraded
//! namespace.

use core::sync::atomic::Ordering;
use core::time::Duration;
use std::collections::{BTreeSet, HashSet};
use std::thread;
use std::time::Instant;

use randflake_std::lease::{
    LeaseStore, MemoryStore, Namespace, StoreError, StoreErrorKind, Upgrade,
};
use randflake_std::unstable::engine::Ask;
use randflake_std::unstable::rules::{Key, Keys};
use randflake_std::{
    Builder, GenerateError, Handle, Health, Layout, Lease, Plain, Randflake, Snowflake,
};

use super::{
    LONGER_TTL, PATIENCE, SECOND, TTL, builder, eventually, live, node_id, store, store_for,
};

/// Takes the handle's lease away, which cannot be renewed any more though its interval stays its
/// own, and waits until another is there. Again and again: a renewal of the handle may have come
/// between.
fn replaced(store: &MemoryStore, handle: &Handle, mut meanwhile: impl FnMut()) {
    // Another node id may begin in the same second.
    let name = |lease: Lease<Randflake>| (lease.node_id(), lease.start());
    let first = name(handle.lease().leases[0]);
    let mut store = store.clone();
    eventually("a new lease", || {
        let grants = store.list().unwrap().into_iter().map(|record| record.grant);
        let of_first = grants.filter(|grant| (grant.node_id, grant.start) == first);
        // Its reply may be lost, too.
        let _: Result<(), StoreError> = store.release(&of_first.collect::<Vec<_>>());
        meanwhile();
        name(handle.lease().leases[0]) != first
    });
}

#[test]
fn a_lease_is_renewed_long_after_its_first_end() {
    // A keeper that does not run for most of a TTL is late, and loses its lease: then with a longer
    // one.
    let is_renewed = [TTL * 3, TTL * 12, TTL * 48]
        .into_iter()
        .any(outlives_its_first_end);
    assert!(is_renewed, "a lease was replaced, not renewed");
}

/// Whether a handle still has its first lease when that would have ended.
fn outlives_its_first_end(ttl: Duration) -> bool {
    let handle = builder(&store()).ttl(ttl).build().unwrap();
    let first = handle.lease().leases[0];
    thread::sleep(ttl + SECOND);
    let renewed = handle.lease().leases[0];
    assert!(renewed.end() > first.end());
    assert!(handle.lease().last_error.is_none());
    handle.generate_wait(PATIENCE).unwrap();
    (renewed.node_id(), renewed.start()) == (first.node_id(), first.start())
}

#[test]
fn a_lost_lease_is_replaced() {
    let store = store();
    let handle = builder(&store).build().unwrap();
    let mut ids = HashSet::from([handle.generate_wait(PATIENCE).unwrap()]);
    replaced(&store, &handle, || {
        // What is issued meanwhile is of the old lease's own interval.
        if let Ok(id) = handle.generate() {
            assert!(ids.insert(id));
        }
    });
    for _ in 0..10_000 {
        assert!(ids.insert(handle.generate_wait(PATIENCE).unwrap()));
    }
}

/// The caller who chose it derives something from it.
#[test]
fn a_chosen_node_id_that_is_lost_is_acquired_again() {
    let store = store();
    let handle = builder(&store).choose([5]).build().unwrap();
    let mut ids = HashSet::from([handle.generate_wait(PATIENCE).unwrap()]);
    replaced(&store, &handle, || ());
    assert_eq!(node_id(&handle), 5);
    assert!(ids.insert(handle.generate_wait(PATIENCE).unwrap()));
}

#[test]
fn outage_ends_issuing_and_its_end_resumes_it() {
    let store = store();
    let asked = Instant::now();
    let handle = builder(&store).build().unwrap();
    let mut ids = HashSet::new();
    store.fail_next(u32::MAX);
    eventually("the end of the lease", || match handle.generate() {
        Ok(id) => {
            assert!(ids.insert(id));
            false
        }
        Err(error) => {
            assert!(matches!(error, GenerateError::LeaseOver { .. }), "{error}");
            true
        }
    });
    // The first of its seconds had begun when it was granted.
    assert!(asked.elapsed() + SECOND >= TTL, "refused before the end");
    assert_eq!(handle.lease().remaining, Duration::ZERO);
    eventually("the reason", || {
        let error = handle.lease().last_error;
        error.is_some_and(|error| error.kind() == StoreErrorKind::Unavailable)
    });
    for _ in 0..1_000 {
        assert!(handle.generate().is_err());
    }

    store.fail_next(0);
    let resumed = handle.generate_wait(PATIENCE).unwrap();
    assert!(ids.insert(resumed));
}

/// A copy of the process renews, as a machine that is resumed twice from one snapshot.
#[test]
fn contested_lease_ends_and_its_holder_is_renamed() {
    let store = store();
    let handle = builder(&store).ttl(LONGER_TTL).build().unwrap();
    let mut ids = HashSet::from([handle.generate_wait(PATIENCE).unwrap()]);
    let first = handle.lease().leases[0];
    let name = store.clone().list().unwrap()[0].holder.clone();
    let mut copy = store.clone();
    copy.renew(&live(&store), 60).unwrap();
    // So that there is a time without a lease to look at.
    copy.administration().start_quarantine().unwrap();
    eventually("a refusal", || handle.generate().is_err());
    assert!(first.end() > Randflake::SPEC.tick_at(copy.now().unwrap()).unwrap());
    eventually("its count", || handle.lease().losses.contested == 1);
    eventually(
        "the reason",
        || matches!(handle.health(), Health::NotReady { error: Some(error) } if error.kind() == StoreErrorKind::Quarantined),
    );

    let waiting = handle.clone();
    let waiting = thread::spawn(move || waiting.generate_wait(PATIENCE).unwrap());
    copy.administration().override_quarantine().unwrap();
    assert!(ids.insert(waiting.join().unwrap()));
    eventually("readiness", || {
        matches!(handle.health(), Health::Ready { .. })
    });
    let records = copy.list().unwrap();
    let record = |node_id| {
        records
            .iter()
            .find(|record| record.grant.node_id == node_id)
    };
    let contested = record(first.node_id()).unwrap();
    assert!(contested.contested && contested.holder == name);
    let next = record(node_id(&handle)).unwrap();
    assert!(!next.contested && next.holder != name, "{next:?}");
}

#[test]
fn a_lost_reply_costs_no_second_node_id() {
    let store = store();
    store.lose_replies(2);
    let handle = builder(&store).ttl(LONGER_TTL).build().unwrap();
    assert_eq!(live(&store).len(), 1);

    // That of the release, and of the acquires that follow when the lease is known to be lost.
    store.lose_replies(3);
    replaced(&store, &handle, || ());
    assert_eq!(
        store.clone().list().unwrap().len(),
        2,
        "the lost lease and its replacement"
    );
}

#[test]
fn store_clock_stepping_back_gets_other_node_ids() {
    let (store, clock) = store_for::<Randflake>();
    let handle = builder(&store).build().unwrap();
    let mut ids = HashSet::from([handle.generate_wait(PATIENCE).unwrap()]);
    let first = node_id(&handle);
    clock.offset_ms.store(-8_000, Ordering::SeqCst);
    eventually("another node id", || {
        assert!(
            ids.insert(handle.generate_wait(PATIENCE).unwrap()),
            "no repetition"
        );
        node_id(&handle) != first
    });
    assert!(ids.insert(handle.generate_wait(PATIENCE).unwrap()));
}

const LATER: u8 = 2;

fn texts(store: &mut LeaseStore) -> Vec<String> {
    let keys = [Keys::One(Key::Namespace), Keys::Nodes(0..=u32::MAX)];
    let (engine, _) = store.internals().unwrap();
    let reading = engine.read(&Ask::texts(&keys));
    reading.unwrap().texts.into_values().collect()
}

#[test]
fn older_handle_issues_until_its_lease_ends() {
    let namespace = Namespace::new("orders", Snowflake).unwrap();
    let store = MemoryStore::with_system_clock(namespace.clone());
    let mut later = store.open(namespace.clone()).unwrap();
    let mut another = store.open(namespace).unwrap();
    *later.internals().unwrap().1 = LATER;
    *another.internals().unwrap().1 = LATER;

    let ttl = Duration::from_secs(3);
    let older = Builder::new(Snowflake, Plain, store)
        .ttl(ttl)
        .build()
        .unwrap();
    let mut ids = BTreeSet::from([older.generate().unwrap()]);
    let upgraded = Upgrade::Done {
        before: 1,
        version: LATER,
    };
    assert_eq!(
        later.administration().upgrade_namespace(true).unwrap(),
        upgraded
    );
    let before = texts(&mut later);
    let mut degraded = None;
    while let Ok(id) = older.generate() {
        assert!(ids.insert(id), "{id} twice");
        if let Health::Degraded { error, .. } = older.health() {
            degraded = Some(error.to_string());
        }
        thread::sleep(Duration::from_millis(1));
    }
    let why = degraded.unwrap();
    assert!(
        why.contains("a newer randflake made it (version 2; this one knows 1)"),
        "{why}"
    );
    assert!(!older.health().is_ready(), "{:?}", older.health());
    assert_eq!(texts(&mut later), before);

    let newer = Builder::new(Snowflake, Plain, another).build().unwrap();
    for _ in 0..1_000 {
        assert!(ids.insert(newer.generate().unwrap()));
    }
}
