//! A client that may be granted some node ids only finds all of these, and hides none from others.

use randflake_std::lease::{Grant, LeaseStore, NodeIds, StoreError};

use super::world::{TTL, World, acquire};

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
