//! How many node ids are leased.

use randflake_std::lease::occupancy;

use super::world::{TTL, World};

#[test]
fn a_lease_counts_until_its_end() {
    let mut world = World::new(3, 0.0, 1);
    world.acquires(2);
    world.pass(1);
    world.acquires(1);
    for (pass, live) in [(0, 3), (TTL - 2, 3), (1, 1), (1, 0)] {
        world.pass(pass);
        let occupancy = occupancy(&mut world.store).unwrap();
        assert_eq!((occupancy.live, occupancy.total), (live, 8));
    }
}
