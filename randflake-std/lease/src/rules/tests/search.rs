//! The search for free node ids, and its hints.

use std::collections::{BTreeMap, BTreeSet};

use super::*;
use crate::rules::search::{Hints, Search, freed, released};
use crate::rules::{Before, Change, Entry, Key, Keys, NodeChange};

const LAST: u32 = (1 << 17) - 1;

type Texts = BTreeMap<Key, String>;

/// Node ids of the next read, and whether hints are among it.
fn next(search: &Search) -> Option<(Vec<(u32, u32)>, bool)> {
    let (mut nodes, mut has_hints) = (Vec::new(), false);
    for keys in search.next_keys()? {
        match keys {
            Keys::Nodes(range) => nodes.push(range.into_inner()),
            Keys::Hints(_) => has_hints = true,
            other => panic!("{other:?}"),
        }
    }
    Some((nodes, has_hints))
}

/// All node ids are leased but for some that never were.
fn texts(free: &[u32], hints: &[(u32, &str)]) -> Texts {
    let leased = (0..=5_000).filter(|node_id| !free.contains(node_id));
    let ends = leased.map(|node_id| (node_id, NOW + 100 + u64::from(node_id)));
    let leased = ends.map(|(node_id, end)| (Key::Node(node_id), lease(node_id, 0, end).to_text()));
    let hints = hints
        .iter()
        .map(|(place, text)| (Key::Hint(*place), (*text).to_owned()));
    leased.chain(hints).collect()
}

/// Of so many node ids, from the first one on.
fn search(last: u32, wanted: usize) -> Search {
    Search::new(last, (0, LAST), wanted, &[], [0, 0])
}

fn first(search: &mut Search, texts: &Texts) {
    search.take_first(texts, NOW, &BTreeSet::new(), None);
}

/// Looks until it needs no more, and says how often.
fn finish(search: &mut Search, texts: &Texts) -> u32 {
    first(search, texts);
    let mut reads = 1;
    while search.next_keys().is_some() {
        search.take_next(texts);
        reads += 1;
    }
    reads
}

fn found(search: &Search) -> Vec<u32> {
    search.chosen().map(|(node_id, _)| node_id).collect()
}

/// A read of a part from a random place on, around the end of the range.
#[test]
fn reads_are_within_the_range_and_grow() {
    let begun =
        |last, within, random| next(&Search::new(last, within, 1, &[], [random, 0])).unwrap();
    assert_eq!(begun(255, (0, LAST), 77), (vec![(0, 255)], false));
    assert_eq!(begun(255, (5, 9), 77), (vec![(5, 9)], false));
    assert_eq!(begun(256, (0, LAST), 77), (vec![(77, 92)], true));
    assert_eq!(begun(1_023, (100, LAST), 5), (vec![(105, 120)], true));
    assert_eq!(begun(1_023, (100, LAST), 924 + 5), (vec![(105, 120)], true));
    assert_eq!(begun(1_023, (100, LAST), 908), (vec![(1_008, 1_023)], true));
    assert_eq!(
        begun(1_023, (100, LAST), 909),
        (vec![(1_009, 1_023), (100, 100)], true)
    );
    assert_eq!(
        begun(1_023, (100, 110), 3),
        (vec![(103, 110), (100, 102)], true)
    );
    assert_eq!(begun(1_023, (100, 100), 3), (vec![(100, 100)], true));
    assert_eq!(
        begun(1_023, (2_000, 3_000), 3),
        (vec![(1_023, 1_023)], true)
    );

    let texts = texts(&[], &[]);
    let reads = |wanted, count| {
        let mut search = search(LAST, wanted);
        first(&mut search, &texts);
        let reads = (0..count).map(|_| {
            let read = next(&search).unwrap();
            search.take_next(&texts);
            assert!(!read.1);
            read.0[0]
        });
        reads.collect::<Vec<_>>()
    };
    assert_eq!(reads(1, 3), [(16, 527), (528, 4_623), (4_624, 8_719)]);
    assert_eq!(reads(1_000, 2), [(16, 1_015), (1_016, 5_111)]);
    assert_eq!(reads(5_000, 1), [(16, 4_111)]);
}

