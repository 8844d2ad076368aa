//! Keys as numbers, and conditions of writes.

use super::*;
use crate::rules::{Before, Key, Keys, Removal, Write};

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
