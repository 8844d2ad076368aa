//! Checks of leases between renewals, which write nothing.

use super::*;
use crate::rules::{LeaseCheck, check};
use crate::types::Loss;

const TTL: u64 = 60;

fn record() -> NodeRecord {
    lease(5, NOW - 30, NOW + 30)
}

fn checked(world: &World, leases: &[CurrentLease]) -> LeaseCheck {
    check(&world.view, leases, TTL, &world.caller())
}

#[test]
fn check_finds_renewable_leases_and_lost_ones() {
    let there = record();
    let mut older = lease(6, NOW - 30, NOW + 30);
    older.serial += 1;
    let world = World::new(&[there.clone(), lease(6, NOW - 30, NOW + 20)]);
    let same = checked(&world, &[held(&there)]);
    assert!(same.is_same() && same.losses == [None]);
    // The store has gone back to before the last renewal, or the record is gone.
    for lost in [older, lease(7, NOW - 30, NOW + 30)] {
        let check = checked(&world, &[held(&there), held(&lost)]);
        assert_eq!(check.losses, [None, Some(Loss::Forgotten)]);
        assert!(!check.is_same());
    }
}

#[test]
fn check_is_urgent_if_a_renewal_writes_or_is_refused() {
    let same = World::new(&[record()]);
    let mut another_engine = World::new(&[record()]);
    another_engine.view.continuity.fingerprint = "another".to_owned();
    let mut fewer_writes = World::new(&[record()]).has_seen(namespace(), NOW - 1);
    fewer_writes.namespace().writes -= 1;
    let mut at_fault = World::new(&[record()]);
    at_fault.view.continuity.fault = Some("fsync=off".to_owned());
    for (world, is_urgent) in [
        (same, false),
        (another_engine, true),
        (fewer_writes, true),
        (at_fault, true),
    ] {
        let check = checked(&world, &[held(&record())]);
        assert_eq!((check.is_urgent, check.is_same()), (is_urgent, !is_urgent));
        assert_eq!(check.losses, [None], "the lease itself is there");
    }
}

#[test]
fn all_are_lost_in_a_missing_or_other_namespace() {
    let gone = World::missing().has_seen(namespace(), NOW - 1);
    let mut another = World::new(&[record()]).has_seen(namespace(), NOW - 1);
    another.namespace().namespace_nonce += 1;
    for world in [gone, another] {
        let check = checked(&world, &[held(&record())]);
        assert_eq!(check.losses, [Some(Loss::Forgotten)]);
    }
}
