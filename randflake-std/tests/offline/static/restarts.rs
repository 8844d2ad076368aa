//! Start of the next process on a static file, after an orderly end, a kill or a change of clocks.

use core::time::Duration;
use std::fs;

use randflake_std::lease::{Grant, Loss, StoreError};

use super::{NODE, Place, WAIT, begins_in, wait_of};
use randflake_lease::testkit::leases::{Backend, TTL, acquire, acquire_one, eight, ticks};

#[test]
fn a_new_file_waits_for_whoever_had_the_node_id() {
    let place = Place::new();
    let mut store = place.store();
    assert_eq!(store.list().unwrap(), []);
    let refused = acquire(&mut store, 1, 1);
    assert!(
        matches!(refused, Err(StoreError::Quarantined { .. })),
        "{refused:?}"
    );
    // It is the file that waits, not the process: another start does not begin again.
    place.pass(ticks(30));
    drop(store);
    let mut store = place.store();
    let (wait, grant) = begins_in(&place, &mut store, 2);
    assert_eq!((wait, grant.node_id), (ticks(WAIT - 30), NODE));
    let refused = acquire(&mut store, 3, 1);
    assert!(
        matches!(refused, Err(StoreError::Exhausted { .. })),
        "{refused:?}"
    );
}

#[test]
fn new_file_waits_for_the_ttl_of_its_namespace() {
    let place = Place::new();
    for (seconds, name) in [(5, "short"), (900, "long")] {
        let longest = Duration::from_secs(seconds);
        let namespace = eight(name).with_max_ttl(longest);
        let mut store = place.try_store(NODE, &namespace).unwrap();
        let quarantine = store.administration().create_namespace().unwrap().unwrap();
        let wait = longest + Duration::from_secs(20);
        assert_eq!(quarantine.until, quarantine.since + wait);
        drop(store);
        place.lose_memory();
    }
}

#[test]
fn after_a_release_the_next_process_begins_at_once() {
    let place = Place::declared();
    let mut store = place.store();
    let grant = acquire_one(&mut store, 1);
    assert_eq!(grant.start, place.now());
    place.pass(ticks(5));
    let used = Grant {
        end: grant.start + 6,
        ..grant
    };
    store.release(&[used]).unwrap();
    assert_eq!(
        store.renew(&[grant], TTL).unwrap().ends,
        [Err(Loss::Released)]
    );
    drop(store);
    // In the tick after the last one that was used.
    let (_, next) = begins_in(&place, &mut place.store(), 2);
    assert_eq!(next.start, used.end);
    assert!(next.fencing_token > grant.fencing_token);
}

#[test]
fn process_after_a_kill_waits_for_the_lease_to_end() {
    let place = Place::declared();
    let mut store = place.store();
    let grant = acquire_one(&mut store, 1);
    place.pass(ticks(20));
    let end = store.renew(&[grant], TTL).unwrap().ends[0].unwrap();
    assert_eq!(end, place.now() + TTL);
    drop(store);
    // However often it is killed meanwhile.
    wait_of(acquire(&mut place.store(), 2, 1));
    place.pass(ticks(10));
    let mut store = place.store();
    let (wait, next) = begins_in(&place, &mut store, 3);
    assert_eq!((wait, next.start), (ticks(TTL - 10), end));
    // What the process before held is not renewed any more.
    assert_eq!(
        store.renew(&[grant], TTL).unwrap().ends,
        [Err(Loss::Expired)]
    );
}

#[test]
fn no_clock_grants_before_the_last_lease_ends() {
    let place = Place::declared();
    let mut store = place.store();
    let mut end = acquire_one(&mut store, 1).end;
    for (number, ms) in [(2, -10_000), (3, -3_600_000), (4, 3_600_000)] {
        place.step_clock(0, ms);
        drop(store);
        store = place.store();
        let next = match acquire(&mut store, number, 1) {
            Ok(acquired) => acquired.grants[0],
            refused => {
                place.pass(wait_of(refused));
                acquire_one(&mut store, number)
            }
        };
        assert!(next.start >= end, "{ms}");
        end = next.end;
    }
}

/// One start with a clock a year ahead: nobody waits for a year, and what to do is said.
#[test]
fn lease_a_year_ahead_is_refused_with_a_remedy() {
    const YEAR_MS: i64 = 365 * 24 * 3_600_000;
    let place = Place::declared();
    acquire_one(&mut place.store(), 1);
    place.step_clock(0, YEAR_MS);
    let mut store = place.store();
    let mut grant = acquire_one(&mut store, 2);
    grant.end = grant.start;
    store.release(&[grant]).unwrap();
    drop(store);
    place.step_clock(0, -YEAR_MS);
    let mut store = place.store();
    let refused = acquire(&mut store, 3, 1).unwrap_err();
    let StoreError::LeaseAhead { ends_in, .. } = &refused else {
        panic!("{refused:?}")
    };
    assert!(
        *ends_in > Duration::from_secs(364 * 24 * 3_600),
        "{refused}"
    );
    assert!(refused.to_string().contains("remove the file"), "{refused}");
    // As the lease list shows: no id was issued.
    let listed = store.list().unwrap().remove(0).grant;
    assert_eq!(listed.start, listed.end);
    drop(store);
    fs::remove_file(place.path()).unwrap();
    let (wait, next) = begins_in(&place, &mut place.store(), 4);
    assert_eq!(wait, ticks(WAIT));
    assert!(next.start < grant.start, "{next:?} of {grant:?}");
}
