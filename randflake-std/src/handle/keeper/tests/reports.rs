//! Metrics that a keeper reports; looks between renewals.

use std::collections::BTreeMap;
use std::sync::Mutex;
use std::thread;

use metrics_util::debugging::{DebugValue, DebuggingRecorder, Snapshotter};
use randflake_core::{Id, Randflake, Sparx64};

use super::*;
use crate::looked_at::{Sight, looked_at};

/// Far longer than what is waited for takes, and less than a third of the TTL.
const PATIENCE: Duration = Duration::from_secs(15);

/// What was recorded since the last time.
fn recorded(snapshotter: &Snapshotter) -> BTreeMap<String, f64> {
    snapshotter
        .snapshot()
        .into_vec()
        .into_iter()
        .map(|(key, _, _, value)| {
            let value = match value {
                DebugValue::Gauge(value) => value.0,
                DebugValue::Counter(count) => f64::from(u32::try_from(count).unwrap()),
                DebugValue::Histogram(_) => panic!("there is none"),
            };
            (key.key().name().to_owned(), value)
        })
        .collect()
}

fn with_recorder<T>(work: impl FnOnce(&Snapshotter) -> T) -> T {
    let recorder = DebuggingRecorder::new();
    let snapshotter = recorder.snapshotter();
    ::metrics::with_local_recorder(&recorder, || work(&snapshotter))
}

fn is_about(value: f64, expected: Duration) -> bool {
    (value - expected.as_secs_f64()).abs() < 10.0
}

#[test]
fn report_covers_live_leases_only() {
    with_recorder(|snapshotter| {
        let (keeper, ..) = fixed();
        let slots = keeper.shared.slots.read();
        let here = Duration::from_secs(NOW_S + 30);
        let first = slots.value(0).unwrap();
        first.clock.anchor(here, clock::MonotonicTime::exact());
        keeper.shared.generate().unwrap();
        keeper.report();
        let said = recorded(snapshotter);
        assert_eq!(said["randflake_leases_held"].to_bits(), 2.0_f64.to_bits());
        assert_eq!(
            said["randflake_ids_issued_total"].to_bits(),
            1.0_f64.to_bits()
        );
        let expires = said["randflake_lease_expires_timestamp_seconds"];
        assert!(is_about(expires, wall_exact().unwrap() + TTL), "{expires}");
        keeper.shared.lose(first);
        keeper.report();
        let said = recorded(snapshotter);
        assert_eq!(said["randflake_leases_held"].to_bits(), 1.0_f64.to_bits());
    });
}

#[test]
fn a_renewal_is_reported() {
    with_recorder(|snapshotter| {
        let (mut keeper, ..) = fixed();
        recorded(snapshotter);
        keeper.renew_and_replace();
        let said = recorded(snapshotter);
        assert_eq!(said["randflake_leases_held"].to_bits(), 2.0_f64.to_bits());
    });
}

/// With a new recorder each time, which has only the series that were reported to it.
#[test]
fn each_answer_of_the_store_is_reported() {
    let skew = "randflake_store_skew_seconds";
    let (mut keeper, store, clock) = with_recorder(|snapshotter| {
        let made = fixed();
        assert!(recorded(snapshotter).contains_key(skew), "acquired");
        made
    });
    with_recorder(|snapshotter| {
        keeper.renew().unwrap();
        assert!(recorded(snapshotter).contains_key(skew), "renewed");
    });
    let quarantine_end = "randflake_quarantine_end_timestamp_seconds";
    store.forget();
    with_recorder(|snapshotter| {
        let Err(StoreError::Quarantined { .. }) = keeper.acquire(NodeIds::Any(1)) else {
            panic!("its leases are forgotten");
        };
        let said = recorded(snapshotter);
        assert!(said[quarantine_end] > 0.0, "{said:?}");
        assert!(said.contains_key("randflake_store_failures_total"));
    });
    clock.advance_ms(600_000);
    with_recorder(|snapshotter| {
        keeper.acquire(NodeIds::Any(1)).unwrap();
        let said = recorded(snapshotter);
        assert_eq!(said[quarantine_end].to_bits(), 0.0_f64.to_bits());
    });
}

