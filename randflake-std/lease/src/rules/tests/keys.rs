//! Keys of records, conditions of writes, and the links of histories.

use randflake_core::{LayoutFields, Snowflake};

use super::*;
use crate::rules::history::{entry, hash, is_over, key, place};
use crate::rules::{Before, Key, Keys, NodeChange, Removal, StoreTime, Write};
use crate::types::PastLease;

const HALF: u64 = 1 << 63;

/// These are stored.
#[test]
fn a_key_is_two_numbers() {
    for (key, kind, number) in [
        (Key::Namespace, 0, 0),
        (Key::Counter, 1, 0),
        (Key::Node(7), 2, 7),
        (Key::Hint(u32::MAX), 4, u64::from(u32::MAX)),
        (Key::History(3, 0x1234), 5, 0x3_1234),
        (Key::History(u32::MAX, u16::MAX), 5, (1 << 48) - 1),
        (Key::Claim(9), 6, 9),
        (Key::Device(HALF - 1), 7, HALF - 1),
        (Key::Device(HALF), 8, 0),
        (Key::Device(u64::MAX), 8, HALF - 1),
    ] {
        assert_eq!(key.numbers(), (kind, number));
        assert_eq!(Key::of_numbers(kind, number), Some(key));
    }
    for (kind, number) in [
        (0, 1),
        (1, 1),
        (2, 1 << 32),
        (3, 0),
        (5, 1 << 48),
        (7, HALF),
        (8, HALF),
        (9, 0),
    ] {
        assert_eq!(Key::of_numbers(kind, number), None, "{kind}, {number}");
    }
}

#[test]
fn what_is_removed_has_a_guard_and_bounds() {
    let contents = Removal::Contents("record");
    assert_eq!(contents.guard(), Some("record"));
    assert_eq!(contents.bounds(), (Key::Node(0), Key::Device(u64::MAX)));
    assert_eq!(contents.kinds_and_numbers(), ([2, 8], [0, HALF - 1]));
    let history = Removal::History(3, 1..=2);
    assert_eq!(history.guard(), None);
    assert_eq!(history.kinds_and_numbers(), ([5, 5], [0x3_0001, 0x3_0002]));
    let each: Vec<_> = Keys::History(3, 1..=2).each().collect();
    assert_eq!(each, [Key::History(3, 1), Key::History(3, 2)]);
}

#[test]
fn a_write_is_allowed_in_its_window_if_it_has_one() {
    let is_allowed = |window| {
        let write = Write {
            window,
            ..Write::default()
        };
        [4, 5, 6, 7].map(|time| write.is_in_window(seconds(time)))
    };
    assert_eq!(is_allowed(None), [true; 4]);
    assert_eq!(
        is_allowed(Some((seconds(5), seconds(6)))),
        [false, true, true, false]
    );
}

#[test]
fn a_condition_is_on_the_very_text() {
    let there = [None, Some("a"), Some("b")];
    let allowed = |condition: &Before| there.map(|text| condition.allows(text));
    assert_eq!(allowed(&Before::Anything), [true; 3]);
    assert_eq!(allowed(&Before::read(None)), [true, false, false]);
    assert_eq!(
        allowed(&Before::read(Some("a".to_owned()))),
        [false, true, false]
    );
}

/// Of `00000005` and `text`, as `sha256sum` says.
#[test]
fn hash_is_half_of_that_of_node_id_and_text() {
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
