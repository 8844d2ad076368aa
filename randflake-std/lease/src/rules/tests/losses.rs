//! Losses of leases and of namespaces, copies of stores, and namespaces that were opened again.

use super::*;
use crate::rules::{
    Acquire, NamespaceState, acquire, create, declare_moved, drop_namespace, end_quarantine,
    override_quarantine, quarantine, raise, renew, reopen,
};
use crate::types::{AcquireRequest, Loss, NodeIds, StoreError};

/// The holder's last write has serial 5 and nonce 50; the outcome of a later one with nonce 60 is
/// not known.
fn tried(record: &NodeRecord) -> CurrentLease {
    CurrentLease {
        tried: vec![60],
        ..held(record)
    }
}

fn written(serial: u64, nonce: u64) -> NodeRecord {
    NodeRecord {
        serial,
        nonce,
        ..lease(5, NOW, NOW + 60)
    }
}

#[test]
fn holder_knows_its_write_by_serial_and_nonce() {
    let lease = tried(&written(5, 50));
    for (serial, nonce, is_own, is_copy) in [
        (5, 50, true, false),
        (6, 60, true, false),
        (9, 60, true, false),
        // The store has given the serial to a copy.
        (5, 60, false, true),
        (5, 51, false, true),
        (6, 50, false, true),
        (6, 61, false, true),
        // It has gone back.
        (4, 50, false, false),
        (4, 60, false, false),
    ] {
        let record = written(serial, nonce);
        let at = format!("{serial}, {nonce}");
        assert_eq!(lease.wrote(&record), is_own, "{at}");
        let loss = lease.loss(&World::new([&record]).view);
        assert_eq!(loss, is_copy.then_some(Loss::Contested), "{at}");
        // Who continues for another takes every write for its own.
        let another = CurrentLease {
            written: None,
            ..lease.clone()
        };
        assert!(another.wrote(&record), "{at}");
        assert_eq!(another.loss(&World::new(&[record]).view), None, "{at}");
    }
}

#[test]
fn request_is_repeated_if_its_nonce_was_written_last() {
    for (next, nonce, is_repeated) in [
        (Some(60), 60, true),
        (Some(61), 60, false),
        (None, 60, false),
        (Some(61), 61, false),
    ] {
        let lease = CurrentLease {
            next,
            ..tried(&written(5, 50))
        };
        assert_eq!(
            lease.repeats(&written(6, nonce)),
            is_repeated,
            "{next:?}, {nonce}"
        );
    }
}

#[test]
fn released_or_followed_lease_is_lost_without_a_clock() {
    let grant = written(5, 50);
    let end = grant.end;
    let another = |start, fencing_token| NodeRecord {
        start,
        fencing_token,
        token: Token::from_bytes([2; 16]),
        ..grant.clone()
    };
    let released = NodeRecord {
        held: false,
        ..written(6, 61)
    };
    for (record, loss) in [
        (grant.clone(), None),
        (released, Some(Loss::Released)),
        (another(end, grant.fencing_token + 1), Some(Loss::Expired)),
        // It overlaps, or is older: the store has forgotten this one.
        (another(end - 1, grant.fencing_token + 1), None),
        (another(end, grant.fencing_token), None),
        (another(end, grant.fencing_token - 1), None),
    ] {
        let world = World::new([&record]);
        assert_eq!(held(&grant).loss(&world.view), loss, "{record:?}");
    }
    assert_eq!(held(&grant).loss(&World::new(&[]).view), None);
}

