//! Earlier leases of a node id.

use randflake_core::{LayoutFields, Snowflake};

use super::*;
use crate::rules::history::{entry, hash, is_over, key, place};
use crate::rules::{Before, Key, NodeChange, StoreTime};
use crate::types::PastLease;

/// Of `00000005` and `text`, as `sha256sum` says.
#[test]
fn a_hash_is_the_first_half_of_that_of_node_id_and_text() {
    assert_eq!(hash(5, "text"), 0xb3cc_657c_d8e5_1490_2235_b191_a430_5578);
}

#[test]
fn places_are_taken_again_in_turn() {
    for (count, place_of) in [(0, 0), (1, 1), (65_535, 65_535), (65_536, 0), (65_538, 2)] {
        assert_eq!(place(count), place_of);
        assert_eq!(key(5, count), Key::History(5, place_of));
    }
}

/// An acquire, unlike a renewal or a release, has a lease behind it.
#[test]
fn only_a_lease_that_is_followed_by_another_is_kept() {
    let former = NodeRecord {
        past: HistoryLink {
            count: 65_537,
            end: 1,
            hash: 2,
        },
        ..lease(5, NOW - 60, NOW)
    };
    let renewed = NodeRecord {
        end: NOW + 60,
        ..former.clone()
    };
    let next = NodeRecord {
        past: HistoryLink::behind(&former),
        ..lease(5, NOW, NOW + 60)
    };
    assert_eq!((next.past.count, next.past.end), (65_538, NOW));
    assert_eq!(next.past.hash, hash(5, &former.to_text()));
    let change = |before: Option<&NodeRecord>, after: &NodeRecord| NodeChange {
        before: before.cloned(),
        after: after.clone(),
    };
    assert!(entry(&change(None, &next)).is_none());
    assert!(entry(&change(Some(&former), &renewed)).is_none());
    let entry = entry(&change(Some(&former), &next)).unwrap();
    assert_eq!(
        (entry.key, entry.before),
        (Key::History(5, 1), Before::Anything)
    );
    assert_eq!(entry.after, Some(former.to_text()));
}

/// By the ticks of the layout.
#[test]
fn a_lease_is_kept_for_400_days() {
    let minutes = LayoutFields::in_order([30, 4, 4], 1_700_000_000_000, 60_000);
    for (spec, kept) in [
        (SPEC, 400 * 24 * 3_600),
        (LayoutSpec::new(minutes).unwrap(), 400 * 24 * 60),
        (Snowflake::SPEC, 400 * 24 * 3_600 * 1_000),
    ] {
        let record = NodeRecord {
            past: HistoryLink {
                end: NOW,
                ..HistoryLink::default()
            },
            ..lease(5, NOW, NOW + 60)
        };
        let is_over = |tick| {
            let unix = Duration::from_millis(spec.unix_ms(tick));
            is_over(&record, StoreTime::at(unix, spec).unwrap(), spec.tick_ms())
        };
        assert!(!is_over(NOW + kept));
        assert!(is_over(NOW + kept + 1));
    }
}

#[test]
fn a_past_lease_says_whether_it_was_released() {
    for held in [true, false] {
        let record = NodeRecord {
            held,
            ..lease(5, NOW, NOW + 60)
        };
        assert_eq!(PastLease::from(record).is_released, !held);
    }
}
