//! An operator's changes to a namespace, and upgrades of its version.

use super::*;
use crate::rules::{
    Change, Decision, KeyCheck, announce, create, drop_namespace, end_quarantine, outlast,
    override_quarantine, quarantine, raise, reopen, withdraw,
};
use crate::types::StoreError;

fn dropped() -> World {
    let mut world = World::new(&[]);
    world.view.namespace = Some(mark(NOW - 10, NOW + 70));
    world
}

/// A new namespace, which waits.
fn new() -> World {
    World::new(&[]).quarantined(QuarantineCause::New, NOW + 50)
}

fn refused<T>(Decision { change, answer }: Decision<T>) -> StoreError {
    assert!(change.is_empty());
    answer.err().unwrap()
}

#[test]
fn a_namespace_is_created_unless_it_was_dropped() {
    let Decision { change, answer } = create(&World::missing().view, &World::missing().caller());
    assert_eq!(answer.unwrap().unwrap().until, unix(NOW + ASSUMED_SPAN));
    assert_eq!(change.namespace_after.unwrap().namespace_nonce, ORIGIN);
    let world = World::new(&[]);
    let Decision { change, answer } = create(&world.view, &world.caller());
    assert!(answer.unwrap().is_none() && change.is_empty());
    let refused = refused(create(&dropped().view, &dropped().caller()));
    assert!(matches!(refused, StoreError::Dropped { .. }));
}

#[test]
fn only_a_dropped_namespace_is_opened_again() {
    let Decision { change, answer } = reopen(&dropped().view, &dropped().caller());
    let quarantine = answer.unwrap().unwrap();
    assert_eq!(quarantine.until, unix(NOW + 70));
    assert!(change.opens_anew());
    for world in [World::new(&[]), World::missing()] {
        let refused = refused(reopen(&world.view, &world.caller()));
        assert!(matches!(refused, StoreError::Invalid(_)));
    }
}

#[test]
fn a_quarantine_that_is_asked_for_outlasts_all_leases() {
    let world = World::new(&[]);
    let Decision { change, answer } = quarantine(&world.view, &world.caller());
    assert_eq!(answer.unwrap(), seconds(SPAN));
    let after = change.namespace_after.unwrap();
    assert_eq!(
        (after.quarantine, after.reason.cause),
        (NOW + SPAN, QuarantineCause::Asked)
    );
    let missing = World::missing();
    let refusal = refused(quarantine(&missing.view, &missing.caller()));
    assert!(matches!(refusal, StoreError::Invalid(_)));
    let refusal = refused(quarantine(&dropped().view, &dropped().caller()));
    assert!(matches!(refusal, StoreError::Dropped { .. }));
}

#[test]
fn quarantine_of_a_new_namespace_ends_if_undisputed() {
    let has_seen = |quarantine| {
        let record = NamespaceRecord {
            quarantine,
            ..namespace()
        };
        new().has_seen(record, NOW)
    };
    let lost = || World::new(&[]).quarantined(QuarantineCause::Lost, NOW + 50);
    for (world, has_leases, why) in [
        (new(), false, None),
        (has_seen(NOW + 50), false, None),
        (lost(), false, Some("the store may have forgotten leases")),
        (new(), true, Some("node ids of it were leased")),
        (
            has_seen(NOW + 40),
            false,
            Some("another process has written it meanwhile"),
        ),
    ] {
        let decision = end_quarantine(&world.view, &world.caller(), has_leases);
        let Some(why) = why else {
            decision.answer.unwrap();
            let after = decision.change.namespace_after.unwrap();
            assert_eq!((after.quarantine, after.reason.since), (0, 100));
            continue;
        };
        let StoreError::NotNew(told) = refused(decision) else {
            panic!("{why}");
        };
        assert!(told.starts_with(why), "{told}");
    }
    let open = World::new(&[]);
    let Decision { change, answer } = end_quarantine(&open.view, &open.caller(), true);
    assert!(answer.is_ok() && change.is_empty());
}

#[test]
fn a_quarantine_of_any_cause_is_overridden() {
    let world = World::new(&[]).quarantined(QuarantineCause::Lost, NOW + 50);
    let Decision { change, answer } = override_quarantine(&world.view, &world.caller());
    assert!(answer.is_ok());
    assert_eq!(change.namespace_after.unwrap().quarantine, 0);
    let refused = refused(override_quarantine(&dropped().view, &dropped().caller()));
    assert!(matches!(refused, StoreError::Dropped { .. }));
}

