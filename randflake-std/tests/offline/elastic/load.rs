//! Taking more and giving them back.

use core::time::Duration;
use std::collections::BTreeMap;
use std::sync::Arc;
use std::thread;

use randflake_core::Plain;
use randflake_std::lease::{MemoryStore, Namespace, Record};
use randflake_std::{BuildError, Builder, ExactSystemClock, GenerateError, Id, Snowflake};

use crate::elastic::{
    LONG_TTL, PATIENCE, PER_TICK, Server, TTL, assert_distinct, builder, burst, held, is_ready,
    memory, node_ids, pause, trickle, until,
};
use crate::layouts::{SLOW_TTL, Slow};

pub(crate) fn burst_and_quiet(open: &Server) {
    let ids = builder(open(), 1..=6).build().unwrap();
    assert_eq!(held(&ids), 1);
    let mut all = Vec::new();
    for _ in 0..2 {
        let issued: Vec<_> = thread::scope(|scope| {
            let threads: Vec<_> = (0..3)
                .map(|_| {
                    scope.spawn(|| {
                        let mut issued = Vec::new();
                        until("a burst", || burst(&ids, &mut issued), || held(&ids) == 6);
                        burst(&ids, &mut issued);
                        issued
                    })
                })
                .collect();
            let joined = threads.into_iter().map(|thread| thread.join().unwrap());
            joined.flatten().collect()
        });
        all.extend(issued);
        until(
            "a quiet time",
            || trickle(&ids, &mut all),
            || held(&ids) == 1,
        );
        all.push(ids.generate_wait(PATIENCE).unwrap());
        until("readiness", pause, || is_ready(&ids));
    }
    until("a burst", || burst(&ids, &mut all), || held(&ids) == 6);
    ids.close().unwrap();
    let mut unused_from = BTreeMap::new();
    for id in all.iter().map(|&id| ids.inspect(id)) {
        let from = unused_from.entry(id.node_id).or_insert(0);
        *from = (*from).max(id.tick + 1);
    }
    assert_distinct(all);
    for Record { grant, .. } in open().list().unwrap() {
        let unused_from = unused_from.get(&grant.node_id).copied();
        let is_released = grant.end <= unused_from.unwrap_or(0).max(grant.start);
        assert!(is_released, "{grant:?}, not used from {unused_from:?} on");
    }
}

/// Without a single refusal.
#[test]
fn half_of_a_tick_is_enough_to_take_more() {
    let ids = builder(memory(), 1..=2).ttl(LONG_TTL).build().unwrap();
    let mut issued = Vec::new();
    let mut tick = 0;
    let mut of_tick = 0;
    let a_little = || {
        let id = ids.generate().unwrap();
        issued.push(id);
        let now = ids.inspect(id).tick;
        of_tick = if now == tick { of_tick + 1 } else { 0 };
        tick = now;
        if of_tick > PER_TICK * 3 / 4 {
            // All that this tick is to give.
            thread::sleep(Duration::from_millis(20));
            of_tick = 0;
            tick = 0;
            while ids.inspect(ids.generate().unwrap()).tick == now {
                pause();
            }
        }
    };
    until("a second node id", a_little, || held(&ids) == 2);
    assert_distinct(issued);
}

#[test]
fn a_burst_borrows_within_the_tolerance_while_more_are_taken() {
    let ids = builder(memory(), 1..=4).tolerance(5).build().unwrap();
    let mut issued = Vec::new();
    until(
        "all node ids",
        || burst(&ids, &mut issued),
        || held(&ids) == 4,
    );
    assert_distinct(issued);
}

/// A tick of 40 years has four ids of each node id.
#[test]
fn a_wait_that_is_shorter_than_the_rest_of_the_tick_ends_with_another_node_id() {
    let namespace = Namespace::new("test", Slow).unwrap();
    let store = MemoryStore::new(namespace.with_max_ttl(SLOW_TTL), Arc::new(ExactSystemClock));
    let builder = Builder::new(Slow, Plain, store).ttl(SLOW_TTL);
    let ids = builder.node_ids(1..=8).build().unwrap();
    let mut issued: Vec<_> = (0..4 * 4)
        .map(|_| ids.generate_wait(PATIENCE).unwrap())
        .collect();
    let mut buffer = [Id::from_u64(0); 4];
    while issued.len() < 4 * 8 {
        let count = ids.fill_wait(&mut buffer, PATIENCE).unwrap();
        issued.extend_from_slice(&buffer[..count]);
    }
    assert_distinct(issued);
}

#[test]
fn a_buffer_takes_more_too() {
    let ids = builder(memory(), 1..=4).ttl(LONG_TTL).build().unwrap();
    let mut buffer = vec![Id::from_u64(0); PER_TICK * 2];
    let mut issued = Vec::new();
    let fill = || match ids.fill(&mut buffer) {
        Ok(count) => issued.extend_from_slice(&buffer[..count]),
        Err(GenerateError::SequenceExhausted { .. }) => pause(),
        Err(error) => panic!("{error}"),
    };
    until("four node ids", fill, || held(&ids) == 4);
    assert_distinct(issued);
}

#[test]
fn ticks_of_a_millisecond_run_out_too() {
    let namespace = Namespace::new("test", Snowflake).unwrap();
    let store = MemoryStore::new(namespace, Arc::new(ExactSystemClock));
    let builder = Builder::new(Snowflake, Plain, store).ttl(TTL);
    let ids = builder.node_ids(1..=4).build().unwrap();
    let held = || ids.lease().leases.len();
    let mut buffer = vec![Id::from_u64(0); 100_000];
    let mut issued = Vec::new();
    let mut fill = || {
        let count = ids.fill(&mut buffer).unwrap_or_default();
        issued.extend_from_slice(&buffer[..count]);
        pause();
    };
    until("four node ids", &mut fill, || held() == 4);
    fill();
    until("a quiet time", pause, || held() == 1);
    fill();
    assert_distinct(issued);
}

#[test]
fn chosen_node_ids_and_a_number_are_kept() {
    let long = |count| builder(memory(), count).ttl(LONG_TTL);
    let chosen = long(1..=4).choose([5, 6]).build().unwrap();
    let fixed = long(2..=2).build().unwrap();
    for ids in [chosen, fixed] {
        let before = node_ids(&ids);
        let mut issued = Vec::new();
        (0..200).for_each(|_| burst(&ids, &mut issued));
        assert_eq!(node_ids(&ids), before);
        assert_distinct(issued);
    }
}

#[test]
fn a_range_that_is_empty_or_too_large_is_refused() {
    #[expect(clippy::reversed_empty_ranges, reason = "it is refused")]
    for range in [0..=4, 4..=1, 1..=9] {
        let message = format!(
            "{} to {} node ids asked for: a range within 1 to 8 is allowed, the smaller number first",
            range.start(),
            range.end()
        );
        let error = builder(memory(), range).build().unwrap_err();
        assert!(
            matches!(error, BuildError::NodeIds { max: 8, .. }),
            "{error}"
        );
        assert_eq!(error.to_string(), message);
    }
}
