//! History of leases: changes show, and old ones are removed.

use randflake_lease::unstable::rules::{Key, NodeRecord, VERSION};
use randflake_lease::{Explanation, History, MAX_SKEW, NodeIds, PastLease, UnknownCause};

use super::world::{TTL, World, acquire};

const NODE: u32 = 3;
const TICKS_PER_DAY: u64 = 86_400;

fn history(world: &mut World) -> History {
    world.store.history().read(NODE..=NODE).unwrap()
}

/// When its leases begin.
fn starts(history: &History) -> Vec<u64> {
    let starts = history.leases().map(|lease| lease.record.grant.start);
    starts.collect()
}

/// So many leases of one node id, one after the other.
fn lease(world: &mut World, count: usize) {
    for _ in 0..count {
        world.pass(2 * TTL);
        acquire(&mut world.store, NodeIds::These(&[NODE])).unwrap();
    }
}

fn places(world: &World) -> Vec<Key> {
    let texts = &world.map.state().texts;
    let past = texts.keys().filter(|key| matches!(key, Key::History(..)));
    past.copied().collect()
}

#[test]
fn a_lease_that_is_changed_or_removed_is_noticed() {
    let mut world = World::new(3, 0.0, 1);
    // The first one of all may have been of this node id.
    let begun = history(&mut world).leases().count();
    lease(&mut world, 300);
    let untouched = history(&mut world);
    let count = untouched.leases().count();
    assert_eq!((count, untouched.gaps()), (begun + 300, &[][..]));
    let places = places(&world);
    assert_eq!(places.len(), count - 1);
    for (nth, key) in places.into_iter().enumerate() {
        let text = world.map.state().texts.remove(&key).unwrap();
        let removed = history(&mut world);
        assert_eq!(removed.leases().count(), count - 1 - nth);
        assert!(!removed.gaps()[0].is_changed);

        let changed = text.replace("holder", "another");
        assert_ne!(changed, text);
        world.map.state().texts.insert(key, changed);
        let changed = history(&mut world);
        assert!(changed.gaps()[0].is_changed);
        // What stands before it is not said, what follows is.
        let starts = starts(&untouched);
        assert!(matches!(
            changed.explain(NODE, starts[nth]),
            Explanation::Unknown { .. }
        ));
        assert!(matches!(
            changed.explain(NODE, starts[nth + 1]),
            Explanation::Held(_)
        ));
        world.map.state().texts.insert(key, text);
    }
}

#[test]
fn a_latest_lease_that_is_removed_is_noticed() {
    let mut world = World::new(3, 0.0, 1);
    lease(&mut world, 3);
    let untouched = history(&mut world);
    let starts = starts(&untouched);
    let removed = world.map.state().texts.remove(&Key::Node(NODE));
    assert!(removed.is_some());
    let told = history(&mut world);
    assert_eq!(told.gaps().len(), 1);
    for start in &starts {
        // Somebody did.
        let outcome = told.explain(NODE, *start);
        assert!(
            matches!(outcome, Explanation::Unknown { .. }),
            "{outcome:?}"
        );
    }
    // Also once the node id is leased again.
    lease(&mut world, 1);
    let told = history(&mut world);
    let latest = told.leases().next().unwrap().record.grant.start;
    assert!(matches!(told.explain(NODE, latest), Explanation::Held(_)));
    assert!(matches!(
        told.explain(NODE, starts[0]),
        Explanation::Unknown { .. }
    ));
    // Nobody has removed anything of the others.
    assert_eq!(
        world
            .store
            .history()
            .read(NODE + 1..=NODE + 1)
            .unwrap()
            .gaps(),
        []
    );
}

#[test]
fn leases_are_removed_400_days_after_their_end() {
    let mut world = World::new(3, 0.0, 1);
    lease(&mut world, 150);
    let oldest = starts(&history(&mut world))[0];
    world.pass(401 * TICKS_PER_DAY);
    lease(&mut world, 64);
    let kept = history(&mut world);
    assert_eq!(kept.gaps(), []);
    assert!(kept.leases().count() <= 128, "{}", kept.leases().count());
    assert!(places(&world).len() < 128);
    assert!(matches!(
        kept.explain(NODE, oldest),
        Explanation::Unknown { .. }
    ));
    // And none that is younger.
    world.pass(398 * TICKS_PER_DAY);
    lease(&mut world, 64);
    assert!(history(&mut world).leases().count() >= 128);
}

