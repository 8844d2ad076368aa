//! A handle and its keeper, on a store that fails on demand. Leases are as short as they may be where their end is waited
//! for, and long where a machine that stands still for seconds would end them.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use core::sync::atomic::{AtomicI64, Ordering};
use core::time::Duration;
use std::collections::HashSet;
use std::sync::Arc;
use std::thread;
use std::time::Instant;

use randflake_core::{Clock, Field, LayoutFields, LayoutSpec, Plain};
use randflake_std::lease::{Grant, MemoryStore, Namespace, StoreError, StoreErrorKind};
use randflake_std::{
    BuildError, Builder, ExactSystemClock, GenerateError, Handle, Health, Id, Layout, Lease,
    Randflake, Secret, Snowflake,
};

const TTL: Duration = Duration::from_secs(3);
/// For leases of which the keeper's next call is waited for, which is after a third, and not their end.
const LONGER_TTL: Duration = Duration::from_secs(20);
/// For leases that are not to end, nor to be renewed, while a test runs.
const LONG_TTL: Duration = Duration::from_secs(300);
/// Far longer than what is waited for takes, on a busy machine too.
const PATIENCE: Duration = Duration::from_secs(60);
const SECOND: Duration = Duration::from_secs(1);

/// The real time, off by what the test says.
#[derive(Debug, Default)]
struct StoreClock {
    offset_ms: AtomicI64,
}

impl Clock for StoreClock {
    fn now(&self) -> Option<Duration> {
        let now_ms = i64::try_from(ExactSystemClock.now()?.as_millis()).ok()?;
        let shown_ms = now_ms + self.offset_ms.load(Ordering::SeqCst);
        Some(Duration::from_millis(shown_ms.cast_unsigned()))
    }
}

fn store_for<L: Layout>() -> (MemoryStore, Arc<StoreClock>) {
    let clock = Arc::new(StoreClock::default());
    let namespace = Namespace::new("test", L::default()).unwrap();
    let namespace = namespace.with_max_ttl(LONG_TTL);
    (MemoryStore::new(namespace, Arc::clone(&clock)), clock)
}

fn store() -> MemoryStore {
    store_for::<Randflake>().0
}

fn builder(store: &MemoryStore) -> Builder {
    Handle::builder(&Secret::from_bytes([7; 16]), store.clone()).ttl(TTL)
}

/// Waits until something holds.
fn eventually(what: &str, mut holds: impl FnMut() -> bool) {
    let started = Instant::now();
    while !holds() {
        assert!(started.elapsed() < PATIENCE, "{what} did not happen");
        thread::sleep(Duration::from_millis(20));
    }
}

fn node_id<L: Layout>(handle: &Handle<L>) -> u32 {
    handle.lease().leases[0].node_id()
}

fn live(store: &MemoryStore) -> Vec<Grant> {
    let mut store = store.clone();
    let now = Randflake::SPEC.tick_at(store.now().unwrap()).unwrap();
    let records = store.list().unwrap().into_iter().map(|record| record.grant);
    records.filter(|grant| now < grant.end).collect()
}

/// Takes the handle's lease away, which cannot be renewed any more though its interval stays its own, and waits until
/// another is there. Again and again: a renewal of the handle may have come between.
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
fn a_handle_is_shared_by_threads_and_no_id_repeats() {
    fn shared<T: Send + Sync + Clone>(_: &T) {}
    let handle = builder(&store()).ttl(LONG_TTL).build().unwrap();
    shared(&handle);
    let issue = |handle: Handle| {
        move || {
            (0..20_000)
                .map(|_| handle.generate_wait(PATIENCE).unwrap())
                .collect()
        }
    };
    let threads: Vec<thread::JoinHandle<Vec<Id>>> = (0..4)
        .map(|_| thread::spawn(issue(handle.clone())))
        .collect();
    let ids: Vec<Id> = threads
        .into_iter()
        .flat_map(|t| t.join().unwrap())
        .collect();
    assert_eq!(ids.iter().collect::<HashSet<_>>().len(), 80_000);

    let lease = handle.lease().leases[0];
    let parts = handle.inspect(ids[0]);
    assert_eq!(parts.node_id, lease.node_id());
    assert!((lease.start()..lease.end()).contains(&parts.tick));
    assert_eq!(handle.codec().compose(parts), Ok(ids[0]));
}

