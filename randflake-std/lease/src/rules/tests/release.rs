//! Releases: leases that end early.

use super::*;
use crate::rules::{Decision, release};
use crate::types::Loss;

fn record() -> NodeRecord {
    lease(5, NOW - 30, NOW + 30)
}

/// The outcome of a release of one lease, and what is written.
fn outcome(
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
            outcome(Some(&record()), lease),
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
        outcome(Some(&released), named(50)),
        (Ok(released.clone()), None)
    );
    for lease in [named(51), held(&record())] {
        assert_eq!(outcome(Some(&released), lease), (Err(Loss::Released), None));
    }
    // It is in use yet: the request is not one to release it, or has to be written.
    let (answer, written) = outcome(Some(&record()), named(50));
    assert_eq!(answer.as_ref().ok(), written.as_ref());
    assert_eq!(
        written.map(|after| (after.held, after.nonce)),
        Some((false, 50))
    );
}

#[test]
fn a_lease_that_a_copy_has_renewed_is_not_released() {
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
        outcome(Some(&by_copy), named.clone()),
        (contested.clone(), Some(marked.clone()))
    );
    assert_eq!(outcome(Some(&marked), named), (contested.clone(), None));
    // A process that ends tells nobody.
    assert_eq!(outcome(Some(&by_copy), held(&record())), (contested, None));
}

#[test]
fn what_the_store_does_not_have_is_not_released() {
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
        let outcome = outcome(there.as_ref(), held(&record()));
        assert_eq!(outcome, (Err(loss), None), "{there:?}");
    }
}
