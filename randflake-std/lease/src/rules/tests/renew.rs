//! Renewals, releases and checks of leases.

use core::slice;

use super::*;
use crate::rules::{Decision, LeaseCheck, check, release, renew};
use crate::types::{Grant, Loss, StoreError};

const TTL: u64 = 60;

type Outcomes = Vec<Result<NodeRecord, Loss>>;

fn decide(world: &World, leases: &[CurrentLease]) -> Decision<Outcomes> {
    renew(&world.view, leases, TTL, &world.caller())
}

/// Of one lease, where nothing is written of the namespace.
fn outcome(world: &World, lease: CurrentLease) -> Result<NodeRecord, Loss> {
    let Decision { change, answer } = decide(world, &[lease]);
    assert!(change.namespace_after.is_none(), "{change:?}");
    answer.unwrap().remove(0)
}

fn losses(leases: &[Loss]) -> Outcomes {
    leases.iter().map(|loss| Err(*loss)).collect()
}

/// It lasts for half a minute more.
fn record() -> NodeRecord {
    lease(5, NOW - 30, NOW + 30)
}

fn renewed(record: &NodeRecord) -> NodeRecord {
    NodeRecord {
        end: NOW + TTL,
        serial: record.serial + 1,
        nonce: NONCE,
        ..record.clone()
    }
}

#[test]
fn a_lease_is_renewed_from_now_and_never_shortened() {
    let mut world = World::new(&[record(), lease(6, NOW - 30, NOW + 100)]);
    world.capabilities = 2;
    let records = [record(), lease(6, NOW - 30, NOW + 100)];
    let Decision { change, answer } = decide(&world, &records.each_ref().map(held));
    let after = [(0, NOW + TTL), (1, NOW + 100)].map(|(place, end)| NodeRecord {
        end,
        capabilities: 2,
        ..renewed(&records[place])
    });
    assert_eq!(answer.unwrap(), after.clone().map(Ok));
    let nodes: Vec<_> = change
        .nodes
        .into_iter()
        .map(|node| (node.before.unwrap(), node.after))
        .collect();
    assert_eq!(nodes, records.into_iter().zip(after).collect::<Vec<_>>());
    assert!(change.namespace_after.is_none());
}

#[test]
fn repeated_request_is_answered_and_confirmed() {
    let world = World::new(&[record()]);
    let named = |next| CurrentLease {
        next: Some(next),
        ..held(&record())
    };
    let Decision { change, answer } = decide(&world, &[named(50)]);
    assert_eq!(answer.unwrap(), [Ok(record())]);
    // It stays, but is no answer from a reading alone.
    assert!(matches!(&change.nodes[..], [node] if node.confirms() && node.after == record()));
    let after = NodeRecord {
        nonce: 51,
        ..renewed(&record())
    };
    assert_eq!(outcome(&world, named(51)), Ok(after));
}

#[test]
fn a_lease_that_has_ended_is_not_renewed() {
    for (end, is_renewed) in [(NOW + 1, true), (NOW, false), (NOW - 1, false)] {
        let record = lease(5, NOW - 30, end);
        let expected = if is_renewed {
            Ok(renewed(&record))
        } else {
            Err(Loss::Expired)
        };
        assert_eq!(outcome(&World::new([&record]), held(&record)), expected);
    }
}

/// It may have been granted to another, whom the store has forgotten too.
#[test]
fn quarantine_renews_leases_live_by_every_clock() {
    for (end, until, is_renewed) in [
        (NOW + SKEW + 1, NOW + 1, true),
        (NOW + SKEW, NOW + 1, false),
        (NOW + SKEW, NOW, true),
    ] {
        let record = lease(5, NOW - 30, end);
        let world = World::new([&record]).quarantined(QuarantineCause::Lost, until);
        assert_eq!(
            outcome(&world, held(&record)).is_ok(),
            is_renewed,
            "{end}, {until}"
        );
    }
}

