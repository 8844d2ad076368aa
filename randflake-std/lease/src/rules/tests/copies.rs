//! Copies of a store: refused until a person says that the original is gone.

use super::*;
use crate::rules::{
    Acquire, acquire, create, declare_moved, drop_namespace, end_quarantine, override_quarantine,
    quarantine, raise, renew, reopen,
};
use crate::types::{AcquireRequest, NodeIds, StoreError};

const ORIGINAL: &str = "the cluster 1";
const COPY: &str = "the cluster 2";

/// A store that is not the one of its record.
fn copy(mut world: World) -> World {
    ORIGINAL.clone_into(&mut world.namespace().identity);
    COPY.clone_into(&mut world.view.continuity.identity);
    world
}

#[track_caller]
fn is_refused<T>(answer: Result<T, StoreError>, change: &crate::rules::Change) {
    assert!(change.is_empty(), "{change:?}");
    let Err(StoreError::FailedPrecondition(why)) = answer else {
        panic!("it is not refused")
    };
    let why = why.to_string();
    for part in [ORIGINAL, COPY, "randflake lease init --moved"] {
        assert!(why.contains(part), "{why}");
    }
}

#[test]
fn a_copy_grants_renews_and_changes_nothing() {
    let known = lease(7, 9_000, NOW + 30);
    let held = held(&known);
    for cause in [QuarantineCause::New, QuarantineCause::Lost] {
        for until in [0, NOW + 10] {
            let world = copy(World::new([&known])).quarantined(cause, until);
            let (view, caller) = (&world.view, &world.caller());
            let request = AcquireRequest {
                token: token(),
                holder: "holder",
                nodes: NodeIds::These(&[7]),
                ttl: 30,
            };
            let acquisition = Acquire {
                request,
                tried: &[],
                within: (0, u32::MAX),
            };
            let it = acquire(view, &acquisition, caller);
            is_refused(it.answer, &it.change);
            let it = renew(view, core::slice::from_ref(&held), 30, caller);
            is_refused(it.answer, &it.change);
            let it = create(view, caller);
            is_refused(it.answer, &it.change);
            let it = quarantine(view, caller);
            is_refused(it.answer, &it.change);
            let it = end_quarantine(view, caller, false);
            is_refused(it.answer, &it.change);
            let it = override_quarantine(view, caller);
            is_refused(it.answer, &it.change);
            let it = drop_namespace(view, caller);
            is_refused(it.answer, &it.change);
            let it = raise(view, caller, None);
            is_refused(it.answer, &it.change);
        }
    }
}

/// As after any loss, whatever was known of the engine before: it may have the same fingerprint.
#[test]
fn a_copy_that_was_declared_moved_waits_for_all_that_the_original_has_granted() {
    for cause in [QuarantineCause::New, QuarantineCause::Asked] {
        for until in [0, NOW + 10] {
            let mut world = copy(World::new(&[])).quarantined(cause, until);
            let decided = declare_moved(&world.view, &world.caller());
            let waits = decided.answer.unwrap().unwrap();
            assert_eq!(waits.until, unix(NOW + SPAN));
            assert_eq!(waits.cause, QuarantineCause::Lost);
            let after = decided.change.namespace_after.unwrap();
            assert_eq!((&*after.identity, after.writes), (COPY, 4));
            // Known from now on, and declared again without a change.
            world.view.namespace = Some(after);
            let again = declare_moved(&world.view, &world.caller());
            assert!(again.change.is_empty() && again.answer.unwrap().is_some());
            assert!(create(&world.view, &world.caller()).answer.is_ok());
        }
    }
}

#[test]
fn what_is_no_copy_is_not_moved() {
    for world in [World::new(&[]), World::missing()] {
        let decided = declare_moved(&world.view, &world.caller());
        let is_there = world.view.namespace.is_some();
        assert_eq!(decided.change.is_empty(), is_there);
        // A missing one is quarantined as ever.
        assert_eq!(decided.answer.unwrap().is_none(), is_there);
    }
}

/// The original may have been opened again, and have leased since.
#[test]
fn a_dropped_copy_is_opened_after_it_was_declared_moved_and_then_waits() {
    let mut world = copy(World::new(&[]));
    let dropped = mark(NOW - 200, NOW - 100);
    // The engine may tell no loss.
    "run:42".clone_into(&mut world.view.continuity.fingerprint);
    world.view.namespace = Some(NamespaceRecord {
        identity: ORIGINAL.to_owned(),
        fingerprint: "run:42".to_owned(),
        ..dropped
    });
    let it = reopen(&world.view, &world.caller());
    is_refused(it.answer, &it.change);
    let moved = declare_moved(&world.view, &world.caller());
    assert!(moved.answer.unwrap().is_none());
    world.view.namespace = moved.change.namespace_after;
    assert!(world.view.is_dropped());
    let opened = reopen(&world.view, &world.caller()).answer.unwrap();
    assert_eq!(opened.unwrap().until, unix(NOW + ASSUMED_SPAN));
}
