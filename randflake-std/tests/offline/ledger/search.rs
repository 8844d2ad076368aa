//! Free node ids are found wherever they are, whatever hints say.

use proptest::prelude::*;
use randflake_std::lease::NodeIds;
use randflake_std::unstable::rules::Key;

use super::world::{PLACES, World, acquire};

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

/// Without hints, in a namespace of 131,072 node ids: reads and records that an acquire takes on average.
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
