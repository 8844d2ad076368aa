//! Elastic handles: node ids taken and given back with the load, by real threads on real stores. Leases are as short as
//! they may be where a quiet time or an end is waited for, and long where a machine that stands still for seconds would
//! end them.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

mod full;
mod load;
mod losses;
mod regrant;
mod shares;
mod watched;

use core::ops::RangeInclusive;
use core::time::Duration;
use std::collections::BTreeSet;
use std::sync::Arc;
use std::thread;
use std::time::Instant;

use randflake_core::Sparx64;
use randflake_std::lease::{LeaseStore, MemoryStore, Namespace};
use randflake_std::{Builder, ExactSystemClock, GenerateError, Handle, Health, Id};

use crate::layouts::Narrow;

const TTL: Duration = Duration::from_secs(3);
/// For leases of which the keeper's next call is waited for, which is after a third, or the quiet time, and not their end.
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
    crate::elastic::load::burst_and_quiet as a_burst_takes_more_and_a_quiet_time_gives_them_back,
    crate::elastic::full::full as a_full_namespace_leaves_the_handle_with_what_it_has,
    crate::elastic::regrant::to_and_fro as what_was_given_back_is_issued_from_by_nobody_but_its_next_holder,
}