#[test]
fn the_last_65536_leases_stay_until_they_are_old() {
    const KEPT: usize = 1 << 16;
    let mut world = World::new(3, 0.0, 1);
    lease(&mut world, 1);
    let pushed_out = starts(&history(&mut world))[0];
    // Often looked for old ones, and none is.
    lease(&mut world, KEPT + 128);
    let history = history(&mut world);
    assert_eq!(history.gaps(), []);
    // And the one that is held.
    assert_eq!(history.leases().count(), KEPT + 1);

    // Of all of them, one is found by reading a few.
    let reads = world.map.state().reads;
    let texts = world.map.state().texts_read;
    let all: Vec<_> = history.leases().collect();
    let mut asked = 0;
    for lease in all.iter().step_by(97) {
        for tick in [lease.record.grant.start - 1, lease.record.grant.end - 1] {
            let explained = world.store.history().explain(NODE, tick).unwrap();
            assert_eq!(explained.explanation, history.explain(NODE, tick));
            assert_eq!(explained.gap, None);
            asked += 1;
        }
    }
    // The namespace's record, and seventeen steps.
    let state = world.map.state();
    assert!(state.reads - reads <= 18 * asked);
    assert!(state.texts_read - texts <= 18 * asked);
    drop(state);

    // That a lease had to go is told.
    let explained = world.store.history().explain(NODE, pushed_out).unwrap();
    assert_eq!(explained.explanation, history.explain(NODE, pushed_out));
    assert!(
        matches!(
            explained.explanation,
            Explanation::Unknown { known_from, cause: UnknownCause::Replaced }
                if known_from <= all[0].record.grant.start && known_from > pushed_out
        ),
        "{explained:?}"
    );
}

/// Whatever is removed or changed: a lease is told as it was granted, or that it is not known;
/// never that it was not there.
#[test]
fn an_explanation_is_not_misled() {
    let mut world = World::new(3, 0.0, 1);
    lease(&mut world, 70);
    let untouched = history(&mut world);
    let granted: Vec<_> = untouched.leases().cloned().collect();
    let places = places(&world);
    let mut named = 0;
    for (nth, key) in places.into_iter().enumerate() {
        let text = world.map.state().texts.remove(&key).unwrap();
        // One that cannot be read, and one that can.
        let changed = ["another", "folder"].map(|name| Some(text.replace("holder", name)));
        let [damaged, other] = changed;
        for touched in [None, damaged, other] {
            if let Some(touched) = touched {
                world.map.state().texts.insert(key, touched);
            }
            // The one that made the namespace was released at once, and may be of this node id.
            let is_held = |lease: &&PastLease| lease.record.grant.start < lease.record.grant.end;
            for lease in granted.iter().filter(is_held) {
                let tick = lease.record.grant.start;
                let explained = world.store.history().explain(NODE, tick).unwrap();
                match explained.explanation {
                    Explanation::Held(found) => assert_eq!(found, *lease),
                    Explanation::Unknown { cause, .. } => {
                        assert_eq!(cause, UnknownCause::Gap);
                        assert!(explained.gap.is_some());
                        assert!(tick <= granted[nth].record.grant.start);
                    }
                    other => panic!("{other:?}"),
                }
            }
            // One whose predecessor alone is another is known: it is the one after it that vouches
            // for it.
            let there = world.map.state().texts.get(&key).cloned();
            let is_readable = there.is_some_and(|there| there.contains("folder"));
            if let Some(after) = granted.get(nth + 1).filter(|_| is_readable) {
                let explained = world
                    .store
                    .history()
                    .explain(NODE, after.record.grant.start)
                    .unwrap();
                let is_latest = nth + 2 == granted.len();
                assert!(is_latest || explained.gap.is_none(), "{nth}");
            }
            // The one that was touched is always named.
            let explained = world
                .store
                .history()
                .explain(NODE, granted[nth].record.grant.start);
            named += usize::from(explained.unwrap().gap.is_some());
        }
        world.map.state().texts.insert(key, text);
    }
    assert_eq!(named, 3 * (granted.len() - 1));
}

#[test]
fn before_the_first_lease_nobody_had_the_node_id() {
    let mut world = World::new(3, 0.0, 1);
    lease(&mut world, 3);
    let history = history(&mut world);
    let first = starts(&history)[0];
    let explained = world.store.history().explain(NODE, first - 1).unwrap();
    assert_eq!(explained.explanation, history.explain(NODE, first - 1));
    assert!(!matches!(
        explained.explanation,
        Explanation::Unknown { .. }
    ));
}

#[test]
fn the_latest_lease_is_explained_by_its_record_alone() {
    let mut world = World::new(3, 0.0, 1);
    lease(&mut world, 70);
    let latest = *starts(&history(&mut world)).last().unwrap();
    for tick in [latest, latest + 1] {
        let before = world.map.state().texts_read;
        let explained = world.store.history().explain(NODE, tick).unwrap();
        assert!(matches!(explained.explanation, Explanation::Held(_)));
        assert_eq!(world.map.state().texts_read - before, 1);
    }
}

