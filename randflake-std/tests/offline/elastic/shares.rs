//! A handle whose load never ends, and others that need a node id of the same small namespace.

use core::sync::atomic::{AtomicBool, Ordering};
use std::thread;

use crate::elastic::{
    LONG_TTL, NODE_IDS, PATIENCE, TTL, assert_distinct, builder, burst, held, memory, node_ids,
    until,
};

/// The first handle takes all that it may, and others still get theirs at once.
#[test]
fn a_load_that_never_ends_leaves_a_share_to_others() {
    let store = memory();
    let greedy = builder(store.clone(), 1..=NODE_IDS).ttl(LONG_TTL);
    let greedy = greedy.build().unwrap();
    let mut issued = Vec::new();
    let most = NODE_IDS as usize - 1;
    until(
        "the maximum",
        || burst(&greedy, &mut issued),
        || held(&greedy) == most,
    );
    (0..5).for_each(|_| burst(&greedy, &mut issued));
    assert_eq!(held(&greedy), most);
    let other = builder(store, 1..=NODE_IDS).build().unwrap();
    issued.push(other.generate().unwrap());
    assert!(node_ids(&greedy).is_disjoint(&node_ids(&other)));
    assert_distinct(issued);
}

/// Once the namespace is full, whoever waits gets what the elastic one gives back.
#[test]
fn in_a_full_namespace_the_greedy_one_makes_way_for_those_who_wait() {
    let store = memory();
    let greedy = builder(store.clone(), 1..=NODE_IDS)
        .ttl(TTL)
        .build()
        .unwrap();
    let ended = AtomicBool::new(false);
    thread::scope(|scope| {
        let load = scope.spawn(|| {
            let mut issued = Vec::new();
            while !ended.load(Ordering::Relaxed) {
                burst(&greedy, &mut issued);
            }
            issued
        });
        let most = NODE_IDS as usize - 1;
        until("the maximum", crate::elastic::pause, || {
            held(&greedy) == most
        });
        // The share is one node id.
        let others: Vec<_> = (0..3)
            .map(|_| builder(store.clone(), 1..=1).wait(PATIENCE).build())
            .collect();
        ended.store(true, Ordering::Relaxed);
        let mut issued = load.join().unwrap();
        for other in others {
            issued.push(other.unwrap().generate_wait(PATIENCE).unwrap());
        }
        assert_distinct(issued);
    });
}