/// Known failure (e) of the older packages: a restart in the same second with the same lease.
#[test]
fn a_restarted_process_repeats_nothing() {
    let store = store();
    let mut ids = HashSet::new();
    for round in 0..20 {
        let handle = builder(&store).build().unwrap();
        for _ in 0..1_000 {
            assert!(
                ids.insert(handle.generate_wait(PATIENCE).unwrap()),
                "round {round}"
            );
        }
        match round % 3 {
            0 => handle.close().unwrap(),
            1 => drop(handle),
            _ => core::mem::forget(handle), // as killed: nothing is released
        }
    }
}

#[test]
fn a_lease_is_renewed_long_after_its_first_end() {
    // A keeper that does not run for most of a TTL is late, and loses its lease: then with a longer one.
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

#[test]
fn without_the_store_nothing_is_issued_after_the_end_and_service_resumes_by_itself() {
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
fn a_contested_lease_stops_at_once_and_is_replaced_under_another_name() {
    let store = store();
    let handle = builder(&store).ttl(LONGER_TTL).build().unwrap();
    let mut ids = HashSet::from([handle.generate_wait(PATIENCE).unwrap()]);
    let first = handle.lease().leases[0];
    let name = store.clone().list().unwrap()[0].holder.clone();
    let mut copy = store.clone();
    copy.renew(&live(&store), 60).unwrap();
    // So that there is a time without a lease to look at.
    copy.quarantine().unwrap();
    eventually("a refusal", || handle.generate().is_err());
    assert!(first.end() > Randflake::SPEC.tick_at(copy.now().unwrap()).unwrap());
    eventually("its count", || handle.lease().losses.contested == 1);
    eventually(
        "the reason",
        || matches!(handle.health(), Health::NotReady { error: Some(error) } if error.kind() == StoreErrorKind::Quarantined),
    );

    let waiting = handle.clone();
    let waiting = thread::spawn(move || waiting.generate_wait(PATIENCE).unwrap());
    copy.override_quarantine().unwrap();
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
fn closing_ends_every_clone_and_releases_what_was_not_used() {
    let store = store();
    let handle = builder(&store).ttl(LONG_TTL).node_ids(3).build().unwrap();
    let clone = handle.clone();
    let last = handle.inspect(handle.generate().unwrap());
    handle.close().unwrap();
    assert_eq!(clone.generate(), Err(GenerateError::Sealed));
    assert_eq!(clone.generate_wait(PATIENCE), Err(GenerateError::Sealed));
    clone.close().unwrap();

    let records = store.clone().list().unwrap();
    let ends: Vec<_> = records
        .iter()
        .map(|record| record.grant.end - record.grant.start)
        .collect();
    assert_eq!(
        ends.iter().sum::<u64>(),
        last.tick - records[0].grant.start + 1
    );
}

#[test]
fn a_failing_release_is_told_and_nothing_is_issued_all_the_same() {
    let store = store();
    let handle = builder(&store).ttl(LONG_TTL).build().unwrap();
    store.fail_next(u32::MAX);
    assert!(matches!(handle.close(), Err(StoreError::Unavailable(_))));
    assert_eq!(handle.generate(), Err(GenerateError::Sealed));
}

#[test]
fn dropping_the_last_clone_releases() {
    let store = store();
    let handle = builder(&store).ttl(LONG_TTL).build().unwrap();
    let clone = handle.clone();
    drop(handle);
    clone.generate().unwrap();
    let end = live(&store)[0].end;
    drop(clone);
    let released = store.clone().list().unwrap()[0].grant.end;
    assert!(released < end);
}

/// So few ids a second that the slowest machine takes them all.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Narrow;

impl Layout for Narrow {
    type Permutation = Plain;
    const SPEC: LayoutSpec = LayoutSpec::declare(LayoutFields {
        sequence: Field { bits: 8, shift: 0 },
        ..Randflake::SPEC.fields()
    });
}

#[test]
fn a_pool_multiplies_and_an_exhausted_one_waits_for_the_next_second() {
    const PER_SECOND: usize = 256;
    let builder = Builder::new(Narrow, Plain, store_for::<Narrow>().0);
    let handle = builder.node_ids(2).ttl(PATIENCE).build().unwrap();
    let mut ids = HashSet::new();
    let started = Instant::now();
    // More than two node ids have in two seconds.
    for _ in 0..5 * PER_SECOND {
        assert!(ids.insert(handle.generate_wait(PATIENCE).unwrap()));
    }
    // It waited for a whole second at least, of a clock that steps by some milliseconds.
    assert!(
        started.elapsed() > SECOND * 9 / 10,
        "a second's ids are not more than the layout has"
    );

    let (node_id, error) = loop {
        match handle.generate() {
            Ok(id) => drop(ids.insert(id)),
            Err(error) => break (node_id(&handle), error),
        }
    };
    let GenerateError::SequenceExhausted { retry_in_ms } = error else {
        panic!("node id {node_id}: {error}");
    };
    assert!((1..=1_000).contains(&retry_in_ms));
    // A limit that is known to be too short is not waited for.
    let at_once = || handle.generate_wait(Duration::ZERO);
    assert!((0..50 * PER_SECOND).any(|_| at_once().is_err()));
}

#[test]
fn a_store_whose_clock_steps_back_gets_other_node_ids_to_work() {
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

#[test]
fn a_store_whose_clock_is_far_off_is_refused() {
    let (store, clock) = store_for::<Randflake>();
    for offset_ms in [-60_000, 60_000] {
        clock.offset_ms.store(offset_ms, Ordering::SeqCst);
        let error = builder(&store.clone().compared_with(Arc::new(ExactSystemClock)))
            .build()
            .unwrap_err();
        assert!(
            matches!(error, BuildError::Store(StoreError::ClockSkew { .. })),
            "{error}"
        );
        assert!(live(&store).is_empty(), "what was acquired was given back");
    }
}

#[test]
fn settings_out_of_range_are_refused_with_what_is_allowed() {
    let message = |builder: Builder| builder.build().unwrap_err().to_string();
    assert_eq!(
        message(builder(&store()).ttl(Duration::from_secs(2))),
        "a TTL of 2s is too short: at least 3s is allowed"
    );
    assert_eq!(
        message(builder(&store()).ttl(Duration::from_secs(301))),
        "a TTL of 5m 1s was asked for: 1s to 5m are allowed in this namespace, whose longest TTL was fixed when it was created"
    );
    assert_eq!(
        message(builder(&store()).tolerance(6)),
        "a tolerance of 6 ticks is too large: at most 5 is allowed"
    );
    assert_eq!(
        message(builder(&store()).node_ids(0)),
        "0 node ids asked for: 1 to 131072 are allowed"
    );
    assert_eq!(
        message(Handle::builder(
            &Secret::from_bytes([7; 16]),
            store_for::<Snowflake>().0
        )),
        "the store was opened for namespace \"test\" of another layout than the handle's"
    );
}

#[test]
fn classic_layouts_get_leases_too() {
    let (store, _) = store_for::<Snowflake>();
    let before = ExactSystemClock.now().unwrap().as_millis();
    let handle = Builder::new(Snowflake, Plain, store.clone())
        .ttl(SECOND)
        .build()
        .unwrap();
    let ids: Vec<Id> = (0..20_000)
        .map(|_| handle.generate_wait(PATIENCE).unwrap())
        .collect();
    assert!(ids.is_sorted(), "a plain id of one node sorts by time");
    assert_eq!(ids.iter().collect::<HashSet<_>>().len(), ids.len());
    let after = ExactSystemClock.now().unwrap().as_millis();
    let first = u128::from(handle.codec().unix_ms(ids[0]));
    // It is ahead by at most what an answer of the store took.
    let latest = after + (after - before);
    assert!((before..=latest).contains(&first));
}

#[test]
fn nothing_shows_the_secret() {
    let handle = builder(&store()).build().unwrap();
    let shown = format!("{handle:?}");
    assert!(shown.contains("node_id") && !shown.contains("07, 07") && !shown.contains("0707"));
}

/// Two tests of one program, each with a store of its own and the secret of all tests.
#[test]
fn stores_on_the_systems_clock_begin_at_different_node_ids() {
    let first = || {
        let namespace = Namespace::new("orders", Randflake).unwrap();
        let store = MemoryStore::with_system_clock(namespace);
        let ids = Handle::builder(&Secret::from_bytes([7; 16]), store)
            .build()
            .unwrap();
        ids.inspect(ids.generate().unwrap()).node_id
    };
    let node_ids: std::collections::BTreeSet<_> = (0..8).map(|_| first()).collect();
    // Of 131,072: that four of eight are equal is impossible for a working random source.
    assert!(node_ids.len() > 4, "{node_ids:?}");
}
