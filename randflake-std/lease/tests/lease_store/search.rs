//! Search for free node ids: hints, ranges of a client, and lists.

use proptest::prelude::*;
use randflake_lease::unstable::rules::Key;
use randflake_lease::{Grant, LeaseStore, NodeIds, StoreError};

use super::world::{PLACES, TTL, World, acquire};

#[derive(Clone, Debug)]
enum Step {
    Acquire(usize),
    Choose,
    Mislead,
    Release,
    Renew,
    Pass(u64),
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let step = prop_oneof![
        4 => (1..=300_usize).prop_map(Step::Acquire),
        2 => (1..=3_usize).prop_map(Step::Acquire),
        3 => Just(Step::Choose),
        3 => Just(Step::Mislead),
        3 => Just(Step::Release),
        3 => Just(Step::Renew),
        1 => (1..=30_u64).prop_map(Step::Pass),
    ];
    prop::collection::vec(step, 1..30)
}

proptest! {
    #![proptest_config(ProptestConfig {
        cases: 60,
        max_shrink_iters: 100,
        failure_persistence: None,
        ..ProptestConfig::default()
    })]

    #[test]
    fn free_node_ids_are_found(
        bits in prop_oneof![2 => 4..=8_u32, 4 => 9..=13_u32, 1 => 14..=17_u32],
        occupancy in prop_oneof![0.0..1.0, 0.9..0.999, Just(0.999), Just(1.0)],
        seed: u64,
        steps in steps(),
    ) {
        let mut world = World::new(bits, occupancy, seed);
        for step in steps {
            match step {
                Step::Acquire(wanted) => world.acquires(wanted),
                Step::Choose => world.chooses(),
                Step::Mislead => world.misleads(),
                Step::Release => world.releases(),
                Step::Renew => world.renews(),
                Step::Pass(ticks) => world.pass(ticks),
            }
        }
    }
}

/// In a full namespace, after a search in vain has noted that.
#[test]
fn a_released_node_id_is_found_at_once() {
    for bits in [4, 8, 9, 12, 16] {
        let mut world = World::new(bits, 1.0, bits.into());
        world.acquires(1);
        for _ in 0..3 {
            world.releases();
            let free: Vec<_> = world.free().collect();
            let grants = world.acquire(1).unwrap();
            let found: Vec<_> = grants.iter().map(|grant| grant.node_id as usize).collect();
            assert_eq!(found, free);
            world.ends[free[0]] = grants[0].end;
        }
    }
}

/// Without hints, in a namespace of 131,072 node ids: reads and records that an acquire takes on
/// average.
#[test]
fn third_read_is_rare_up_to_99_percent() {
    const CLIENTS: u32 = 200;
    for (occupancy, most_reads, most_texts) in [
        (0.5, 1.02, 17.0),
        (0.9, 1.35, 170.0),
        (0.99, 2.0, 620.0),
        // Six in ten read 4,096 records.
        (0.999, 2.8, 3_700.0),
    ] {
        let world = World::new(17, occupancy, 1);
        let (mut reads, mut texts) = (0, 0);
        for _ in 0..CLIENTS {
            {
                let mut state = world.map.state();
                let hints = (0..PLACES).map(Key::Hint);
                hints.for_each(|hint| _ = state.texts.remove(&hint));
                (state.reads, state.texts_read) = (0, 0);
            }
            let mut another = world.map.open(&world.namespace);
            let grants = acquire(&mut another, NodeIds::Any(1)).unwrap();
            let mut state = world.map.state();
            reads += state.reads;
            texts += state.texts_read;
            // As many are free as before.
            state.texts.remove(&Key::Node(grants[0].node_id));
        }
        let per_acquire =
            |count: usize| f64::from(u32::try_from(count).unwrap()) / f64::from(CLIENTS);
        let (reads, texts) = (per_acquire(reads), per_acquire(texts));
        let figures = format!("{occupancy}: {reads} reads, {texts} records");
        assert!(reads <= most_reads && texts <= most_texts, "{figures}");
    }
}

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
    world.pass(TTL / 2);
    let renewed = world.store.renew(&grants, TTL).unwrap();
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

/// A faster client may have released what it leads to.
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

const AT_ONCE: u32 = 50;

/// All that a client gets.
fn acquire_all(store: &mut LeaseStore) -> Vec<Grant> {
    let mut grants = Vec::new();
    let mut count = AT_ONCE;
    while count > 0 {
        match acquire(store, NodeIds::Any(count)) {
            Ok(more) => grants.extend(more),
            // Fewer are left, or may be asked for.
            Err(StoreError::Exhausted { .. } | StoreError::Invalid(_)) => count /= 2,
            Err(other) => panic!("{other:?}"),
        }
    }
    grants
}

#[test]
fn a_range_is_granted_as_a_whole_and_nothing_else() {
    // Small namespaces are read at once; ranges begin and end within pages, or are one node id.
    for (bits, range) in [
        (3, 2..=5),
        (7, 0..=119),
        (12, 0..=4_031),
        (12, 0..=4_000),
        (12, 70..=90),
        (12, 100..=1_777),
        (12, 1_000..=1_000),
    ] {
        let mut world = World::new(bits, 0.0, 7);
        world.pass(2 * TTL);
        let mut limited = world.map.open(&world.namespace);
        limited.lease_within(range.clone());
        for _ in 0..2 {
            let mut found: Vec<_> = acquire_all(&mut limited)
                .iter()
                .map(|grant| grant.node_id)
                .collect();
            found.sort_unstable();
            let all: Vec<_> = range.clone().collect();
            assert_eq!(found, all, "{bits}");
            let outside = range.end() + 1;
            let told = acquire(&mut limited, NodeIds::These(&[outside])).unwrap_err();
            assert!(matches!(told, StoreError::Invalid(_)), "{told:?}");

            // What it could not have, others find, whatever it has written.
            let rest = (1 << bits) - all.len();
            assert_eq!(acquire_all(&mut world.store).len(), rest, "{bits}");
            world.pass(2 * TTL);
        }
    }
}

#[test]
fn list_reads_pages_of_at_most_4096_records() {
    let mut world = World::new(13, 1.0, 1);
    let node_ids = |first: u32, most| {
        let records = world.store.list_from(first, most).unwrap();
        let node_ids = records.iter().map(|record| record.grant.node_id);
        let lists = core::mem::take(&mut world.map.state().lists);
        (node_ids.collect::<Vec<_>>(), lists)
    };
    let mut node_ids = node_ids;
    node_ids(0, 0);
    let all: Vec<_> = (0..8_192).collect();
    assert_eq!(node_ids(0, usize::MAX), (all, vec![4_096; 3]));
    assert_eq!(node_ids(7, 3), (vec![7, 8, 9], vec![3]));
    assert_eq!(node_ids(0, 5_000).1, [4_096; 2]);
    assert_eq!(node_ids(8_190, 5), (vec![8_190, 8_191], vec![5]));
    assert_eq!(node_ids(0, 0), (vec![], vec![]));
}

/// Of one node id, its records are not looked for among those of others.
#[test]
fn a_single_record_is_asked_for_as_such() {
    let mut world = World::new(13, 1.0, 1);
    world.map.state().lists.clear();
    let tick = world.tick;
    world.store.history().explain(7, tick).unwrap();
    assert_eq!(world.map.state().lists, [1]);
}