#[test]
fn search_ends_with_enough_found_or_all_looked_at() {
    for (last, wanted, free, reads, missing) in [
        (1_023, 1, &[3][..], 1, 0),
        (1_023, 1, &[16], 2, 0),
        (1_023, 1, &[528], 3, 0),
        (1_023, 1, &[], 3, 1),
        (1_023, 2, &[3, 1_023], 3, 0),
        (1_023, 3, &[3, 600], 3, 1),
        (255, 2, &[3], 1, 1),
        (15, 1, &[], 1, 1),
    ] {
        let mut search = search(last, wanted);
        assert_eq!(finish(&mut search, &texts(free, &[])), reads, "{free:?}");
        assert_eq!((search.missing(), found(&search)), (missing, free.to_vec()));
    }
}

/// At the tick at which a lease ends its node id is free.
#[test]
fn expired_leases_are_free_known_ones_not_counted() {
    let mut texts = texts(&[7], &[]);
    let ended = lease(5, 0, NOW).to_text();
    texts.insert(Key::Node(5), ended.clone());
    texts.insert(Key::Node(6), lease(6, 0, NOW + 1).to_text());
    texts.insert(Key::Node(8), "damaged".to_owned());
    let mut search = Search::new(255, (0, LAST), 9, &[7], [0, 0]);
    first(&mut search, &texts);
    let chosen: Vec<_> = search.chosen().collect();
    assert_eq!(chosen, [(5, Some(&*ended)), (8, Some("damaged"))]);
}

/// From a random one on, so that clients which see the same do not all take the first.
#[test]
fn as_many_are_chosen_as_are_wanted() {
    let texts = texts(&[3, 5, 7, 9], &[]);
    for (wanted, random, chosen) in [
        (1, 0, &[3][..]),
        (1, 3, &[9]),
        (1, 4, &[3]),
        (3, 1, &[5, 7, 9]),
        (3, 2, &[3, 5, 7]),
        (4, 1, &[3, 5, 7, 9]),
        (5, 1, &[3, 5, 7, 9]),
    ] {
        let mut search = Search::new(255, (0, LAST), wanted, &[], [0, random]);
        first(&mut search, &texts);
        assert_eq!(found(&search), chosen, "{wanted}, {random}");
    }
}

/// As many leases must end as node ids are missing.
#[test]
fn a_search_says_when_enough_may_be_free() {
    let free_from = |wanted, free: &[u32], hints: &[(u32, &str)]| {
        let mut search = Search::new(1_023, (0, LAST), wanted, &[], [1_000, 0]);
        finish(&mut search, &texts(free, hints));
        search.free_from()
    };
    let end = |node_id| Some(NOW + 100 + node_id);
    assert_eq!(free_from(1, &[], &[]), end(0));
    assert_eq!(free_from(3, &[], &[]), end(2));
    assert_eq!(free_from(3, &[0, 700], &[]), end(1));
    assert_eq!(free_from(2_000, &[], &[]), end(1_023));
    assert_eq!(free_from(1, &[700], &[]), None);
    // Another has noted it: tick 15,000.
    assert_eq!(free_from(3, &[], &[(8, "bko:0:0:131071")]), Some(15_000));
}

/// Until that tick; in base 36, 10,000 is `7ps`.
#[test]
fn a_note_that_all_is_leased_ends_a_search() {
    for (note, reads) in [
        ("7pt:0:0:1023", 1),
        ("7ps:0:0:1023", 3),
        ("7pt:1:0:1023", 3),
    ] {
        let mut search = search(1_023, 1);
        assert_eq!(
            finish(&mut search, &texts(&[], &[(8, note)])),
            reads,
            "{note}"
        );
    }
    // What the first read has found is taken, and a hint is not followed then.
    let mut noted = search(1_023, 2);
    let texts = texts(&[3, 700], &[(8, "7pt:1:0:1023"), (0, "1:700:")]);
    assert_eq!(finish(&mut noted, &texts), 1);
    assert_eq!(found(&noted), [3]);
}