/// What the store has instead, and whether the lease had ended.
#[test]
fn missing_lease_counts_as_forgotten_until_its_end() {
    let another = NodeRecord {
        fencing_token: NOW - 40,
        ..record()
    };
    let is_shorter = NodeRecord {
        end: NOW + 29,
        ..record()
    };
    let is_rewound = NodeRecord {
        serial: 4,
        nonce: 40,
        ..record()
    };
    let by_proxy = CurrentLease {
        written: None,
        ..held(&record())
    };
    for (there, lease) in [
        (None, held(&record())),
        (Some(another.clone()), held(&record())),
        (Some(another), by_proxy),
        (Some(is_shorter), held(&record())),
        (Some(is_rewound), held(&record())),
    ] {
        let world = World::new(&there);
        let Decision { change, answer } = decide(&world, slice::from_ref(&lease));
        assert_eq!(answer.unwrap(), losses(&[Loss::Forgotten]), "{there:?}");
        assert!(change.nodes.is_empty());
        let after = change.namespace_after.unwrap();
        assert_eq!(after.quarantine, NOW + SPAN);
        assert_eq!(
            (after.reason.since, after.reason.cause),
            (NOW, QuarantineCause::Lost)
        );

        let mut served = World::new(&there);
        served.seen.act_as_proxy();
        assert_eq!(outcome(&served, lease), Err(Loss::Forgotten));
    }
    for (end, is_forgotten) in [(NOW + 1, true), (NOW, false)] {
        let lease = held(&lease(5, NOW - 30, end));
        let Decision { change, answer } = decide(&World::new(&[]), &[lease]);
        let loss = if is_forgotten {
            Loss::Forgotten
        } else {
            Loss::Expired
        };
        assert_eq!(answer.unwrap(), losses(&[loss]));
        assert_eq!(change.namespace_after.is_some(), is_forgotten);
    }
}

#[test]
fn a_contested_lease_is_marked_once() {
    let by_copy = NodeRecord {
        nonce: 51,
        ..record()
    };
    let marked = NodeRecord {
        contested: true,
        ..by_copy.clone()
    };
    for (there, is_written) in [(&by_copy, true), (&marked, false)] {
        let world = World::new([there]);
        let Decision { change, answer } = decide(&world, &[held(&record())]);
        assert_eq!(answer.unwrap(), losses(&[Loss::Contested]));
        let nodes: Vec<_> = change
            .nodes
            .into_iter()
            .map(|node| (node.before.unwrap(), node.after))
            .collect();
        let expected = is_written.then(|| (by_copy.clone(), marked.clone()));
        assert_eq!(nodes, expected.into_iter().collect::<Vec<_>>());
    }
    let released = NodeRecord {
        held: false,
        ..record()
    };
    let Decision { change, .. } = decide(&World::new(&[released]), &[held(&record())]);
    assert!(change.is_empty());
}

#[test]
fn leases_of_a_dropped_namespace_count_as_release_of() {
    let mut world = World::new(&[record()]);
    world.view.namespace = Some(mark(NOW, NOW + 60));
    let Decision { change, answer } = decide(&world, &[held(&record()), held(&record())]);
    assert_eq!(answer.unwrap(), losses(&[Loss::Released; 2]));
    assert!(change.is_empty());
}

/// Whatever is there under its node ids.
#[test]
fn leases_of_a_recreated_namespace_are_forgotten() {
    let former = NamespaceRecord {
        namespace_nonce: 8,
        ..namespace()
    };
    let world = || World::new(&[record()]).has_seen(former.clone(), NOW - 10);
    let leases = [held(&record()), held(&lease(6, NOW - 30, NOW + 40))];
    for (world, until) in [
        (world(), NOW + 40),
        (world().has_leased(7, NOW + 50), NOW + 50),
    ] {
        let Decision { change, answer } = decide(&world, &leases);
        assert_eq!(answer.unwrap(), losses(&[Loss::Forgotten; 2]));
        let after = change.namespace_after.unwrap();
        assert_eq!((after.quarantine, after.namespace_nonce), (until, 7));
        assert!(change.nodes.is_empty());
    }
    let mut served = world();
    served.seen.act_as_proxy();
    let Decision { change, answer } = decide(&served, &leases);
    assert_eq!(answer.unwrap(), losses(&[Loss::Forgotten; 2]));
    assert!(change.is_empty());
}