#[test]
fn a_drop_leaves_a_mark_until_all_leases_have_ended() {
    for quarantine in [0, NOW + 50] {
        let world = World::new(&[]).quarantined(QuarantineCause::Lost, quarantine);
        let Decision { change, answer } = drop_namespace(&world.view, &world.caller());
        let after = change.namespace_after.unwrap();
        let reason = mark(NOW, 0).reason;
        assert_eq!(
            (after.reason, after.quarantine, after.writes),
            (reason, NOW + SPAN, 4)
        );
        assert_eq!(answer.unwrap().unwrap().to_text(), after.to_text());
    }
    let Decision { change, answer } = drop_namespace(&dropped().view, &dropped().caller());
    assert_eq!(answer.unwrap().unwrap().quarantine, NOW + 70);
    assert!(change.is_empty());
    let missing = World::missing();
    let Decision { change, answer } = drop_namespace(&missing.view, &missing.caller());
    assert!(answer.unwrap().is_none() && change.is_empty());
    // By an engine that may forget the mark.
    let mut faulty = World::new(&[]);
    faulty.view.continuity.fault = Some("it forgets".to_owned());
    let refused = refused(drop_namespace(&faulty.view, &faulty.caller()));
    assert!(
        matches!(refused, StoreError::FailedPrecondition(_)),
        "{refused}"
    );
}

#[test]
fn a_mark_waits_for_the_latest_lease() {
    for (latest, until, is_written) in [
        (NOW + 69, NOW + 70, false),
        (NOW + 70, NOW + 70, false),
        (NOW + 71, NOW + 71, true),
    ] {
        let Decision { change, answer } = outlast(&dropped().view, latest);
        let mark = answer.unwrap().unwrap();
        assert_eq!(
            (mark.quarantine, mark.writes),
            (until, 3 + u64::from(is_written))
        );
        let written = change.namespace_after.map(|record| record.to_text());
        assert_eq!(written, is_written.then(|| mark.to_text()));
    }
    let Decision { change, answer } = outlast(&World::new(&[]).view, NOW + 500);
    assert!(answer.unwrap().is_none() && change.is_empty());
}

/// Of another namespace, in time.
#[test]
fn a_record_waits_until_a_time_and_says_since_when() {
    let (lost, new, asked) = (
        QuarantineCause::Lost,
        QuarantineCause::New,
        QuarantineCause::Asked,
    );
    let ms = Duration::from_millis(1);
    for (quarantine, cause, until, expected) in [
        (0, new, unix(NOW), None),
        (0, new, unix(NOW) + ms, Some((NOW, lost, NOW + 1))),
        (0, asked, unix(NOW + 40), Some((NOW, lost, NOW + 40))),
        (0, asked, unix(NOW + 40) + ms, Some((NOW, lost, NOW + 41))),
        (NOW, new, unix(NOW + 40), Some((NOW, lost, NOW + 40))),
        (NOW + 1, new, unix(NOW + 40), Some((100, lost, NOW + 40))),
        (NOW + 1, asked, unix(NOW + 40), Some((100, asked, NOW + 40))),
        (NOW + 90, new, unix(NOW + 40), Some((100, lost, NOW + 90))),
        (NOW + 90, asked, unix(NOW + 40), None),
        (NOW + 40, asked, unix(NOW + 40), None),
    ] {
        let mut world = World::new(&[]).quarantined(cause, quarantine);
        let after = world.namespace().quarantined_until(unix(NOW), until);
        let after = after.map(|after| {
            assert_eq!((after.writes, after.namespace_nonce), (4, 7));
            (after.reason.since, after.reason.cause, after.quarantine)
        });
        assert_eq!(after, expected, "{quarantine}, {cause:?}, {until:?}");
    }
    let before_epoch = Duration::from_secs(1);
    assert!(
        namespace()
            .quarantined_until(before_epoch, unix(NOW))
            .is_none()
    );
}

/// A change is empty if it writes nothing, and opens a namespace if it puts a record in the place
/// of a mark.
#[test]
fn a_change_says_what_it_does() {
    let change = |before: Option<&NamespaceRecord>, after: Option<&NamespaceRecord>| Change {
        namespace_before: before.cloned(),
        namespace_after: after.cloned(),
        ..Change::none(&World::new(&[]).view)
    };
    let (record, mark) = (namespace(), mark(NOW, NOW + 80));
    for (before, after, opens_anew) in [
        (None, None, false),
        (None, Some(&record), false),
        (Some(&record), Some(&record), false),
        (Some(&record), Some(&mark), false),
        (Some(&mark), None, false),
        (Some(&mark), Some(&mark), false),
        (Some(&mark), Some(&record), true),
    ] {
        let change = change(before, after);
        assert_eq!(change.opens_anew(), opens_anew);
        assert_eq!(change.is_empty(), after.is_none());
    }
    let mut of_a_node = change(None, None);
    of_a_node.nodes.push(crate::rules::NodeChange {
        before: None,
        after: lease(5, NOW, NOW + 60),
    });
    assert!(!of_a_node.is_empty());
    of_a_node.namespace_after = Some(record);
    assert!(!of_a_node.is_empty());
}

