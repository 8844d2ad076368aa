//! What an operation asks for where nearly all, or all, is leased.

use randflake_std::lease::{Grant, NodeIds, StoreError};
use randflake_std::unstable::rules::Key;

use super::world::{PLACES, World, acquire};

/// Node ids beyond those that a client reads as a whole, all leased, and as everybody has noted.
fn full() -> World {
    let mut world = World::new(12, 1.0, 1);
    // Of the lease that made the namespace's record.
    let is_hint = |key: &Key| matches!(key, Key::Hint(_));
    world.map.state().texts.retain(|key, _| !is_hint(key));
    world.acquires(1);
    world
}

/// How often it was read and written since the last time.
fn asked(world: &World) -> [usize; 2] {
    let mut state = world.map.state();
    let asked = [state.reads, state.writes];
    (state.reads, state.writes) = (0, 0);
    asked
}

/// Whether a hint leads to a node id.
fn is_left(world: &World, node_id: u32) -> bool {
    let state = world.map.state();
    let mut hints = (0..PLACES).filter_map(|place| state.texts.get(&Key::Hint(place)));
    let what = format!(":{node_id}:");
    hints.any(|hint| hint.contains(&what))
}

#[test]
fn a_full_namespace_refuses_after_one_read() {
    let mut world = full();
    asked(&world);
    for _ in 0..3 {
        world.acquires(1);
        assert_eq!(asked(&world), [1, 0]);
    }
    let mut another = world.map.open(&world.namespace);
    let refused = acquire(&mut another, NodeIds::Any(1));
    assert!(matches!(refused, Err(StoreError::Exhausted { .. })));
    assert_eq!(asked(&world), [1, 0]);
}

#[test]
fn released_node_id_costs_one_read_and_one_write() {
    let mut world = full();
    for _ in 0..20 {
        world.releases();
        let free: Vec<_> = world.free().collect();
        asked(&world);
        let mut another = world.map.open(&world.namespace);
        let grants = acquire(&mut another, NodeIds::Any(1)).unwrap();
        assert_eq!(grants[0].node_id as usize, free[0]);
        world.ends[free[0]] = grants[0].end;
        assert_eq!(asked(&world), [1, 1]);
        assert!(!is_left(&world, grants[0].node_id));
        world.acquires(1);
    }
}

/// A hint is followed once at most.
#[test]
fn a_hint_to_a_leased_node_id_costs_one_try() {
    let mut world = full();
    for _ in 0..2 {
        world.releases();
    }
    let free: Vec<_> = world.free().collect();
    let mut another = world.map.open(&world.namespace);
    let taken = u32::try_from(free[0]).unwrap();
    let grants = acquire(&mut another, NodeIds::These(&[taken])).unwrap();
    world.ends[free[0]] = grants[0].end;
    assert!(is_left(&world, taken), "who has not read it cannot know");
    world.acquires(1);
    world.acquires(1);
    assert!(!is_left(&world, taken));
}

/// Its own record is newer than what a hint says, so the store has not forgotten it.
#[test]
fn a_hint_to_an_own_lease_is_no_sign_of_a_loss() {
    let mut world = full();
    world.releases();
    let free: Vec<_> = world.free().collect();
    let chosen = u32::try_from(free[0]).unwrap();
    let grants = acquire(&mut world.store, NodeIds::These(&[chosen])).unwrap();
    world.ends[free[0]] = grants[0].end;
    world.acquires(1);
    world.pass(super::world::TTL / 2);
    let renewed = world.store.renew(&grants, super::world::TTL).unwrap();
    world.ends[free[0]] = renewed.ends[0].unwrap();
    world.acquires(world.free().count());
    let end = world.tick;
    world.store.release(&[Grant { end, ..grants[0] }]).unwrap();
}

/// What it has found may be leased by then.
#[test]
fn refused_search_leaves_no_hint() {
    let mut world = full();
    world.pass(1);
    let free = world.free().count();
    assert!(free > 0);
    world.acquires(free + 1);
    let hints = |world: &World| {
        let state = world.map.state();
        let texts = (0..PLACES).filter_map(|place| state.texts.get(&Key::Hint(place)));
        texts.cloned().collect::<Vec<_>>()
    };
    let before = hints(&world);
    world.renews();
    assert_eq!(hints(&world), before);
}

/// Whoever was faster may have released what it leads to.
#[test]
fn misleading_hint_is_followed_after_a_vain_search() {
    let mut world = full();
    world.releases();
    let free: Vec<_> = world.free().collect();
    let chosen = u32::try_from(free[0]).unwrap();
    let before = world.map.state().texts.clone();
    let grants = acquire(&mut world.store, NodeIds::These(&[chosen])).unwrap();
    {
        let mut state = world.map.state();
        let after = core::mem::replace(&mut state.texts, before);
        state.meanwhile = Some((after, state.now));
    }
    let mut another = world.map.open(&world.namespace);
    let refused = acquire(&mut another, NodeIds::Any(1));
    assert!(matches!(refused, Err(StoreError::Exhausted { .. })));
    let end = world.tick;
    world.store.release(&[Grant { end, ..grants[0] }]).unwrap();
    asked(&world);
    let granted = acquire(&mut another, NodeIds::Any(1)).unwrap();
    assert_eq!(granted[0].node_id, chosen);
    assert_eq!(asked(&world), [1, 1]);
}