/// Records of node ids that have outlasted it are nobody's.
#[test]
fn leases_of_a_namespace_that_is_gone_are_lost() {
    let gone = |end| {
        let known = lease(5, NOW - 30, end);
        let later = NodeRecord {
            end: NOW + 30,
            serial: 6,
            nonce: 60,
            ..known.clone()
        };
        let mut world = World::new(&[later]).has_seen(namespace(), NOW - 10);
        world.view.namespace = None;
        let lease = CurrentLease {
            tried: vec![60],
            ..held(&known)
        };
        let Decision { change, answer } = decide(&world, &[lease]);
        assert!(change.nodes.is_empty());
        let after = change.namespace_after.unwrap();
        assert_eq!(
            (after.namespace_nonce, after.quarantine),
            (ORIGIN, NOW + ASSUMED_SPAN)
        );
        answer.unwrap()
    };
    assert_eq!(gone(NOW + 1), losses(&[Loss::Forgotten]));
    assert_eq!(gone(NOW), losses(&[Loss::Expired]));
}

/// No end is written by it. What takes no clock to say is said for all leases, or for none.
#[test]
fn by_a_wrong_clock_only_losses_are_told() {
    let window = ClockWindow {
        least: unix(NOW + 1),
        most: unix(NOW + 9),
    };
    let by_copy = NodeRecord {
        nonce: 51,
        ..record()
    };
    let released = NodeRecord {
        held: false,
        ..lease(6, NOW - 30, NOW + 30)
    };
    let decide_late = |records: &[NodeRecord], leases: &[CurrentLease]| {
        let mut world = World::new(records);
        world.clock = Some(window);
        decide(&world, leases)
    };
    let [own, another] = [record(), released.clone()].map(|record| held(&record));
    let both = [by_copy.clone(), released.clone()];
    let Decision { change, answer } = decide_late(&both, &[own.clone(), another.clone()]);
    assert_eq!(answer.unwrap(), losses(&[Loss::Contested, Loss::Released]));
    assert!(change.namespace_after.is_none());
    let marked: Vec<_> = change
        .nodes
        .iter()
        .map(|node| node.after.contested)
        .collect();
    assert_eq!(marked, [true]);
    for (records, leases) in [
        (&both[..], &[][..]),
        (&[record(), released], &[own.clone(), another]),
        (&[], slice::from_ref(&own)),
    ] {
        let Decision { change, answer } = decide_late(records, leases);
        let refused = answer.unwrap_err();
        assert!(
            matches!(refused, StoreError::ClockSkew { .. }),
            "{refused:?}"
        );
        assert!(change.is_empty());
    }

    let mut gone = World::new(&[record()]).has_seen(namespace(), NOW - 10);
    gone.view.namespace = None;
    gone.clock = Some(window);
    let Decision { change, answer } = decide(&gone, &[own]);
    assert_eq!(answer.unwrap(), losses(&[Loss::Forgotten]));
    assert!(change.is_empty());
}

#[test]
fn a_ttl_that_is_too_long_is_refused() {
    for (ttl, is_allowed) in [(0, false), (1, true), (60, true), (61, false)] {
        let world = World::new(&[record()]);
        let decision = renew(&world.view, &[held(&record())], ttl, &world.caller());
        assert_eq!(decision.answer.is_ok(), is_allowed, "{ttl}");
        assert_eq!(decision.change.is_empty(), !is_allowed, "{ttl}");
    }
}

/// Which the upgrade may have looked for already.
#[test]
fn announced_upgrade_admits_no_older_holder() {
    let newer = NodeRecord {
        capabilities: 2,
        ..lease(6, NOW - 30, NOW + 30)
    };
    let former = CurrentLease {
        grant: Grant {
            fencing_token: 1,
            ..newer.grant()
        },
        ..held(&newer)
    };
    let [older, newer_lease] = [held(&record()), held(&newer)];
    for (announced, leases, is_refused) in [
        (1, vec![newer_lease.clone()], false),
        (2, vec![older.clone()], false),
        (2, vec![former], false),
        (2, vec![held(&lease(9, NOW - 30, NOW + 30))], false),
        (2, vec![newer_lease.clone()], true),
        (2, vec![older, newer_lease], true),
    ] {
        let mut world = World::new([&record(), &newer]);
        world.namespace().versions.holder = announced;
        let Decision { change, answer } = decide(&world, &leases);
        match answer {
            Ok(_) => assert!(!is_refused, "{leases:?}"),
            Err(StoreError::FailedPrecondition(_)) => assert!(is_refused && change.is_empty()),
            Err(other) => panic!("{other}"),
        }
    }
}

