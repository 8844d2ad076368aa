//! What a list asks its engine for.

use super::world::World;

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
