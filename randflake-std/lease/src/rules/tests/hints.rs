//! Hints to free node ids, and notes that there are none.

use std::collections::{BTreeMap, BTreeSet};

use super::*;
use crate::rules::search::{Hints, released};
use crate::rules::{Before, Entry, Key, Keys};

fn hints(texts: &[(u32, &str)]) -> Hints {
    let texts = texts
        .iter()
        .map(|(place, text)| (Key::Hint(*place), (*text).to_owned()));
    let others = [
        (Key::Node(1), "9:9:".to_owned()),
        (Key::Namespace, String::new()),
    ];
    let texts: BTreeMap<_, _> = texts.chain(others).collect();
    Hints::read(&texts)
}

/// Place, condition and text of each entry.
fn parts(entries: impl IntoIterator<Item = Entry>) -> Vec<(u32, Before, String)> {
    let parts = |entry: Entry| match entry.key {
        Key::Hint(place) => (place, entry.before, entry.after.unwrap()),
        other => panic!("{other:?}"),
    };
    entries.into_iter().map(parts).collect()
}

fn put(place: u32, text: &str) -> (u32, Before, String) {
    (place, Before::Anything, text.to_owned())
}

#[test]
fn half_of_the_places_lead_to_node_ids() {
    assert_eq!(Hints::keys(), Keys::Hints(0..=15));
    let hints = hints(&[
        (0, "2:8:11:text"),
        (1, ""),
        (2, "-:10:"),
        (3, "3"),
        (4, "4:x:"),
        (5, "z:13"),
        (7, "1:15:"),
        (8, "1:16:"),
    ]);
    assert_eq!(
        hints.nodes().collect::<Vec<_>>(),
        [(8, Some("11:text")), (15, None)]
    );
}

/// It is about the hints as they are, and for each part of its range.
#[test]
fn a_range_is_full_until_a_hint_changes() {
    let full_until = |texts: &[(u32, &str)], range| hints(texts).full_until(range);
    let of_ten = [(0, "2:8:"), (7, "1"), (8, "a:3:10:20")];
    for (range, until) in [
        ((10, 20), Some(10)),
        ((11, 19), Some(10)),
        ((9, 20), None),
        ((10, 21), None),
        ((9, 21), None),
    ] {
        assert_eq!(full_until(&of_ten, range), until, "{range:?}");
    }
    assert_eq!(
        full_until(&[(0, "3:8:"), (7, "1"), (8, "a:3:10:20")], (10, 20)),
        None
    );
    assert_eq!(full_until(&[(0, "3:8:")], (10, 20)), None);
    let several = [
        (8, "a:0:10:20"),
        (9, "c:0:0:99"),
        (10, "b:0:10:20"),
        (11, "z:1:0:99"),
        (12, "z"),
    ];
    assert_eq!(full_until(&several, (10, 20)), Some(12));
}

/// The note is for the places as they are without the hints that were wrong.
#[test]
fn a_note_of_a_full_range_empties_hints_that_were_wrong() {
    let texts = [(0, "2:8:11:text"), (3, "4:11:"), (5, "1")];
    let noted = |range, gone: &[u32]| {
        let gone: BTreeSet<u32> = gone.iter().copied().collect();
        parts(hints(&texts).full(10, range, &gone, 9))
    };
    assert_eq!(noted((0, 131_071), &[]), [put(15, "a:7:0:131071")]);
    assert_eq!(noted((5, 9), &[7]), [put(12, "a:7:5:9")]);
    let emptied = |place, before: &str| (place, Before::Text(before.to_owned()), "9".to_owned());
    assert_eq!(
        noted((8, 9), &[8, 12]),
        [emptied(0, "2:8:11:text"), put(9, "a:e:8:9")]
    );
    assert_eq!(
        noted((8, 9), &[8, 11]),
        [
            emptied(0, "2:8:11:text"),
            emptied(3, "4:11:"),
            put(9, "a:j:8:9")
        ]
    );
    let after = hints(&[(0, "9"), (3, "4:11:"), (5, "1"), (9, "a:e:8:9")]);
    assert_eq!(after.full_until((8, 9)), Some(10));
}

#[test]
fn a_change_empties_hints_and_leaves_others() {
    let hints = hints(&[(0, "2:8:11:text"), (3, "4:11:"), (5, "1")]);
    let changed = |gone: u32, spare: &[u32]| {
        let spare = spare.iter().map(|node_id| (*node_id, None));
        parts(hints.changed(|node_id| node_id == gone, spare, 9))
    };
    assert_eq!(changed(7, &[]), []);
    assert_eq!(changed(8, &[]), [put(0, "9")]);
    assert_eq!(changed(8, &[13]), [put(0, "9"), put(5, "9:13:")]);
    assert_eq!(changed(8, &[16]), [put(0, "9:16:")]);
    let many: Vec<u32> = (20..40).collect();
    assert_eq!(changed(7, &many).len(), 8);
}

#[test]
fn a_release_leaves_its_node_id_and_record() {
    let records = [lease(21, NOW, NOW + 1), lease(24, NOW, NOW + 1)];
    let expected = [(0, &records[1]), (5, &records[0])].map(|(place, record)| {
        let text = format!("1e:{}:{}", record.node_id, record.to_text());
        put(place, &text)
    });
    assert_eq!(parts(released(records.iter())), expected);
}