#[test]
fn a_handle_that_grows_says_so_once() {
    with_recorder(|snapshotter| {
        let (mut keeper, _) = slow(1..=8);
        let now = Instant::now();
        keeper.scale(now);
        recorded(snapshotter);
        keeper.shared.generate().unwrap();
        keeper.scale(now);
        let said = recorded(snapshotter);
        let issued = said.get("randflake_ids_issued_total").copied();
        assert!(issued.is_none_or(|count| count < 1.0), "{said:?}");
        keeper.shared.fill(&mut [Id::from_u64(0); 100]).unwrap();
        keeper.scale(now);
        let said = recorded(snapshotter);
        for name in ["randflake_leases_held", "randflake_node_ids_wanted"] {
            assert_eq!(said[name].to_bits(), 5.0_f64.to_bits(), "{name}");
        }
    });
}

#[test]
fn ids_are_counted_on_each_way() {
    with_recorder(|snapshotter| {
        let (keeper, _) = slow(1..=8);
        // The fifth is another node id's.
        assert!((0..5).all(|_| keeper.shared.generate().is_ok()));
        keeper.shared.tally.report("test");
        let name = "randflake_ids_issued_total";
        assert_eq!(recorded(snapshotter)[name].to_bits(), 5.0_f64.to_bits());
        let namespace = Namespace::new("test", Randflake).unwrap();
        let store = MemoryStore::with_system_clock(namespace);
        let codec = Codec::new(Randflake, Sparx64::new(&[7; 16]));
        let keeper = at_rest(store, codec, 2..=2);
        assert!((0..600).all(|_| keeper.shared.generate().is_ok()));
        keeper.shared.tally.report("test");
        // A block is counted when the next one begins.
        assert!(recorded(snapshotter)[name] > 100.0);
    });
}

#[test]
fn leases_are_reported_before_the_first_renewal() {
    // It has as many as it wants, so the first look at the load reports nothing.
    let (keeper, _) = slow(2..=8);
    let shared = Arc::clone(&keeper.shared);
    let recorder = DebuggingRecorder::new();
    let snapshotter = recorder.snapshotter();
    let at_work = thread::spawn(move || ::metrics::with_local_recorder(&recorder, || keeper.run()));
    let mut said = BTreeMap::new();
    let begun = Instant::now();
    let names = ["randflake_leases_held", "randflake_node_ids_wanted"];
    while !names.iter().all(|name| said.contains_key(*name)) && begun.elapsed() < PATIENCE {
        said.extend(recorded(&snapshotter));
        thread::sleep(Duration::from_millis(5));
    }
    shared.phase.change(|phase| phase.closing = true);
    at_work.join().unwrap();
    for name in names {
        assert!(said.contains_key(name), "{name}: {said:?}");
    }
    assert!(!said.contains_key("randflake_renewals_total"));
}

const SECOND: Duration = Duration::from_secs(1);
/// More than a look is away from the one before.
const LATER: Duration = Duration::from_secs(10);

type Looking = (AtRest<Seconds>, MemoryStore, Arc<Mutex<Sight>>);

/// A keeper of two node ids whose first look is due, at a store of which the test says what a look
/// finds.
fn looking(sight: Sight) -> Looking {
    let begun = Instant::now().checked_sub(LATER).unwrap();
    let looks = LookSchedule::new(sight.look_every, sight.is_on_server, TTL, begun, 0.0);
    let (store, _) = store_of_a_minute();
    let (looked_at, sight) = looked_at(store.clone(), sight);
    let mut keeper = at_rest(looked_at, Codec::new(Seconds, Plain), 2..=2);
    keeper.looks = looks;
    (keeper, store, sight)
}

/// In a file: a look each second, and no connection.
fn in_file() -> Looking {
    looking(Sight {
        look_every: Some(SECOND),
        ..Sight::default()
    })
}

/// On a server that has closed the connection.
fn on_server() -> Looking {
    let (mut keeper, store, sight) = looking(Sight {
        is_on_server: true,
        has_disconnected: true,
        ..Sight::default()
    });
    make_due(&mut keeper);
    (keeper, store, sight)
}

/// Makes a look due that a failed call has asked for, or the time since the last one.
fn make_due(keeper: &mut AtRest<Seconds>) {
    let long_ago = Instant::now().checked_sub(LATER).unwrap();
    let store = &keeper.client.store;
    let (every, is_on_server) = (store.look_every(), store.is_on_server());
    let mut looks = LookSchedule::new(every, is_on_server, TTL, long_ago, 0.0).unwrap();
    looks.failed(long_ago, 0.0);
    keeper.looks = Some(looks);
}