#[test]
fn an_early_lease_is_found_by_bisection() {
    let mut world = World::new(3, 0.0, 1);
    // The first one of all may have been of this node id, and is over.
    let begun = history(&mut world).leases().count();
    lease(&mut world, 200);
    let first = starts(&history(&mut world))[begun];
    let before = world.map.state().texts_read;
    let explained = world.store.history().explain(NODE, first).unwrap();
    assert!(matches!(explained.explanation, Explanation::Held(_)));
    let read = world.map.state().texts_read - before;
    assert!(read <= 10, "{read}");
}

#[test]
fn a_history_that_fills_all_places_has_no_gap() {
    let mut world = World::new(3, 0.0, 1);
    lease(&mut world, 1);
    // As after so many leases: the next one has all places behind it.
    {
        let mut state = world.map.state();
        let text = &state.texts[&Key::Node(NODE)];
        let mut record = NodeRecord::from_text(NODE, text, VERSION).unwrap();
        record.past.count = 65_535;
        let text = record.to_text();
        state.texts.insert(Key::Node(NODE), text.clone());
        // Of the lease before it, and in the place that the next one's will have.
        state.texts.insert(Key::History(NODE, 0), text);
    }
    lease(&mut world, 1);
    let latest = *starts(&history(&mut world)).last().unwrap();
    let explained = world.store.history().explain(NODE, latest).unwrap();
    assert!(matches!(explained.explanation, Explanation::Held(_)));
    assert_eq!(explained.gap, None);
}

#[test]
fn an_old_lease_is_explained_to_be_gone() {
    let mut world = World::new(3, 0.0, 1);
    lease(&mut world, 150);
    let granted = history(&mut world).leases().next().unwrap().record.grant;
    world.pass(401 * TICKS_PER_DAY);
    lease(&mut world, 64);
    let before = world.map.state().texts_read;
    let explained = world.store.history().explain(NODE, granted.start).unwrap();
    assert_eq!(explained.gap, None);
    // By bisection, and not from all that are left.
    let read = world.map.state().texts_read - before;
    assert!(read <= 10, "{read}");
    assert!(
        matches!(
            explained.explanation,
            Explanation::Unknown {
                cause: UnknownCause::Old,
                ..
            }
        ),
        "{explained:?}"
    );
    let told = explained.explanation.to_string();
    assert!(told.contains("400 days"), "{told}");
}

/// A store that was set back: the node id has a later lease, of which nothing is left but what it
/// had replaced.
#[test]
fn a_latest_lease_that_was_set_back_is_noticed() {
    let mut world = World::new(3, 0.0, 1);
    lease(&mut world, 3);
    let earlier = world.map.state().texts[&Key::Node(NODE)].clone();
    lease(&mut world, 2);
    let untouched = history(&mut world);
    world.map.state().texts.insert(Key::Node(NODE), earlier);
    let told = history(&mut world);
    assert_eq!(told.gaps().len(), 1);
    // What is gone began before any clock's time.
    let now = world.map.state().now + MAX_SKEW;
    let spec = world.namespace.spec();
    assert_eq!(told.gaps()[0].before, spec.tick_at(now).unwrap() + 1);
    let known = told.leases().count();
    assert_eq!(known, untouched.leases().count() - 2);
    for (nth, lease) in untouched.leases().enumerate() {
        let grant = &lease.record.grant;
        // Later ones have not come, by any clock.
        for tick in grant.start..grant.end.min(grant.start + 5) {
            let (whole, explained) = (
                told.explain(NODE, tick),
                world.store.history().explain(NODE, tick),
            );
            assert_eq!(explained.unwrap().explanation, whole, "{tick}");
            let is_right = match &whole {
                Explanation::Held(found) => found == lease,
                Explanation::Unknown { cause, .. } => nth >= known && *cause == UnknownCause::Gap,
                _ => false,
            };
            assert!(is_right, "{nth}: {whole:?}");
        }
        // Between two leases that are known, nobody had it.
        if let Some(before) = lease
            .record
            .grant
            .start
            .checked_sub(1)
            .filter(|_| nth < known)
        {
            assert_eq!(told.explain(NODE, before), untouched.explain(NODE, before));
        }
    }
}

/// A gap further back does not hide that one.
#[test]
fn two_gaps_are_told() {
    let mut world = World::new(3, 0.0, 1);
    lease(&mut world, 5);
    let earlier = world.map.state().texts[&Key::Node(NODE)].clone();
    lease(&mut world, 1);
    let starts = starts(&history(&mut world));
    let place = places(&world)[1];
    {
        let mut state = world.map.state();
        state.texts.insert(Key::Node(NODE), earlier);
        state.texts.remove(&place);
    }
    let told = history(&mut world);
    assert_eq!(told.gaps().len(), 2);
    for start in [starts[0], starts[starts.len() - 1]] {
        let outcome = told.explain(NODE, start);
        assert!(
            matches!(outcome, Explanation::Unknown { .. }),
            "{outcome:?}"
        );
    }
}

