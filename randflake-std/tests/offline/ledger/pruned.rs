//! Which earlier leases are removed, and which stay.

use randflake_std::lease::{Explanation, NodeIds, UnknownCause};
use randflake_std::unstable::rules::{Key, NodeRecord, VERSION};

use super::world::{TTL, World, acquire};

const NODE: u32 = 3;
const TICKS_PER_DAY: u64 = 86_400;

/// Leases the node id once more, some time after its last lease has ended.
fn lease(world: &mut World) {
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
        lease(world);
    }
    assert_eq!(record(world).past.count, count);
}

fn places(world: &World) -> Vec<u16> {
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
    assert_eq!(places(&world), [63]);
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
    assert_eq!(places(&world).first(), Some(&64));
    world.pass(399 * TICKS_PER_DAY);
    lease_until(&mut world, 128);
    assert_eq!(places(&world).first(), Some(&65));
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
    assert_eq!(places(&world), others);
}
