//! State of a namespace: whether it grants, and what its store has forgotten.

use super::*;
use crate::rules::{KeyCheck, NamespaceState};
use crate::types::StoreError;

fn state(world: &World) -> NamespaceState {
    NamespaceState::of_a_holder(&world.view, &world.caller()).unwrap()
}

/// The record that is written, if one is.
fn written(world: &World) -> Option<NamespaceRecord> {
    let change = state(world).into_change();
    assert!(change.nodes.is_empty() && change.window.is_none());
    let before = change.namespace_before.map(|record| record.namespace_nonce);
    assert_eq!(
        before,
        world
            .view
            .namespace
            .as_ref()
            .map(|record| record.namespace_nonce)
    );
    change.namespace_after
}

/// Cause, start and end of the quarantine that is written.
fn closed(world: &World) -> Option<(QuarantineCause, u64, u64)> {
    written(world).map(|record| (record.reason.cause, record.reason.since, record.quarantine))
}

#[test]
fn a_namespace_that_is_as_it_was_is_not_written() {
    for world in [
        World::new(&[]),
        World::new(&[lease(5, NOW, NOW + 60)]),
        World::new(&[]).quarantined(QuarantineCause::New, NOW + 60),
        World::new(&[])
            .has_seen(namespace(), NOW)
            .has_leased(5, NOW + 60),
    ] {
        assert!(written(&world).is_none());
    }
}

#[test]
fn faulty_engine_or_wrong_clock_proves_nothing() {
    let refusal = |world: &World| NamespaceState::of(&world.view, &world.caller()).unwrap_err();
    let mut faulty = World::missing();
    faulty.view.continuity.fault = Some("it forgets".to_owned());
    assert!(matches!(
        refusal(&faulty),
        StoreError::FailedPrecondition(_)
    ));
    let mut skewed = World::missing();
    skewed.clock = Some(ClockWindow {
        least: unix(NOW + 1),
        most: unix(NOW + 2),
    });
    assert!(matches!(refusal(&skewed), StoreError::ClockSkew { .. }));
    let mut endless = World::missing();
    endless.terms.max_ttl_ms = Some(u64::MAX);
    assert!(matches!(refusal(&endless), StoreError::Invalid(_)));
    let mut other = World::new(&[]);
    other.terms.max_ttl_ms = Some(1_000);
    assert!(matches!(refusal(&other), StoreError::Terms { .. }));
    // Who names none may look at the namespace, but not lease in it.
    other.namespace().terms.max_ttl_ms = Some(120_000);
    other.terms.max_ttl_ms = None;
    assert!(NamespaceState::of(&other.view, &other.caller()).is_ok());
    let refused = NamespaceState::of_a_holder(&other.view, &other.caller()).unwrap_err();
    assert!(matches!(refused, StoreError::Terms { .. }));
}

#[test]
fn a_key_check_becomes_known_once() {
    let [one, two] = [1, 2].map(|check| Some(KeyCheck::Key(check)));
    for (stored, asked, after) in [
        (None, None, None),
        (None, one, Some(one)),
        (one, one, None),
        (one, None, None),
    ] {
        let mut world = World::new(&[]);
        (world.namespace().terms.key_check, world.terms.key_check) = (stored, asked);
        let after = after.map(|key_check| (key_check, 4));
        let written = written(&world).map(|record| (record.terms.key_check, record.writes));
        assert_eq!(written, after, "{stored:?}, {asked:?}");
        let kept = state(&world).record.terms.key_check;
        assert_eq!(kept, stored.or(asked));
    }
    let mut world = World::new(&[]);
    (world.namespace().terms.key_check, world.terms.key_check) = (one, two);
    let refused = NamespaceState::of(&world.view, &world.caller()).unwrap_err();
    assert!(matches!(refused, StoreError::Terms { .. }));
}

#[test]
fn a_missing_namespace_waits_unless_it_never_was() {
    let new = (QuarantineCause::New, NOW, NOW + ASSUMED_SPAN);
    let lost = (QuarantineCause::Lost, NOW, NOW + ASSUMED_SPAN);
    let certain = |mut world: World| {
        world.view.continuity.is_absence_certain = true;
        world
    };
    let with_record = || {
        let mut world = World::new(&[lease(5, NOW - 60, NOW)]).with_unleased(&[6]);
        world.view.namespace = None;
        world
    };
    let never = (QuarantineCause::New, 0, 0);
    for (world, expected) in [
        (certain(World::missing()), never),
        (certain(World::missing().with_unleased(&[6])), never),
        (certain(with_record()), new),
        (World::missing(), new),
        (World::missing().with_unleased(&[6]), new),
        (World::missing().has_leased(5, NOW - 60), lost),
        (certain(World::missing().has_seen(namespace(), NOW)), new),
    ] {
        assert_eq!(closed(&world), Some(expected));
        let record = written(&world).unwrap();
        assert_eq!((record.namespace_nonce, record.writes), (ORIGIN, 1));
        assert_eq!(record.versions, Versions::FIRST);
        assert_eq!(record.terms, terms());
    }
}

