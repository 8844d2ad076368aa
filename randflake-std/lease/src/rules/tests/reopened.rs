//! Namespaces that were dropped and opened again, and processes that have seen the former one.

use super::*;
use crate::rules::NamespaceState;

fn state(world: &World) -> NamespaceState {
    NamespaceState::of(&world.view, &world.caller()).unwrap()
}

/// Whether the namespace is closed, because what the process has seen of the former record contradicts it.
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

/// By more than clocks may differ. The mark of a drop was there from its start on, whoever has seen it when.
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
fn a_record_follows_on_a_lost_one_once_all_leases_of_that_have_ended() {
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
fn a_record_follows_on_a_dropped_one_once_its_mark_has_ended() {
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

/// Later than the mark by more than clocks may differ, so that who has seen the mark tells it from an older one.
#[test]
fn a_reopened_namespace_begins_after_the_mark_and_waits_as_it_says() {
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
fn a_mark_on_another_engine_or_that_is_older_waits_for_all_leases() {
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
