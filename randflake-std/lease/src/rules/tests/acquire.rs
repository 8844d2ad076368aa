//! Acquires: the node ids that are granted.

use super::*;
use crate::rules::{Acquire, Change, Decision, acquire};
use crate::types::{AcquireRequest, NodeIds, StoreError};

const ALL: (u32, u32) = (0, u32::MAX);
const LAST: u32 = (1 << 17) - 1;
const TTL: u64 = 60;
const TRIED: u64 = 50;

fn request(nodes: NodeIds<'_>) -> AcquireRequest<'_> {
    AcquireRequest {
        token: token(),
        holder: "holder",
        nodes,
        ttl: TTL,
    }
}

fn decide(
    world: &World,
    nodes: NodeIds<'_>,
    tried: &[u64],
    within: (u32, u32),
) -> Decision<Vec<NodeRecord>> {
    let request = request(nodes);
    let asked = Acquire {
        request,
        tried,
        within,
    };
    acquire(&world.view, &asked, &world.caller())
}

/// What is granted, which is also what is written.
fn granted(decision: Decision<Vec<NodeRecord>>) -> Result<Vec<NodeRecord>, StoreError> {
    let Decision { change, answer } = decision;
    let written: Vec<_> = change.nodes.into_iter().map(|node| node.after).collect();
    assert_eq!(written, answer.as_deref().unwrap_or_default());
    answer
}

fn node_ids(world: &World, nodes: NodeIds<'_>, within: (u32, u32)) -> Vec<u32> {
    let granted = granted(decide(world, nodes, &[], within)).unwrap();
    granted.iter().map(|record| record.node_id).collect()
}

fn retry_in(world: &World, nodes: NodeIds<'_>, within: (u32, u32)) -> Duration {
    match granted(decide(world, nodes, &[], within)) {
        Err(StoreError::Exhausted { retry_in }) => retry_in,
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_lease_begins_now_behind_the_former_one() {
    let former = NodeRecord {
        fencing_token: NOW + 5,
        form: Form {
            tail: ":later".to_owned(),
            ..Form::default()
        },
        ..lease(5, NOW - 60, NOW)
    };
    let first = NodeRecord {
        node_id: 6,
        end: NOW + TTL,
        fencing_token: NOW,
        serial: 1,
        nonce: NONCE,
        ..lease(6, NOW, NOW + TTL)
    };
    let next = NodeRecord {
        node_id: 5,
        fencing_token: NOW + 6,
        past: HistoryLink::behind(&former),
        form: former.form.clone(),
        ..first.clone()
    };
    let world = World::new([&former]).with_unleased(&[6]);
    let decision = decide(&world, NodeIds::Any(2), &[], ALL);
    let before: Vec<_> = decision
        .change
        .nodes
        .iter()
        .map(|node| &node.before)
        .collect();
    assert_eq!(before, [&Some(former), &None]);
    assert_eq!(granted(decision).unwrap(), [next, first]);
}

#[test]
fn node_ids_are_granted_in_order_all_or_none() {
    let world = World::new(&[]).with_unleased(&[7, 5]);
    assert_eq!(node_ids(&world, NodeIds::Any(2), ALL), [5, 7]);
    assert_eq!(node_ids(&world, NodeIds::Any(1), ALL), [7]);
    assert_eq!(
        retry_in(&world, NodeIds::Any(3), ALL),
        Duration::from_millis(1)
    );
}

/// An engine may offer any.
#[test]
fn only_what_was_asked_for_is_granted() {
    let world = World::new(&[]).with_unleased(&[4, 5, LAST]);
    assert_eq!(node_ids(&world, NodeIds::Any(1), (5, 9)), [5]);
    assert_eq!(node_ids(&world, NodeIds::These(&[5]), ALL), [5]);
    assert_eq!(node_ids(&world, NodeIds::These(&[LAST]), ALL), [LAST]);
    assert_eq!(node_ids(&world, NodeIds::These(&[5]), (5, 5)), [5]);
    assert_eq!(node_ids(&world, NodeIds::Any(1), (5, 5)), [5]);
    let twice = World::new(&[]).with_unleased(&[5, 5, 7]);
    assert_eq!(node_ids(&twice, NodeIds::Any(2), ALL), [5, 7]);
}

/// The soonest end for any node ids, unless the engine has looked at more of them; the latest one
/// for chosen ones.
#[test]
fn who_finds_too_few_is_told_when_to_come_again() {
    let leases = [
        lease(4, NOW - 60, NOW),
        lease(5, NOW - 60, NOW + 30),
        lease(6, NOW - 60, NOW + 40),
    ];
    let mut world = World::new(&leases);
    for (nodes, least) in [
        (NodeIds::Any(2), 30),
        (NodeIds::These(&[4, 5, 6]), 40),
        (NodeIds::These(&[6, 5]), 40),
    ] {
        assert_eq!(retry_in(&world, nodes, ALL), seconds(least), "{nodes:?}");
    }
    world.view.free_from = Some(NOW + 35);
    assert_eq!(retry_in(&world, NodeIds::Any(2), ALL), seconds(35));
}

#[test]
fn node_id_leased_far_ahead_is_not_waited_for() {
    const DAY: u64 = 24 * 3_600;
    let is_ahead = |end, within| {
        let world = World::new(&[lease(5, NOW - 60, end)]);
        match granted(decide(&world, NodeIds::Any(1), &[], within)).unwrap_err() {
            StoreError::LeaseAhead { ends, ends_in } => {
                assert_eq!((ends, ends_in), (unix(end), seconds(end - NOW)));
                true
            }
            StoreError::Exhausted { retry_in } => {
                assert_eq!(retry_in, seconds(end - NOW));
                false
            }
            other => panic!("{other}"),
        }
    };
    assert!(!is_ahead(NOW + 1, (5, 5)));
    assert!(!is_ahead(NOW + SPAN + DAY, (5, 5)));
    assert!(is_ahead(NOW + SPAN + DAY + 1, (5, 5)));
    assert!(!is_ahead(NOW + SPAN + DAY + 1, (5, 6)));
}

#[test]
fn earlier_grant_is_claimed_under_a_new_nonce() {
    let tried = lease(5, NOW - 10, NOW + 1);
    let claimed = |record: &NodeRecord| NodeRecord {
        serial: 6,
        nonce: NONCE,
        capabilities: 2,
        ..record.clone()
    };
    let another = lease(6, NOW - 10, NOW + 50);
    let mut world = World::new([&tried, &another]).with_unleased(&[7, 8]);
    world.capabilities = 2;
    let claims = |count| granted(decide(&world, NodeIds::Any(count), &[9, TRIED], ALL)).unwrap();
    assert_eq!(claims(1), [claimed(&tried)]);
    assert_eq!(claims(2), [claimed(&tried), claimed(&another)]);

    // Too few of them: all is granted anew.
    world.view.nodes.remove(0);
    let granted = granted(decide(&world, NodeIds::Any(2), &[TRIED], ALL)).unwrap();
    let grants: Vec<_> = granted
        .iter()
        .map(|grant| (grant.node_id, grant.serial))
        .collect();
    assert_eq!(grants, [(7, 1), (8, 1)]);
}

#[test]
fn nothing_else_is_claimed() {
    let tried = lease(5, NOW - 10, NOW + 1);
    for record in [
        NodeRecord {
            held: false,
            ..tried.clone()
        },
        NodeRecord {
            token: Token::from_bytes([2; 16]),
            ..tried.clone()
        },
        NodeRecord {
            nonce: TRIED + 1,
            ..tried.clone()
        },
    ] {
        let world = World::new(&[record]);
        let refused = granted(decide(&world, NodeIds::Any(1), &[TRIED], ALL)).unwrap_err();
        assert!(
            matches!(refused, StoreError::Exhausted { .. }),
            "{refused:?}"
        );
    }
    let ended = World::new(&[NodeRecord { end: NOW, ..tried }]);
    let granted = granted(decide(&ended, NodeIds::Any(1), &[TRIED], ALL)).unwrap();
    assert_eq!((granted[0].start, granted[0].serial), (NOW, 1));
}

/// The store offers as free what this process has leased.
#[test]
fn a_forgotten_own_lease_closes_the_namespace() {
    let world = World::new(&[])
        .with_unleased(&[4, 5])
        .has_seen(namespace(), NOW)
        .has_leased(5, NOW + 1);
    assert_eq!(node_ids(&world, NodeIds::These(&[4]), ALL), [4]);
    let Decision { change, answer } = decide(&world, NodeIds::These(&[5]), &[], ALL);
    let Err(StoreError::Quarantined { quarantine, .. }) = answer else {
        panic!("{answer:?}");
    };
    assert_eq!(quarantine.cause, QuarantineCause::Lost);
    let Change {
        namespace_after,
        nodes,
        ..
    } = change;
    assert_eq!(namespace_after.unwrap().quarantine, NOW + SPAN);
    assert_eq!(nodes.len(), 0);

    let ended = World::new(&[]).with_unleased(&[5]).has_leased(5, NOW);
    assert_eq!(node_ids(&ended, NodeIds::Any(1), ALL), [5]);
}

#[test]
fn a_request_is_refused_by_what_is_wrong() {
    let world = World::new(&[]).with_unleased(&[5, 6, 7]);
    let range = (5, 6);
    let any = NodeIds::Any;
    for (nodes, within, message) in [
        (any(0), ALL, "0 node ids asked for: 1 to 131072 are allowed"),
        (any(3), range, "3 node ids asked for: 1 to 2 are allowed"),
        (any(1), (7, 6), "1 node ids asked for: 1 to 0 are allowed"),
        (
            any(2),
            (5, 5),
            "one node id is leased here, 5: no other and no more can be",
        ),
        (
            any(2),
            (LAST, u32::MAX),
            "one node id is leased here, 131071: no other and no more can be",
        ),
        (
            NodeIds::These(&[6]),
            (5, 5),
            "one node id is leased here, 5: no other and no more can be",
        ),
        (
            NodeIds::These(&[6, 7]),
            range,
            "node id 7 is not one of those that may be leased here: 5 to 6 are",
        ),
        (
            NodeIds::These(&[LAST]),
            range,
            "node id 131071 is not one of those that may be leased here: 5 to 6 are",
        ),
        (
            NodeIds::These(&[LAST + 1]),
            range,
            "node id 131072 is out of range: 0 to 131071 are allowed",
        ),
        (
            NodeIds::These(&[5, LAST + 1]),
            ALL,
            "node id 131072 is out of range: 0 to 131071 are allowed",
        ),
        (
            NodeIds::These(&[5, 6, 5]),
            ALL,
            "node id 5 is asked for twice: once is allowed",
        ),
    ] {
        let refused = granted(decide(&world, nodes, &[], within)).unwrap_err();
        assert!(matches!(refused, StoreError::Invalid(_)), "{refused:?}");
        assert_eq!(refused.to_string(), message);
    }
    assert_eq!(node_ids(&world, any(2), range), [5, 6]);
}

#[test]
fn a_holder_has_a_name_of_128_bytes_at_most_and_a_ttl() {
    let world = World::new(&[]).with_unleased(&[5]);
    let is_granted = |holder: &str, ttl| {
        let request = AcquireRequest {
            holder,
            ttl,
            ..request(NodeIds::Any(1))
        };
        let asked = Acquire {
            request,
            tried: &[],
            within: ALL,
        };
        match granted(acquire(&world.view, &asked, &world.caller())) {
            Ok(_) => true,
            Err(StoreError::Invalid(_)) => false,
            Err(other) => panic!("{other}"),
        }
    };
    assert!(is_granted(&"a".repeat(128), 60));
    assert!(!is_granted(&"a".repeat(129), 60));
    assert!(!is_granted("a\n", 60));
    assert!(is_granted("", 1));
    assert!(!is_granted("", 0));
    assert!(!is_granted("", 61));
}

#[test]
fn quarantine_and_older_programs_get_no_grant() {
    let tried = lease(5, NOW - 10, NOW + 30);
    let world = || World::new([&tried]).with_unleased(&[6]);
    let closed = world().quarantined(QuarantineCause::Lost, NOW + 1);
    let mut upgraded = world();
    upgraded.namespace().versions.holder = 2;
    for tried in [&[TRIED][..], &[]] {
        let refused = granted(decide(&closed, NodeIds::Any(1), tried, ALL)).unwrap_err();
        assert!(
            matches!(refused, StoreError::Quarantined { .. }),
            "{refused:?}"
        );
        let refused = granted(decide(&upgraded, NodeIds::Any(1), tried, ALL)).unwrap_err();
        assert!(
            matches!(refused, StoreError::FailedPrecondition(_)),
            "{refused:?}"
        );
    }
    let opened = world().quarantined(QuarantineCause::Lost, NOW);
    assert_eq!(node_ids(&opened, NodeIds::Any(1), ALL), [6]);
}
