//! Namespaces and stores that give no more.

use core::sync::atomic::Ordering;
use std::sync::Arc;
use std::time::Instant;

use randflake_std::Health;
use randflake_std::lease::StoreErrorKind;

use crate::elastic::watched::{Watch, with_watch};
use crate::elastic::{
    LONG_TTL, LONGER_TTL, NODE_IDS, Server, TTL, assert_distinct, builder, burst, held, is_ready,
    is_short, memory, pause, until,
};

/// The pause after a refusal is at least this, less a tenth; and a request is halved twice at most.
const SHORTEST_PAUSE_MS: u128 = 100 - 10;
const CALLS_OF_A_TRY: u128 = 3;

pub(crate) fn full(open: &Server) {
    let count = NODE_IDS - 1;
    let others = builder(open(), count..=count);
    let others = others.ttl(LONG_TTL).build().unwrap();
    let watch = Arc::new(Watch::default());
    let store = with_watch(open(), &watch);
    let ids = builder(store, 1..=4).ttl(LONGER_TTL).build().unwrap();
    let started = Instant::now();
    let mut issued = Vec::new();
    let is_exhausted = || {
        let error = ids.lease().shortage;
        error.is_some_and(|error| error.kind() == StoreErrorKind::Exhausted)
    };
    until("a shortage", || burst(&ids, &mut issued), is_exhausted);
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
fn what_is_free_is_taken_when_it_is_less_than_was_asked_for() {
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
fn without_the_store_it_goes_on_with_what_it_has_and_takes_more_when_the_store_is_back() {
    let store = memory();
    let ids = builder(store.clone(), 1..=4).ttl(LONG_TTL).build().unwrap();
    let mut issued = Vec::new();
    store.fail_next(u32::MAX);
    let is_told = || matches!(ids.health(), Health::Degraded { .. });
    until("a failure", || burst(&ids, &mut issued), is_told);
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

/// What an acquire was granted whose reply was lost is what the next one gets. Else it would be taken for a whole TTL,
/// which is longer than the test waits.
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
