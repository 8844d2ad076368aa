//! Free node ids are found wherever they are, whatever the notes and hints say.

use proptest::prelude::*;

use super::world::World;

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
        world.check();
        for step in steps {
            match step {
                Step::Acquire(wanted) => world.acquires(wanted),
                Step::Choose => world.chooses(),
                Step::Mislead => world.misleads(),
                Step::Release => world.releases(),
                Step::Renew => world.renews(),
                Step::Pass(ticks) => world.pass(ticks),
            }
            world.check();
        }
    }
}

/// In a full namespace, after a search in vain has noted every page.
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
