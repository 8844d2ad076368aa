//! Looks at the store between renewals.

use std::sync::Mutex;

use super::*;
use crate::looked_at::{Sight, looked_at};

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