#[test]
fn hints_are_followed_if_the_first_read_has_too_few() {
    let ended = lease(600, 0, NOW).to_text();
    let in_use = lease(601, 0, NOW + 1).to_text();
    let hint = |node_id: u32, text: &str| format!("1:{node_id}:{text}");
    let seen = |end| World::new(&[]).has_leased(600, end).seen;
    let followed = |hint: &str, known: &[u32], doubted: &[u32], seen: Option<&Observed>| {
        let mut search = Search::new(1_023, (100, 800), 1, known, [0, 0]);
        let doubted = doubted.iter().copied().collect();
        search.take_first(&texts(&[], &[(0, hint)]), NOW, &doubted, seen);
        let hinted: Vec<_> = search.hinted().collect();
        assert_eq!(hinted, found(&search));
        assert_eq!(search.missing(), 1 - hinted.len());
        hinted == [600]
    };
    assert!(followed(&hint(600, ""), &[], &[], None));
    assert!(followed(&hint(600, &ended), &[], &[], None));
    assert!(followed(
        &hint(600, &ended),
        &[601],
        &[601],
        Some(&seen(NOW))
    ));
    for (text, known, doubted, seen) in [
        (hint(601, &in_use), &[][..], &[][..], None),
        (hint(600, "damaged"), &[], &[], None),
        (hint(600, ""), &[600], &[], None),
        (hint(600, ""), &[], &[600], None),
        (hint(600, ""), &[], &[], Some(&seen(NOW + 1))),
        // It was looked at, or is none of the range.
        (hint(105, ""), &[], &[], None),
        (hint(99, ""), &[], &[], None),
        (hint(801, ""), &[], &[], None),
        (hint(99, &in_use), &[], &[], None),
    ] {
        assert!(!followed(&text, known, doubted, seen), "{text}");
    }

    // Also where the first read goes around the end of the range.
    let mut around = Search::new(1_023, (100, 800), 1, &[], [695, 0]);
    first(&mut around, &texts(&[], &[(0, "1:105:")]));
    assert_eq!(around.missing(), 1);

    let mut enough = search(1_023, 1);
    first(&mut enough, &texts(&[3], &[(0, "1:600:")]));
    assert_eq!(found(&enough), [3]);
}

#[test]
fn what_is_read_is_known_better_than_by_a_hint() {
    for (free, expected) in [(&[][..], &[][..]), (&[600], &[600])] {
        let mut search = search(1_023, 2);
        let texts = texts(free, &[(0, "1:600:")]);
        first(&mut search, &texts);
        assert_eq!(search.hinted().collect::<Vec<_>>(), [600]);
        while search.next_keys().is_some() {
            search.take_next(&texts);
        }
        assert_eq!(found(&search), expected);
        assert_eq!(search.hinted().count(), 0);
    }
}

/// Only after more than two reads: what they have found, any client finds as fast.
#[test]
fn a_long_search_leaves_what_it_does_not_take() {
    let left = |wanted, free: &[u32]| {
        let mut search = search(LAST, wanted);
        finish(&mut search, &texts(free, &[]));
        let entries = search.changed_hints(|node_id| node_id == 1_000, 9);
        let texts = entries.into_iter().map(|entry| entry.after.unwrap());
        texts.collect::<Vec<_>>()
    };
    assert_eq!(left(1, &[1_000, 1_001]), ["9:1001:"]);
    assert_eq!(left(1, &[100, 101]), Vec::<String>::new());
    let mut taken = search(1_023, 1);
    first(&mut taken, &texts(&[], &[(0, "1:1000:")]));
    let entries = taken.changed_hints(|node_id| node_id == 1_000, 9);
    assert_eq!(entries[0].after.as_deref(), Some("9"));
    assert_eq!(entries.len(), 1);
}

