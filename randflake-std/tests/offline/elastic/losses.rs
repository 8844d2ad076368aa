//! Elastic handles without enough leases: full namespaces, stores that fail, and lost leases.

use core::sync::atomic::{AtomicU64, Ordering};
use std::sync::Arc;
use std::time::Instant;

use randflake_std::lease::{Grant, MemoryStore, StoreErrorKind};
use randflake_std::{Health, Id};

use crate::elastic::watched::{Watch, with_watch};
use crate::elastic::{
    Ids, LONG_TTL, LONGER_TTL, NODE_IDS, PATIENCE, Server, TTL, assert_distinct, builder, burst,
    held, is_ready, is_short, memory, node_ids, pause, trickle, until,
};

/// The pause after a refusal is at least this, less a tenth; and a request is halved twice at most.
const SHORTEST_PAUSE_MS: u128 = 100 - 10;
const CALLS_OF_A_TRY: u128 = 3;

pub(crate) fn full(open: &Server) {
    let count = NODE_IDS - 1;
    let others = builder(open(), count..=count)
        .ttl(LONG_TTL)
        .build()
        .unwrap();
    let watch = Arc::new(Watch::default());
    let store = with_watch(open(), &watch);
    let ids = builder(store, 1..=4).ttl(LONGER_TTL).build().unwrap();
    let started = Instant::now();
    let mut issued = Vec::new();
    until(
        "a shortage",
        || burst(&ids, &mut issued),
        || {
            let error = ids.lease().shortage;
            error.is_some_and(|error| error.kind() == StoreErrorKind::Exhausted)
        },
    );
    until("a shortage", || burst(&ids, &mut issued), || is_short(&ids));
    assert!(ids.lease().last_error.is_none() && ids.health().is_ready());
    // It goes on with what it has.
    let before = issued.len();
    until(
        "some ticks",
        || burst(&ids, &mut issued),
        || started.elapsed() > TTL * 2,
    );
    assert!(issued.len() > before);
    assert_eq!(held(&ids), 1);
    let calls = u128::from(watch.acquires.load(Ordering::SeqCst));
    let tries = started.elapsed().as_millis() / SHORTEST_PAUSE_MS + 2;
    assert!(calls <= tries * CALLS_OF_A_TRY, "{calls} acquires");

    others.close().unwrap();
    until(
        "what became free",
        || burst(&ids, &mut issued),
        || held(&ids) == 4,
    );
    until("readiness", pause, || is_ready(&ids));
    assert_distinct(issued);
}

#[test]
fn fewer_free_node_ids_than_asked_for_are_taken() {
    let store = memory();
    let fixed = builder(store.clone(), 3..=3).ttl(LONG_TTL).build().unwrap();
    let ids = builder(store, 2..=8).ttl(LONGER_TTL).build().unwrap();
    let mut issued = Vec::new();
    until("a shortage", || burst(&ids, &mut issued), || is_short(&ids));
    assert_eq!(held(&ids), 5);
    // No more is asked for after a quiet time, so it is not short any more.
    until("the end of the shortage", pause, || is_ready(&ids));
    fixed.close().unwrap();
    assert_distinct(issued);
}

#[test]
fn outage_keeps_node_ids_and_its_end_adds_more() {
    let store = memory();
    let ids = builder(store.clone(), 1..=4).ttl(LONG_TTL).build().unwrap();
    let mut issued = Vec::new();
    store.fail_next(u32::MAX);
    until(
        "a failure",
        || burst(&ids, &mut issued),
        || matches!(ids.health(), Health::Degraded { .. }),
    );
    assert_eq!(held(&ids), 1);
    let error = ids.lease().last_error.unwrap();
    assert_eq!(error.kind(), StoreErrorKind::Unavailable);
    assert!(ids.lease().shortage.is_none());
    store.fail_next(0);
    until(
        "four node ids",
        || burst(&ids, &mut issued),
        || held(&ids) == 4,
    );
    until("readiness", pause, || is_ready(&ids));
    assert_distinct(issued);
}

/// What an acquire was granted whose reply was lost is what the next one gets. Else it would be
/// taken for a whole TTL, which is longer than the test waits.
#[test]
fn a_lost_reply_costs_no_node_id() {
    let store = memory();
    let builder = builder(store.clone(), 1..=8).ttl(LONG_TTL);
    let ids = builder.build().unwrap();
    let mut issued = Vec::new();
    store.lose_replies(2);
    until(
        "all node ids",
        || burst(&ids, &mut issued),
        // An eighth is left to others.
        || held(&ids) == 7,
    );
    assert_distinct(issued);
}

/// A handle with four node ids, and what it has issued.
fn four(store: &MemoryStore) -> (Ids, Vec<Id>) {
    let ids = builder(store.clone(), 1..=4)
        .ttl(LONGER_TTL)
        .build()
        .unwrap();
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
fn loss_of_all_is_replaced_up_to_the_minimum() {
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