/// By a record that is made, opened again, or learns of it.
#[test]
fn a_secret_is_taken_where_a_record_first_names_it() {
    let with = |key_check, base: NamespaceRecord| {
        let mut record = base;
        record.terms.key_check = key_check;
        Some(record)
    };
    let record = |key_check| with(key_check, namespace());
    let mark = |key_check| with(key_check, mark(NOW, NOW + 80));
    let [one, two] = [1, 2].map(|check| Some(KeyCheck::Key(check)));
    for (before, after, taken) in [
        (None, None, None),
        (None, record(one), Some(1)),
        (None, record(None), None),
        (None, record(Some(KeyCheck::Plain)), None),
        (record(None), record(one), Some(1)),
        (record(one), record(one), None),
        (record(one), None, None),
        (record(one), mark(one), None),
        (record(None), mark(one), None),
        (mark(one), record(one), Some(1)),
        (mark(one), record(two), Some(2)),
    ] {
        let change = Change {
            namespace_before: before,
            namespace_after: after,
            ..Change::none(&World::new(&[]).view)
        };
        assert_eq!(change.taken_secret(), taken, "{change:?}");
    }
}

/// A namespace with these versions, and a process that knows one.
fn world(written: u8, holder: u8, capabilities: u8) -> World {
    let mut world = World::new(&[]);
    world.namespace().versions = Versions { written, holder };
    world.capabilities = capabilities;
    world
}

/// Versions that are written, and those that the record itself asks for.
fn written<T>(decision: &Decision<T>) -> Option<[u8; 4]> {
    let after = decision.change.namespace_after.as_ref()?;
    let Versions { written, holder } = after.versions;
    Some([written, holder, after.form.version, after.form.min_reader])
}

#[test]
fn versions_are_lowered_only_to_what_was_written() {
    let world = |holder, capabilities| world(1, holder, capabilities);
    for (holder, capabilities, after, writes) in [
        (1, 2, Some([1, 2, 1, 1]), 4),
        (2, 2, None, 3),
        (3, 2, None, 3),
    ] {
        let world = world(holder, capabilities);
        let decision = announce(&world.view, &world.caller());
        assert_eq!(written(&decision), after);
        assert_eq!(decision.answer.unwrap(), writes);
    }
    for (holder, after, writes) in [(3, Some([1, 1, 1, 1]), 4), (1, None, 3)] {
        let world = world(holder, 2);
        let decision = withdraw(&world.view, &world.caller());
        assert_eq!(written(&decision), after);
        assert_eq!(decision.answer.unwrap(), writes);
    }
}

#[test]
fn a_version_is_raised_while_it_is_as_announced() {
    for (announced, is_raised) in [(None, true), (Some(3), true), (Some(2), false)] {
        let world = world(1, 2, 2);
        let decision = raise(&world.view, &world.caller(), announced);
        assert_eq!(written(&decision), is_raised.then_some([2; 4]));
        assert_eq!(decision.answer.unwrap(), is_raised);
    }
    for (versions, capabilities, after) in [
        ((1, 1), 2, Some([2; 4])),
        ((1, 3), 2, Some([2, 3, 2, 2])),
        ((2, 2), 2, None),
        ((3, 3), 2, None),
    ] {
        let mut world = world(versions.0, versions.1, capabilities);
        world.namespace().form.version = versions.0;
        world.namespace().form.min_reader = versions.0;
        let decision = raise(&world.view, &world.caller(), None);
        assert_eq!(written(&decision), after, "{versions:?}");
        assert!(decision.answer.unwrap());
    }
}

/// It has been written by a later program, whose fields are kept.
#[test]
fn the_form_of_a_record_is_never_lowered() {
    let mut world = world(1, 1, 2);
    (
        world.namespace().form.version,
        world.namespace().form.min_reader,
    ) = (5, 4);
    let decision = raise(&world.view, &world.caller(), None);
    assert_eq!(written(&decision), Some([2, 2, 5, 4]));
}

#[test]
fn what_is_not_there_or_was_dropped_has_no_version() {
    let missing = World::missing();
    let mut dropped = World::new(&[]);
    dropped.view.namespace = Some(mark(NOW - 10, NOW + 70));
    let (view, caller) = (&missing.view, &missing.caller());
    let refused = |decision: Decision<u64>| {
        assert!(decision.change.is_empty());
        decision.answer.unwrap_err()
    };
    for rule in [announce, withdraw] {
        assert!(matches!(
            refused(rule(view, caller)),
            StoreError::Invalid(_)
        ));
        let refused = refused(rule(&dropped.view, &dropped.caller()));
        assert!(matches!(refused, StoreError::Dropped { .. }));
    }
    assert!(matches!(
        raise(view, caller, None).answer,
        Err(StoreError::Invalid(_))
    ));
}

#[test]
fn a_lease_has_an_older_holder_while_it_lasts() {
    let record = lease(5, NOW - 30, NOW + 30);
    let released = NodeRecord {
        held: false,
        ..record.clone()
    };
    for (record, version, tick, is_older) in [
        (&record, 2, NOW + 29, true),
        (&record, 2, NOW + 30, false),
        (&record, 1, NOW, false),
        (&released, 2, NOW, false),
        (&released, 2, NOW + 30, false),
    ] {
        assert_eq!(
            record.has_older_holder(version, tick),
            is_older,
            "{version}, {tick}"
        );
    }
}