#[test]
fn a_search_in_vain_is_noted_once() {
    let noted = |last, wanted, known: &[u32], free: &[u32], hints: &[(u32, &str)]| {
        let mut search = Search::new(last, (0, LAST), wanted, known, [300, 0]);
        finish(&mut search, &texts(free, hints));
        let entries = search.full_hint(&BTreeSet::new(), 9);
        let texts = entries.into_iter().map(|entry| entry.after.unwrap());
        texts.collect::<Vec<_>>()
    };
    // The first lease ends at tick 10,100, `7sk`.
    assert_eq!(noted(1_023, 1, &[], &[], &[]), ["7sk:0:0:1023"]);
    let nothing = Vec::<String>::new();
    assert_eq!(noted(255, 1, &[], &[], &[]), nothing);
    assert_eq!(noted(1_023, 2, &[], &[5], &[]), nothing);
    assert_eq!(noted(1_023, 1, &[5], &[], &[]), nothing);
    assert_eq!(noted(1_023, 1, &[], &[], &[(8, "7pt:0:0:1023")]), nothing);
}

/// In a namespace with hints.
#[test]
fn a_lease_that_ends_early_leaves_a_hint() {
    let leases = [(5, NOW + 59), (6, NOW + 60), (7, NOW + 61)];
    let mut nodes: Vec<_> = leases
        .map(|(node_id, end)| NodeChange {
            before: Some(lease(node_id, NOW, NOW + 60)),
            after: lease(node_id, NOW, end),
        })
        .into();
    nodes.push(NodeChange {
        before: None,
        after: lease(8, NOW, NOW + 60),
    });
    let change = Change {
        nodes,
        ..Change::none(&World::new(&[]).view)
    };
    let keys = |last| {
        freed(last, &change)
            .into_iter()
            .map(|entry| entry.key)
            .collect::<Vec<_>>()
    };
    assert_eq!(keys(256), [Key::Hint(5)]);
    assert_eq!(keys(255), []);
}

/// Where all clients search from one place, they lease the node ids from there on, around the end,
/// in a namespace of any size.
#[test]
fn a_search_chooses_from_where_it_begins() {
    for last in [255, 1_023] {
        let chosen = |from, free: &[u32], wanted| {
            let mut search = Search::new(last, (0, LAST), wanted, &[], [from, 0]);
            finish(&mut search, &texts(free, &[]));
            let chosen: Vec<_> = search.chosen().map(|(node_id, _)| node_id).collect();
            chosen
        };
        assert_eq!(chosen(200, &[5, 199, 200, 203], 1), [200]);
        assert_eq!(chosen(200, &[5, 199, 203], 1), [203]);
        assert_eq!(chosen(last - 1, &[3, last], 2), [last, 3]);
        assert_eq!(chosen(last + 1 + 200, &[5, 203], 1), [203]);
    }
}

/// The chance that the documents state: of all places where one store may begin beside another, so
/// many lead to a node id that both lease.
#[test]
fn young_stores_overlap_by_both_leases_less_one() {
    let last = 255;
    let leased = |from, count| {
        let mut search = Search::new(last, (0, LAST), count, &[], [from, 0]);
        first(&mut search, &Texts::new());
        found(&search)
    };
    for (one, other) in [(1, 1), (1, 5), (5, 1), (20, 30)] {
        let there = leased(77, one);
        let is_shared = |from| {
            leased(from, other)
                .iter()
                .any(|node_id| there.contains(node_id))
        };
        let shared = (0..=last).filter(|from| is_shared(*from)).count();
        assert_eq!(shared, one + other - 1, "{one} and {other}");
    }
}

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
    entries
        .into_iter()
        .map(|entry: Entry| match entry.key {
            Key::Hint(place) => (place, entry.before, entry.after.unwrap()),
            other => panic!("{other:?}"),
        })
        .collect()
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
fn note_of_a_full_range_empties_wrong_hints() {
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
