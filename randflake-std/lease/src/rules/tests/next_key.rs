//! Rotation of the key of tagged UUIDs, and leases under each number.

use super::*;
use crate::rules::{Acquire, Decision, KeyCheck, NamespaceState, acquire, create, next_key, renew};
use crate::types::{AcquireRequest, Loss, NodeIds, StoreError};
use randflake_core::KeyNumber;

fn number(number: u8) -> KeyNumber {
    KeyNumber::new(number).unwrap()
}

fn tagged(key: u8, check: u32) -> KeyCheck {
    KeyCheck::Tagged {
        number: number(key),
        check,
    }
}

/// A namespace of tagged UUIDs with a lease, and somebody who comes with a key.
fn world(stored: KeyCheck, asked: Option<KeyCheck>) -> World {
    let mut world = World::new(&[lease(5, NOW - 30, NOW + 30)]).with_unleased(&[6]);
    world.namespace().terms.key_check = Some(stored);
    world.terms.key_check = asked;
    world
}

fn refused<T>(Decision { change, answer }: Decision<T>) -> StoreError {
    assert!(change.is_empty());
    answer.err().unwrap()
}

fn granted(world: &World) -> Result<usize, StoreError> {
    let request = AcquireRequest {
        token: token(),
        holder: "holder",
        nodes: NodeIds::Any(1),
        ttl: 60,
    };
    let asked = Acquire {
        request,
        tried: &[],
        within: (0, u32::MAX),
    };
    acquire(&world.view, &asked, &world.caller())
        .answer
        .map(|granted| granted.len())
}

fn renewed(world: &World) -> Result<Vec<Result<NodeRecord, Loss>>, StoreError> {
    let leases = [held(world.view.record(5).unwrap())];
    renew(&world.view, &leases, 60, &world.caller()).answer
}

#[test]
fn the_next_key_is_the_only_thing_that_changes() {
    let (first, second) = (tagged(1, 7), tagged(2, 8));
    // Operators may give the command with a key or without.
    for asked in [None, Some(first), Some(second)] {
        let world = world(first, asked);
        let Decision { change, answer } = next_key(&world.view, second, &world.caller());
        answer.unwrap();
        assert!(change.nodes.is_empty());
        assert_eq!(change.taken_secret(), Some(8));
        let before = change.namespace_before.unwrap();
        let after = change.namespace_after.unwrap();
        let expected = NamespaceRecord {
            writes: before.writes + 1,
            terms: Terms {
                key_check: Some(second),
                ..before.terms
            },
            ..before
        };
        assert_eq!(after.to_text(), expected.to_text());
    }
}

#[test]
fn the_command_may_be_repeated() {
    let world = world(tagged(2, 8), None);
    let Decision { change, answer } = next_key(&world.view, tagged(2, 8), &world.caller());
    answer.unwrap();
    assert!(change.is_empty());
}

#[test]
fn what_is_not_the_next_key_is_refused() {
    let refusal = |stored, next| {
        let world = world(stored, None);
        refused(next_key(&world.view, next, &world.caller()))
    };
    for (stored, asked, said) in [
        (1, 3, "No number is skipped: 2 comes next"),
        (2, 1, "Give this process the secret of key number 2"),
        (63, 1, "has gone on to key number 63"),
    ] {
        let refused = refusal(tagged(stored, 7), tagged(asked, 8));
        let StoreError::KeyNumber {
            stored: is,
            asked: was,
        } = refused
        else {
            panic!("{refused:?}");
        };
        assert_eq!((is, was), (number(stored), number(asked)));
        assert!(refused.to_string().contains(said), "{refused}");
    }
    for (stored, next, said) in [
        (tagged(2, 7), tagged(2, 8), "00000007"),
        (KeyCheck::Key(7), tagged(2, 8), "ids of 64 bits"),
        (KeyCheck::Key(7), KeyCheck::Key(7), "other terms"),
        (KeyCheck::Plain, tagged(1, 8), "plain ids"),
        (tagged(2, 7), KeyCheck::Key(8), "ids of 64 bits"),
    ] {
        let refused = refusal(stored, next);
        assert!(matches!(refused, StoreError::Terms { .. }), "{refused:?}");
        assert!(refused.to_string().contains(said), "{refused}");
    }
    let same = refusal(tagged(1, 7), tagged(2, 7));
    assert!(matches!(same, StoreError::Invalid(_)), "{same:?}");
    assert!(same.to_string().contains("randflake keygen"), "{same}");
}

#[test]
fn there_must_be_a_namespace_with_a_key() {
    let next = tagged(2, 8);
    let missing = World::missing();
    let refusal = refused(next_key(&missing.view, next, &missing.caller()));
    assert!(matches!(refusal, StoreError::Invalid(_)), "{refusal:?}");
    let keyless = World::new(&[]);
    let refusal = refused(next_key(&keyless.view, next, &keyless.caller()));
    assert!(matches!(refusal, StoreError::Invalid(_)), "{refusal:?}");
    let mut dropped = World::new(&[]);
    dropped.view.namespace = Some(mark(NOW - 10, NOW + 70));
    let refusal = refused(next_key(&dropped.view, next, &dropped.caller()));
    assert!(matches!(refusal, StoreError::Dropped { .. }), "{refusal:?}");
}

#[test]
fn only_who_has_the_number_leases() {
    let stored = tagged(2, 8);
    let same = world(stored, Some(stored));
    assert_eq!(granted(&same).unwrap(), 1);
    assert!(renewed(&same).unwrap()[0].is_ok());
    for asked in [1, 3] {
        let other = world(stored, Some(tagged(asked, 7)));
        for refusal in [granted(&other).unwrap_err(), renewed(&other).unwrap_err()] {
            let StoreError::KeyNumber { stored, asked: was } = refusal else {
                panic!("{refusal:?}");
            };
            assert_eq!((stored, was), (number(2), number(asked)));
        }
        // To look, and to administer, takes no key.
        assert!(NamespaceState::of(&other.view, &other.caller()).is_ok());
        assert!(create(&other.view, &other.caller()).answer.is_ok());
    }
    for asked in [None, Some(KeyCheck::Key(8)), Some(tagged(2, 7))] {
        let other = world(stored, asked);
        for refusal in [granted(&other).unwrap_err(), renewed(&other).unwrap_err()] {
            assert!(matches!(refusal, StoreError::Terms { .. }), "{refusal:?}");
        }
    }
}

#[test]
fn a_lost_lease_is_told_also_under_another_number() {
    let mut other = world(tagged(2, 8), Some(tagged(1, 7)));
    other.view.nodes[0].record.as_mut().unwrap().held = false;
    assert_eq!(renewed(&other).unwrap(), [Err(Loss::Released)]);
}

#[test]
fn holder_with_the_key_number_recreates_the_namespace() {
    let mut world = World::missing();
    world.terms.key_check = Some(tagged(7, 8));
    let Decision { change, answer } = create(&world.view, &world.caller());
    assert!(answer.unwrap().is_some(), "it waits");
    let made = change.namespace_after.unwrap();
    assert_eq!(made.terms.key_check, Some(tagged(7, 8)));
}