#[test]
fn another_engine_has_forgotten_leases() {
    let another = |mut world: World| {
        world.view.continuity.fingerprint = "another".to_owned();
        world
    };
    let lost = QuarantineCause::Lost;
    let new = QuarantineCause::New;
    let world = || World::new(&[]);
    for (world, expected) in [
        (world(), (lost, NOW, NOW + SPAN)),
        // It has granted nothing yet.
        (world().quarantined(new, NOW + 1), (new, 100, NOW + SPAN)),
        (world().quarantined(new, NOW), (lost, NOW, NOW + SPAN)),
        (
            world().quarantined(new, NOW + 1).has_leased(5, NOW - 60),
            (lost, 100, NOW + SPAN),
        ),
        (
            world().quarantined(QuarantineCause::Asked, NOW + 90),
            (lost, 100, NOW + 90),
        ),
        (world().has_leased(5, NOW + 100), (lost, NOW, NOW + 100)),
    ] {
        let world = another(world);
        assert_eq!(closed(&world), Some(expected));
        let record = written(&world).unwrap();
        assert_eq!((&*record.fingerprint, record.writes), ("another", 4));
    }
}

/// Of a namespace whose record is there, its longest TTL is known; else it was as long as is
/// assumed, or as its caller says.
#[test]
fn quarantine_covers_the_longest_and_any_known_lease() {
    let mut world = World::missing();
    for (assumed, end) in [(300, NOW + ASSUMED_SPAN), (10, NOW + SPAN)] {
        world.view.assumed_max_ttl = seconds(assumed);
        assert_eq!(state(&world).record.quarantine, end);
    }
    let known_end = |ms| {
        let mut world = World::new(&[]);
        world.view.continuity.fingerprint = "another".to_owned();
        world.view.continuity.known_end_unix_ms = ms;
        state(&world).record.quarantine
    };
    let begin = SPEC.unix_ms(NOW + 200);
    assert_eq!(known_end(begin - 1), NOW + 200);
    assert_eq!(known_end(begin), NOW + 201);
    assert_eq!(known_end(SPEC.unix_ms(NOW)), NOW + SPAN);
}

/// Each alone: another namespace nonce, and fewer writes than were seen.
#[test]
fn record_that_contradicts_the_observed_forgot_leases() {
    let seen = |namespace_nonce, writes| {
        let record = NamespaceRecord {
            namespace_nonce,
            writes,
            ..namespace()
        };
        closed(&World::new(&[]).has_seen(record, NOW))
    };
    let lost = Some((QuarantineCause::Lost, NOW, NOW + SPAN));
    assert_eq!(seen(7, 3), None);
    assert_eq!(seen(7, 2), None);
    assert_eq!(seen(7, 4), lost);
    assert_eq!(seen(8, 1), lost);
}

#[test]
fn a_quarantine_lasts_until_the_tick_it_names() {
    for (until, left) in [(NOW + 2, 2), (NOW + 1, 1), (NOW, 0), (NOW - 1, 0)] {
        let state = state(&World::new(&[]).quarantined(QuarantineCause::Asked, until));
        assert_eq!(state.quarantine_left(), seconds(left));
        let quarantine = state.quarantined();
        let parts = quarantine.map(|it| (it.since, it.until, it.cause));
        let expected = (unix(100), unix(until), QuarantineCause::Asked);
        assert_eq!(parts, (left > 0).then_some(expected));
    }
}

#[test]
fn the_span_of_leases_is_the_longest_ttl_and_the_skew() {
    assert_eq!(state(&World::new(&[])).span(), SPAN);
}

#[test]
fn who_leases_may_not_open_a_dropped_namespace() {
    let mut world = World::new(&[]);
    world.view.namespace = Some(mark(NOW - 100, NOW - 20));
    let refused = NamespaceState::of_a_holder(&world.view, &world.caller()).unwrap_err();
    assert!(matches!(refused, StoreError::Dropped { until } if until == unix(NOW - 20)));
}
