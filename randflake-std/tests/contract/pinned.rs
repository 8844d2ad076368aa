//! A node id that its holders choose.

use randflake_std::lease::{Grant, LeaseStore, Pinned, StoreError};

use super::{Backend, TTL, acquire, acquire_one, eight, record_of, ticks};

pub(crate) fn a_chosen_node_id_has_one_holder_at_a_time(backend: &impl Backend) {
    let orders = eight("orders");
    let pinned = |node_id| {
        let store = Pinned::open(&orders, node_id, |one| backend.open(one));
        store.unwrap()
    };
    let (mut first, mut second) = (pinned(5), pinned(5));
    let grant = acquire_one(&mut first, 1);
    assert_eq!(grant.node_id, 5);
    let refused = acquire(&mut second, 2, 1);
    assert!(
        matches!(refused, Err(StoreError::Exhausted { retry_in }) if retry_in <= ticks(TTL)),
        "{refused:?}"
    );
    assert_eq!(acquire_one(&mut pinned(7), 3).node_id, 7);
    assert_eq!(record_of(&mut second, 5).grant, grant);

    backend.pass(ticks(TTL / 2));
    let end = first.renew(&[grant], TTL).unwrap().ends[0].unwrap();
    assert!(end >= grant.end + TTL / 2);
    // Killed: it is free when the lease is over, and not before.
    backend.pass(ticks(TTL / 2));
    assert!(acquire(&mut second, 4, 1).is_err());
    backend.pass(ticks(TTL / 2));
    let next = acquire_one(&mut second, 5);
    assert_eq!(next.node_id, 5);
    assert!(next.start >= end && next.fencing_token > grant.fencing_token);
    assert_eq!(first.renew(&[grant], TTL).unwrap().ends, [None]);

    let unused = Grant {
        end: next.start,
        ..next
    };
    second.release(&[unused]).unwrap();
    assert_eq!(acquire_one(&mut first, 6).node_id, 5);
}