/// The outcome of a release of one lease, and what is written.
fn release_of(
    there: Option<&NodeRecord>,
    lease: CurrentLease,
) -> (Result<NodeRecord, Loss>, Option<NodeRecord>) {
    let world = World::new(there);
    let Decision { change, answer } = release(&world.view, &[lease], &world.caller());
    assert!(change.namespace_before.is_some() && change.namespace_after.is_none());
    let mut nodes = change.nodes.into_iter();
    let written = nodes.next().map(|node| {
        assert_eq!(node.before.as_ref(), there);
        node.after
    });
    assert!(nodes.next().is_none());
    (answer.unwrap().remove(0), written)
}

/// At the first tick that the holder did not use; never outside of the lease.
#[test]
fn lease_ends_where_its_holder_says_within_bounds() {
    for (asked, end) in [
        (NOW, NOW),
        (NOW + 30, NOW + 30),
        (NOW + 31, NOW + 30),
        (NOW - 30, NOW - 30),
        (NOW - 31, NOW - 30),
    ] {
        let mut lease = held(&record());
        lease.grant.end = asked;
        let after = NodeRecord {
            end,
            serial: 6,
            nonce: NONCE,
            held: false,
            ..record()
        };
        assert_eq!(
            release_of(Some(&record()), lease),
            (Ok(after.clone()), Some(after))
        );
    }
}

/// `next` is the nonce that the request names.
#[test]
fn repeated_release_is_answered_without_a_write() {
    let released = NodeRecord {
        held: false,
        ..record()
    };
    let named = |next| CurrentLease {
        next: Some(next),
        ..held(&record())
    };
    assert_eq!(
        release_of(Some(&released), named(50)),
        (Ok(released.clone()), None)
    );
    for lease in [named(51), held(&record())] {
        assert_eq!(
            release_of(Some(&released), lease),
            (Err(Loss::Released), None)
        );
    }
    // It is in use yet: the request is not one to release it, or has to be written.
    let (answer, written) = release_of(Some(&record()), named(50));
    assert_eq!(answer.as_ref().ok(), written.as_ref());
    assert_eq!(
        written.map(|after| (after.held, after.nonce)),
        Some((false, 50))
    );
}

#[test]
fn a_lease_that_a_copy_has_renewed_is_not_release_of() {
    let by_copy = NodeRecord {
        nonce: 51,
        ..record()
    };
    let marked = NodeRecord {
        contested: true,
        ..by_copy.clone()
    };
    let named = CurrentLease {
        next: Some(60),
        ..held(&record())
    };
    let contested = Err(Loss::Contested);
    assert_eq!(
        release_of(Some(&by_copy), named.clone()),
        (contested.clone(), Some(marked.clone()))
    );
    assert_eq!(release_of(Some(&marked), named), (contested.clone(), None));
    // A process that ends tells nobody.
    assert_eq!(
        release_of(Some(&by_copy), held(&record())),
        (contested, None)
    );
}

#[test]
fn what_the_store_does_not_have_is_not_release_of() {
    let another = |start| NodeRecord {
        start,
        fencing_token: NOW + 30,
        token: Token::from_bytes([2; 16]),
        ..record()
    };
    let is_rewound = NodeRecord {
        serial: 4,
        nonce: 40,
        ..record()
    };
    for (there, loss) in [
        (None, Loss::Forgotten),
        (Some(another(NOW + 29)), Loss::Forgotten),
        (Some(another(NOW + 30)), Loss::Expired),
        (Some(is_rewound), Loss::Forgotten),
    ] {
        let answer = release_of(there.as_ref(), held(&record()));
        assert_eq!(answer, (Err(loss), None), "{there:?}");
    }
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
