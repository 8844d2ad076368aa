//! Elastic handles: node ids taken and given back with the load, by real threads on real stores.
//!
//! Leases are as short as they may be where a quiet time or an end is waited for, and long where a
//! machine that stands still for seconds would end them.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

mod losses;

use core::ops::RangeInclusive;
use core::sync::atomic::{AtomicBool, Ordering};
use core::time::Duration;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::thread;
use std::time::Instant;

use randflake_core::{Plain, Sparx64};
use randflake_std::lease::{LeaseStore, MemoryStore, Namespace, Record};
use randflake_std::{
    BuildError, Builder, ExactSystemClock, GenerateError, Handle, Health, Id, Snowflake,
};

use crate::fixtures::{Narrow, SLOW_TTL, Slow};

const TTL: Duration = Duration::from_secs(3);
/// For leases of which the keeper's next call is waited for, which is after a third, or the quiet
/// time, and not their end.
const LONGER_TTL: Duration = Duration::from_secs(12);
/// For leases that are not to end, nor to be renewed or given back, while a test runs.
const LONG_TTL: Duration = Duration::from_secs(300);
/// Far longer than what is waited for takes, on a busy machine too.
const PATIENCE: Duration = Duration::from_secs(120);

/// 8 node ids, and 2,048 ids a second of each.
type Few = Narrow<3, 11>;

const NODE_IDS: u32 = 8;
const PER_TICK: usize = 2_048;

type Store = LeaseStore;
type Ids = Handle<Few, Sparx64>;

fn namespace() -> Namespace {
    Namespace::new("test", Few::default())
        .unwrap()
        .with_max_ttl(LONG_TTL)
}

fn memory() -> MemoryStore {
    MemoryStore::new(namespace(), Arc::new(ExactSystemClock))
}

fn builder(store: impl Into<LeaseStore>, count: RangeInclusive<u32>) -> Builder<Few, Sparx64> {
    let cipher = Sparx64::new(&[7; 16]);
    let builder = Builder::new(Few::default(), cipher, store);
    builder.ttl(TTL).node_ids(count)
}

fn held(ids: &Ids) -> usize {
    ids.lease().leases.len()
}

fn node_ids(ids: &Ids) -> BTreeSet<u32> {
    let leases = ids.lease().leases.into_iter();
    leases.map(|lease| lease.node_id()).collect()
}

/// Waits until something holds, doing something meanwhile.
fn until(what: &str, mut meanwhile: impl FnMut(), mut holds: impl FnMut() -> bool) {
    let started = Instant::now();
    while !holds() {
        assert!(started.elapsed() < PATIENCE, "{what} did not happen");
        meanwhile();
    }
}

fn pause() {
    thread::sleep(Duration::from_millis(10));
}

/// Takes all that there is.
fn burst(ids: &Ids, issued: &mut Vec<Id>) {
    for _ in 0..PER_TICK {
        match ids.generate() {
            Ok(id) => issued.push(id),
            Err(error) => {
                assert!(
                    !matches!(error, GenerateError::Copied | GenerateError::InForkedChild),
                    "{error}"
                );
                return pause();
            }
        }
    }
}

/// Takes an id now and then.
fn trickle(ids: &Ids, issued: &mut Vec<Id>) {
    issued.extend(ids.generate());
    pause();
}

fn assert_distinct(mut issued: Vec<Id>) {
    let count = issued.len();
    issued.sort_unstable();
    issued.dedup();
    assert_eq!(count - issued.len(), 0, "of {count} some were issued twice");
}

fn is_short(ids: &Ids) -> bool {
    matches!(ids.health(), Health::Short { .. })
}

fn is_ready(ids: &Ids) -> bool {
    matches!(ids.health(), Health::Ready { .. })
}

/// Where a scenario takes place: opens the same store again and again.
type Server = dyn Fn() -> Store + Sync;

macro_rules! on_each_store {
    ($($scenario:path as $name:ident),* $(,)?) => {
        mod on_memory {
            $(#[test] fn $name() {
                let store = crate::elastic::memory();
                $scenario(&move || store.clone().into());
            })*
        }
        #[cfg(feature = "sqlite")]
        mod on_sqlite {
            $(#[test] fn $name() {
                let folder = tempfile::tempdir().unwrap();
                let path = folder.path().join("leases.db");
                let open = move || randflake_std::lease::SqliteStore::open(&path, &crate::elastic::namespace());
                $scenario(&move || open().unwrap());
            })*
        }
    };
}

on_each_store! {
    crate::elastic::burst_and_quiet as a_burst_takes_more_and_a_quiet_time_gives_them_back,
    crate::elastic::losses::full as a_full_namespace_leaves_the_handle_with_what_it_has,
    crate::elastic::losses::to_and_fro as what_was_given_back_is_issued_from_by_nobody_but_its_next_holder,
}

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
        let from = unused_from.get(&grant.node_id).copied().unwrap_or(0);
        assert!(
            grant.end <= from.max(grant.start),
            "{grant:?}, not used from {from} on"
        );
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
fn burst_borrows_while_more_node_ids_are_taken() {
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
fn wait_ends_early_with_another_node_id() {
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
    until(
        "four node ids",
        || match ids.fill(&mut buffer) {
            Ok(count) => issued.extend_from_slice(&buffer[..count]),
            Err(GenerateError::SequenceExhausted { .. }) => pause(),
            Err(error) => panic!("{error}"),
        },
        || held(&ids) == 4,
    );
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

/// The first handle takes all that it may, and others still get theirs at once.
#[test]
fn a_load_that_never_ends_leaves_a_share_to_others() {
    let store = memory();
    let greedy = builder(store.clone(), 1..=NODE_IDS)
        .ttl(LONG_TTL)
        .build()
        .unwrap();
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

/// Once the namespace is full, a handle that waits gets what the elastic one gives back.
#[test]
fn greedy_handle_yields_to_waiting_builds() {
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
        until("the maximum", pause, || held(&greedy) == most);
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
