//! What a holder makes of the record of its lease.

use super::*;
use crate::types::Loss;

/// The holder's last write has serial 5 and nonce 50; the outcome of a later one with nonce 60 is not known.
fn tried(record: &NodeRecord) -> CurrentLease {
    CurrentLease {
        tried: vec![60],
        ..held(record)
    }
}

fn written(serial: u64, nonce: u64) -> NodeRecord {
    NodeRecord {
        serial,
        nonce,
        ..lease(5, NOW, NOW + 60)
    }
}

#[test]
fn a_write_is_the_holder_s_by_serial_and_nonce_or_by_a_later_try() {
    let lease = tried(&written(5, 50));
    for (serial, nonce, is_own, is_copy) in [
        (5, 50, true, false),
        (6, 60, true, false),
        (9, 60, true, false),
        // The store has given the serial to a copy.
        (5, 60, false, true),
        (5, 51, false, true),
        (6, 50, false, true),
        (6, 61, false, true),
        // It has gone back.
        (4, 50, false, false),
        (4, 60, false, false),
    ] {
        let record = written(serial, nonce);
        let at = format!("{serial}, {nonce}");
        assert_eq!(lease.wrote(&record), is_own, "{at}");
        let loss = lease.loss(&World::new([&record]).view);
        assert_eq!(loss, is_copy.then_some(Loss::Contested), "{at}");
        // Who continues for another takes every write for its own.
        let another = CurrentLease {
            written: None,
            ..lease.clone()
        };
        assert!(another.wrote(&record), "{at}");
        assert_eq!(another.loss(&World::new(&[record]).view), None, "{at}");
    }
}

#[test]
fn a_request_is_repeated_if_its_nonce_is_that_of_the_holder_s_last_write() {
    for (next, nonce, is_repeated) in [
        (Some(60), 60, true),
        (Some(61), 60, false),
        (None, 60, false),
        (Some(61), 61, false),
    ] {
        let lease = CurrentLease {
            next,
            ..tried(&written(5, 50))
        };
        assert_eq!(
            lease.repeats(&written(6, nonce)),
            is_repeated,
            "{next:?}, {nonce}"
        );
    }
}

#[test]
fn a_lease_is_lost_without_a_clock_if_it_was_released_or_followed() {
    let grant = written(5, 50);
    let end = grant.end;
    let another = |start, fencing_token| NodeRecord {
        start,
        fencing_token,
        token: Token::from_bytes([2; 16]),
        ..grant.clone()
    };
    let released = NodeRecord {
        held: false,
        ..written(6, 61)
    };
    for (record, loss) in [
        (grant.clone(), None),
        (released, Some(Loss::Released)),
        (another(end, grant.fencing_token + 1), Some(Loss::Expired)),
        // It overlaps, or is older: the store has forgotten this one.
        (another(end - 1, grant.fencing_token + 1), None),
        (another(end, grant.fencing_token), None),
        (another(end, grant.fencing_token - 1), None),
    ] {
        let world = World::new([&record]);
        assert_eq!(held(&grant).loss(&world.view), loss, "{record:?}");
    }
    assert_eq!(held(&grant).loss(&World::new(&[]).view), None);
}

/// By fencing token and token both.
#[test]
fn a_record_is_of_one_grant() {
    let record = lease(5, NOW, NOW + 60);
    assert!(record.is_of(&record.grant()));
    for other in [
        NodeRecord {
            fencing_token: NOW + 1,
            ..record.clone()
        },
        NodeRecord {
            token: Token::from_bytes([2; 16]),
            ..record.clone()
        },
    ] {
        assert!(!record.is_of(&other.grant()));
    }
}
