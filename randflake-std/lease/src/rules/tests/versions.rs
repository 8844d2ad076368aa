//! Raising the version of a namespace.

use super::*;
use crate::rules::{Decision, announce, raise, withdraw};
use crate::types::StoreError;

/// A namespace with these versions, and a process that knows one.
fn world(written: u8, holder: u8, knows: u8) -> World {
    let mut world = World::new(&[]);
    world.namespace().versions = Versions { written, holder };
    world.knows = knows;
    world
}

/// Versions that are written, and those that the record itself asks for.
fn written<T>(decision: &Decision<T>) -> Option<[u8; 4]> {
    let after = decision.change.namespace_after.as_ref()?;
    let Versions { written, holder } = after.versions;
    Some([written, holder, after.form.version, after.form.min_reader])
}

#[test]
fn an_announcement_never_lowers_a_version_and_a_withdrawal_only_as_far_as_was_written() {
    let world = |holder, knows| world(1, holder, knows);
    for (holder, knows, after, writes) in [
        (1, 2, Some([1, 2, 1, 1]), 4),
        (2, 2, None, 3),
        (3, 2, None, 3),
    ] {
        let world = world(holder, knows);
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
    for (versions, knows, after) in [
        ((1, 1), 2, Some([2; 4])),
        ((1, 3), 2, Some([2, 3, 2, 2])),
        ((2, 2), 2, None),
        ((3, 3), 2, None),
    ] {
        let mut world = world(versions.0, versions.1, knows);
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