/// By fencing token and token both.
#[test]
fn a_record_is_of_one_grant() {
    let record = lease(5, NOW, NOW + 60);
    assert!(record.is_of(&record.grant()));
    for other in [
        NodeRecord {
            fencing_token: NOW + 1,
            ..record.clone()
        },
        NodeRecord {
            token: Token::from_bytes([2; 16]),
            ..record.clone()
        },
    ] {
        assert!(!record.is_of(&other.grant()));
    }
}

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
fn moved_copy_waits_for_leases_of_the_original() {
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
fn dropped_copy_is_reopened_once_declared_moved() {
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

fn state(world: &World) -> NamespaceState {
    NamespaceState::of(&world.view, &world.caller()).unwrap()
}

/// Whether the namespace is closed, because what the process has seen of the former record
/// contradicts it.
fn is_closed(
    former: &NamespaceRecord,
    seen_at: u64,
    record: NamespaceRecord,
    own_end: u64,
) -> bool {
    let former = NamespaceRecord {
        namespace_nonce: 8,
        ..former.clone()
    };
    let mut world = World::new(&[])
        .has_seen(former, seen_at)
        .has_leased(5, own_end);
    world.view.namespace = Some(record);
    let after = state(&world).into_change().namespace_after;
    after.is_some_and(|after| after.reason.cause == QuarantineCause::Lost)
}

fn made(since: u64, cause: QuarantineCause) -> NamespaceRecord {
    NamespaceRecord {
        reason: QuarantineReason {
            since,
            cause,
            ..QuarantineReason::default()
        },
        ..namespace()
    }
}

/// By more than clocks may differ. The mark of a drop was there from its start on, no matter who
/// has seen it when.
#[test]
fn only_a_younger_record_follows_on_one_that_was_seen() {
    let reopened = |since| made(since, QuarantineCause::Dropped);
    let seen = NOW - 100;
    for (former, seen_at) in [(namespace(), seen), (mark(seen, NOW - 20), NOW)] {
        for (since, expected) in [
            (seen - 50, true),
            (seen + SKEW, true),
            (seen + SKEW + 1, false),
        ] {
            assert_eq!(
                is_closed(&former, seen_at, reopened(since), 0),
                expected,
                "{since}"
            );
        }
    }
}

#[test]
fn record_follows_a_lost_one_once_its_leases_ended() {
    let (dropped, lost) = (QuarantineCause::Dropped, QuarantineCause::Lost);
    for (cause, since, own_end, expected) in [
        (dropped, NOW - 10, NOW, false),
        (dropped, NOW - 10, NOW + 1, true),
        (lost, NOW - SPAN, NOW, false),
        (lost, NOW - SPAN, NOW + 1, true),
        (lost, NOW - SPAN + 1, NOW, true),
    ] {
        let record = made(since, cause);
        let closed = is_closed(&namespace(), NOW - 500, record, own_end);
        assert_eq!(closed, expected, "{cause:?}, {since}, {own_end}");
    }
}

/// The mark says how long; nothing is granted before the end of the quarantine that runs.
#[test]
fn record_follows_a_dropped_one_once_its_mark_ended() {
    let since = NOW - 10;
    for (mark_ends, quarantine, own_end, expected) in [
        (NOW, 0, NOW, false),
        (NOW, 0, NOW + 1, true),
        (NOW + 1, 0, NOW, true),
        (NOW + 1, NOW + 1, NOW, false),
        (NOW + 2, NOW + 1, NOW, true),
    ] {
        let record = NamespaceRecord {
            quarantine,
            ..made(since, QuarantineCause::New)
        };
        let closed = is_closed(&mark(NOW - 500, mark_ends), NOW, record, own_end);
        assert_eq!(closed, expected, "{mark_ends}, {quarantine}, {own_end}");
    }
}

/// The mark is older than the epoch of the layout that its reopening would have.
#[test]
fn nothing_follows_on_a_mark_that_is_gone() {
    let fields = randflake_core::LayoutFields::in_order([30, 17, 17], 0, 1_000);
    let mut mark = mark(1_000, 2_000);
    mark.terms.spec = LayoutSpec::new(fields).unwrap();
    let mut world = World::missing().has_seen(mark, NOW);
    world.view.continuity.is_absence_certain = true;
    assert_eq!(state(&world).record.quarantine, NOW + ASSUMED_SPAN);
}

/// Later than the mark by more than clocks may differ, so that who has seen the mark tells it from
/// an older one.
#[test]
fn reopened_namespace_waits_as_its_mark_says() {
    for (dropped, until, since) in [
        (NOW - 5, NOW + 75, NOW - 5 + SKEW + 1),
        (NOW - SKEW - 1, NOW + 60, NOW),
        (NOW - 500, NOW - 420, NOW),
    ] {
        let mut world = World::new(&[]);
        let versions = Versions {
            written: 1,
            holder: 2,
        };
        world.view.namespace = Some(NamespaceRecord {
            versions,
            form: Form {
                tail: ":later".to_owned(),
                ..Form::default()
            },
            ..mark(dropped, until)
        });
        let record = state(&world).into_change().namespace_after.unwrap();
        let reason = QuarantineReason {
            since,
            cause: QuarantineCause::Dropped,
            is_dropped: false,
        };
        assert_eq!((record.reason, record.quarantine), (reason, until));
        assert_eq!((record.namespace_nonce, record.writes), (ORIGIN, 1));
        assert_eq!((record.versions, &*record.form.tail), (versions, ":later"));
    }
}

/// It may also have forgotten that the namespace was opened again meanwhile.
#[test]
fn foreign_or_older_mark_waits_for_all_leases() {
    let mut other_engine = World::new(&[]);
    other_engine.view.continuity.fingerprint = "another".to_owned();
    let older = World::new(&[]).has_seen(namespace(), NOW - 10);
    for mut world in [other_engine, older] {
        world.view.namespace = Some(NamespaceRecord {
            namespace_nonce: 6,
            ..mark(NOW - 500, NOW - 420)
        });
        let record = state(&world).into_change().namespace_after.unwrap();
        assert_eq!(record.quarantine, NOW + ASSUMED_SPAN);
        assert_eq!(record.reason.cause, QuarantineCause::Dropped);
    }
}