#[test]
fn what_is_missing_does_not_keep_old_leases() {
    let mut world = World::new(3, 0.0, 1);
    lease(&mut world, 600);
    world.pass(401 * TICKS_PER_DAY);
    lease(&mut world, 1);
    // Among them the last one that is old.
    for nth in [599, 598, 590, 300, 299] {
        let key = Key::History(NODE, nth);
        world.map.state().texts.remove(&key);
    }
    // The old ones are more than are removed at once, and that fails in between.
    world.map.state().fails_to_remove_from = Some(Key::History(NODE, 256));
    lease(&mut world, 63);
    assert!(places(&world).len() > 300);
    world.map.state().fails_to_remove_from = None;
    lease(&mut world, 64);
    assert!(places(&world).len() <= 128, "{}", places(&world).len());
}

/// Also where a look for old ones hits what is missing.
#[test]
fn missing_link_removes_no_kept_lease() {
    for nth in 0..60 {
        let mut world = World::new(3, 0.0, 1);
        lease(&mut world, 61);
        let all = places(&world);
        world.map.state().texts.remove(&all[nth]);
        lease(&mut world, 70);
        assert_eq!(places(&world).len(), all.len() - 1 + 70);
    }
}

/// Leases the node id once more, some time after its last lease has ended.
fn lease_once(world: &mut World) {
    world.pass(2 * TTL);
    acquire(&mut world.store, NodeIds::These(&[NODE])).unwrap();
}

fn record(world: &World) -> NodeRecord {
    let state = world.map.state();
    NodeRecord::from_text(NODE, &state.texts[&Key::Node(NODE)], VERSION).unwrap()
}

/// Leases it until the latest one has so many before it.
fn lease_until(world: &mut World, count: u64) {
    while !world.map.state().texts.contains_key(&Key::Node(NODE))
        || record(world).past.count < count
    {
        lease_once(world);
    }
    assert_eq!(record(world).past.count, count);
}

fn history_places(world: &World) -> Vec<u16> {
    let texts = &world.map.state().texts;
    let places = texts.keys().filter_map(|key| match key {
        Key::History(NODE, place) => Some(*place),
        _ => None,
    });
    places.collect()
}

#[test]
fn one_that_ended_400_days_ago_to_the_tick_stays() {
    let mut world = World::new(3, 0.0, 1);
    lease_until(&mut world, 63);
    world.pass(400 * TICKS_PER_DAY + TTL);
    acquire(&mut world.store, NodeIds::These(&[NODE])).unwrap();
    let latest = record(&world);
    assert_eq!(
        (latest.past.count, latest.past.end + 400 * TICKS_PER_DAY),
        (64, latest.start)
    );
    assert_eq!(history_places(&world), [63]);
    let history = world.store.history().read(NODE..=NODE).unwrap();
    assert_eq!((history.leases().count(), history.gaps()), (2, &[][..]));
    // What went before them was removed for its age.
    let first = history.leases().next().unwrap().record.grant.start;
    let explained = history.explain(NODE, first - 3 * TTL);
    assert!(
        matches!(
            explained,
            Explanation::Unknown {
                cause: UnknownCause::Old,
                ..
            }
        ),
        "{explained:?}"
    );
}

#[test]
fn a_single_one_that_is_old_is_removed() {
    let mut world = World::new(3, 0.0, 1);
    lease_until(&mut world, 63);
    world.pass(401 * TICKS_PER_DAY);
    lease_until(&mut world, 64);
    // It ends two days before those that follow.
    world.pass(2 * TICKS_PER_DAY);
    lease_until(&mut world, 127);
    assert_eq!(history_places(&world).first(), Some(&64));
    world.pass(399 * TICKS_PER_DAY);
    lease_until(&mut world, 128);
    assert_eq!(history_places(&world).first(), Some(&65));
}

/// The history has 65,536 places, and begins anew behind the last one.
#[test]
fn old_history_around_the_last_place_is_removed() {
    let mut world = World::new(3, 0.0, 1);
    world.map.state().history = Some(80);
    world.store = world.map.open(&world.namespace);
    lease_until(&mut world, 1);
    world
        .map
        .state()
        .texts
        .retain(|key, _| !matches!(key, Key::History(..)));
    // As after so many leases.
    let mut advanced = record(&world);
    advanced.past.count = 65_500;
    let text = advanced.to_text();
    world.map.state().texts.insert(Key::Node(NODE), text);
    lease_until(&mut world, 65_599);
    world.pass(401 * TICKS_PER_DAY);
    lease_until(&mut world, 65_600);
    // An engine of 80 places had put later ones where those before them were.
    let others: Vec<_> = (65_500..65_520).collect();
    assert_eq!(history_places(&world), others);
}