fn looks_lost(keeper: &mut AtRest<Seconds>) -> bool {
    keeper.looks_lost(Instant::now() + TTL)
}

fn forgotten(keeper: &AtRest<Seconds>) -> u64 {
    keeper.shared.phase.lock().losses.forgotten
}

#[test]
fn lost_store_ends_and_replaces_all_leases() {
    let (mut keeper, store, sight) = in_file();
    assert!(!looks_lost(&mut keeper));
    assert!(!looks_lost(&mut keeper), "it is not due again");
    assert_eq!(sight.lock().unwrap().looks, 1);
    assert_eq!(forgotten(&keeper), 0);

    let (mut keeper, ..) = {
        sight.lock().unwrap().lost = Some("the file is another one");
        make_due(&mut keeper);
        (keeper, store, ())
    };
    assert!(looks_lost(&mut keeper));
    assert_eq!(forgotten(&keeper), 2);
    for slot in [0, 1] {
        assert_eq!(remaining(&keeper, slot), Duration::ZERO);
        assert!(keeper.leases[slot].is_ending && !keeper.leases[slot].is_held);
    }
    make_due(&mut keeper);
    assert!(
        !looks_lost(&mut keeper),
        "nothing is held that it could end"
    );
    keeper.renew_and_replace();
    assert!(keeper.leases.iter().all(|lease| lease.is_held));
    assert_eq!(forgotten(&keeper), 2, "each is counted once");
}

#[test]
fn a_look_that_fails_ends_nothing_and_is_repeated() {
    let (mut keeper, store, _) = on_server();
    store.fail_next(1);
    assert!(!looks_lost(&mut keeper));
    let pause = keeper.looks.as_ref().unwrap().pause(Instant::now());
    assert!(pause > SECOND && pause <= TTL / 20, "{pause:?}");
    make_due(&mut keeper);
    assert!(!looks_lost(&mut keeper), "it is back, and has the leases");
    store.forget();
    make_due(&mut keeper);
    assert!(looks_lost(&mut keeper));
    for slot in [0, 1] {
        assert_eq!(remaining(&keeper, slot), Duration::ZERO, "it has stopped");
    }
    assert_eq!(
        forgotten(&keeper),
        0,
        "the renewal counts, and notes a quarantine"
    );
    keeper.renew_and_replace();
    assert_eq!(forgotten(&keeper), 2);
    assert!(
        store
            .clone()
            .administration()
            .current_quarantine()
            .unwrap()
            .is_some()
    );
}

#[test]
fn looks_follow_a_failed_call_until_an_answer() {
    let (mut keeper, store, sight) = on_server();
    sight.lock().unwrap().has_disconnected = false;
    assert!(!looks_lost(&mut keeper));
    let is_looking = |keeper: &mut AtRest<Seconds>| {
        keeper.note_answer();
        // Without a look there is the check of the connection, which finds nothing.
        let later = Instant::now() + LATER;
        let looks = keeper.looks.as_mut().unwrap();
        looks.step(later, later + TTL, || false, 0.0) == Step::Read
    };
    assert!(!is_looking(&mut keeper));
    store.fail_next(1);
    keeper.renew().unwrap_err();
    assert!(is_looking(&mut keeper));
    store.fail_next(1);
    assert!(keeper.acquire(NodeIds::Any(1)).is_err());
    assert!(is_looking(&mut keeper));
    store.fail_next(1);
    keeper
        .client
        .release(&[keeper.leases[0].grant])
        .unwrap_err();
    keeper.renew().unwrap();
    assert!(!is_looking(&mut keeper));
}

#[test]
fn returned_store_is_renewed_at_once() {
    let (mut keeper, store, sight) = on_server();
    assert!(
        keeper.looks_lost(Instant::now() + SECOND),
        "it is renewed now"
    );
    assert_eq!(sight.lock().unwrap().looks, 0);
    store.fail_next(1);
    keeper.renew_and_replace();
    make_due(&mut keeper);
    assert!(
        looks_lost(&mut keeper),
        "it has failed, and the store is back"
    );
}

#[test]
fn break_before_the_first_look_is_noticed() {
    let (mut keeper, ..) = on_server();
    keeper.note_answer();
    let later = Instant::now() + LATER;
    let looks = keeper.looks.as_mut().unwrap();
    assert_eq!(looks.step(later, later + TTL, || false, 0.0), Step::Read);
}
