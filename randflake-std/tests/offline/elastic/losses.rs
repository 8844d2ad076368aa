//! Losing some of many node ids, or all of them.

use core::sync::atomic::{AtomicU64, Ordering};

use randflake_std::Id;
use randflake_std::lease::{Grant, MemoryStore};

use crate::elastic::{
    Ids, LONG_TTL, LONGER_TTL, PATIENCE, assert_distinct, builder, burst, held, memory, node_ids,
    pause, trickle, until,
};

/// A handle with four node ids, and what it has issued.
fn four(store: &MemoryStore) -> (Ids, Vec<Id>) {
    let ids = builder(store.clone(), 1..=4);
    let ids = ids.ttl(LONGER_TTL).build().unwrap();
    let mut issued = Vec::new();
    until(
        "four node ids",
        || burst(&ids, &mut issued),
        || held(&ids) == 4,
    );
    (ids, issued)
}

fn grant_of(store: &MemoryStore, node_id: u32) -> Grant {
    let records = store.clone().list().unwrap();
    let mut grants = records.into_iter().map(|record| record.grant);
    grants.find(|grant| grant.node_id == node_id).unwrap()
}

#[test]
fn one_lost_lease_of_many_ends_alone() {
    let store = memory();
    let (ids, mut issued) = four(&store);
    let before = node_ids(&ids);
    let lost = *before.first().unwrap();
    store.clone().release(&[grant_of(&store, lost)]).unwrap();
    until(
        "the loss",
        || trickle(&ids, &mut issued),
        || !node_ids(&ids).contains(&lost),
    );
    assert!(!node_ids(&ids).is_disjoint(&before));
    issued.push(ids.generate_wait(PATIENCE).unwrap());
    assert_eq!(ids.lease().losses.contested, 0);
    assert_distinct(issued);
}

/// A copy of the process renews one of them first: the one in whose block this thread is.
#[test]
fn one_contested_lease_of_many_ends_alone() {
    let store = memory();
    let (ids, mut issued) = four(&store);
    let before = node_ids(&ids);
    let last = ids.generate_wait(PATIENCE).unwrap();
    let contested = ids.inspect(last).node_id;
    let mut copy = store.clone();
    copy.renew(&[grant_of(&store, contested)], 3).unwrap();
    issued.push(last);
    let mut later = 0;
    until("the loss", pause, || {
        // So few that the one in use is not used up.
        for _ in 0..15 {
            let is_lost = ids.lease().losses.contested == 1;
            let id = ids.generate_wait(PATIENCE).unwrap();
            assert!(!is_lost || ids.inspect(id).node_id != contested);
            issued.push(id);
            later += u32::from(is_lost);
        }
        later > 300
    });
    assert!(!node_ids(&ids).contains(&contested));
    assert!(!node_ids(&ids).is_disjoint(&before));
    assert_eq!(ids.lease().losses.contested, 1);
    assert_distinct(issued);
}

#[test]
fn all_that_were_lost_leave_the_smallest_number_to_replace() {
    let store = memory();
    let (ids, mut issued) = four(&store);
    let before = node_ids(&ids);
    let grants: Vec<_> = before
        .iter()
        .map(|&node_id| grant_of(&store, node_id))
        .collect();
    store.clone().release(&grants).unwrap();
    // Theirs have not ended, so it is of another node id.
    until(
        "another lease",
        || trickle(&ids, &mut issued),
        || held(&ids) == 1 && node_ids(&ids).is_disjoint(&before),
    );
    issued.push(ids.generate_wait(PATIENCE).unwrap());
    let records = store.clone().list().unwrap().into_iter();
    let others = records.filter(|record| !before.contains(&record.grant.node_id));
    // More than one if the burst's last tick was not over yet.
    assert!((1..before.len()).contains(&others.count()));
    assert_distinct(issued);
}

#[test]
fn no_node_id_of_before_a_copy_is_issued_from() {
    let word: &'static AtomicU64 = Box::leak(Box::new(AtomicU64::new(1)));
    let store = memory();
    let ids = builder(store.clone(), 1..=4)
        .ttl(LONG_TTL)
        .generation(word)
        .build()
        .unwrap();
    let mut issued = Vec::new();
    until(
        "four node ids",
        || burst(&ids, &mut issued),
        || held(&ids) == 4,
    );
    let before = node_ids(&ids);
    let grants: Vec<_> = before
        .iter()
        .map(|&node_id| grant_of(&store, node_id))
        .collect();
    word.fetch_add(1, Ordering::SeqCst);
    for _ in 0..500 {
        let id = ids.generate_wait(PATIENCE).unwrap();
        assert!(!before.contains(&ids.inspect(id).node_id));
        issued.push(id);
    }
    assert_eq!(ids.lease().losses.contested, 4);
    ids.close().unwrap();
    for grant in grants {
        assert_eq!(
            grant_of(&store, grant.node_id),
            grant,
            "released or renewed"
        );
    }
    assert_distinct(issued);
}
