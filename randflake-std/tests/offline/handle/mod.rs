//! A handle and its keeper, on a store that fails on demand. Leases are as short as they may be where their end is waited
//! for, and long where a machine that stands still for seconds would end them.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

mod closing;
mod issuing;
mod leases;
mod settings;

use core::sync::atomic::{AtomicI64, Ordering};
use core::time::Duration;
use std::sync::Arc;
use std::thread;
use std::time::Instant;

use randflake_core::Clock;
use randflake_std::lease::{Grant, MemoryStore, Namespace};
use randflake_std::{Builder, ExactSystemClock, Handle, Layout, Randflake, Secret};

const TTL: Duration = Duration::from_secs(3);
/// For leases of which the keeper's next call is waited for, which is after a third, and not their end.
const LONGER_TTL: Duration = Duration::from_secs(20);
/// For leases that are not to end, nor to be renewed, while a test runs.
const LONG_TTL: Duration = Duration::from_secs(300);
/// Far longer than what is waited for takes, on a busy machine too.
const PATIENCE: Duration = Duration::from_secs(60);
const SECOND: Duration = Duration::from_secs(1);

/// The real time, off by what the test says.
#[derive(Debug, Default)]
struct StoreClock {
    offset_ms: AtomicI64,
}

impl Clock for StoreClock {
    fn now(&self) -> Option<Duration> {
        let now_ms = i64::try_from(ExactSystemClock.now()?.as_millis()).ok()?;
        let shown_ms = now_ms + self.offset_ms.load(Ordering::SeqCst);
        Some(Duration::from_millis(shown_ms.cast_unsigned()))
    }
}

fn store_for<L: Layout>() -> (MemoryStore, Arc<StoreClock>) {
    let clock = Arc::new(StoreClock::default());
    let namespace = Namespace::new("test", L::default()).unwrap();
    let namespace = namespace.with_max_ttl(LONG_TTL);
    (MemoryStore::new(namespace, Arc::clone(&clock)), clock)
}

fn store() -> MemoryStore {
    store_for::<Randflake>().0
}

fn builder(store: &MemoryStore) -> Builder {
    Handle::builder(&Secret::from_bytes([7; 16]), store.clone()).ttl(TTL)
}

/// Waits until something holds.
fn eventually(what: &str, mut holds: impl FnMut() -> bool) {
    let started = Instant::now();
    while !holds() {
        assert!(started.elapsed() < PATIENCE, "{what} did not happen");
        thread::sleep(Duration::from_millis(20));
    }
}

fn node_id<L: Layout>(handle: &Handle<L>) -> u32 {
    handle.lease().leases[0].node_id()
}

fn live(store: &MemoryStore) -> Vec<Grant> {
    let mut store = store.clone();
    let now = Randflake::SPEC.tick_at(store.now().unwrap()).unwrap();
    let records = store.list().unwrap().into_iter().map(|record| record.grant);
    records.filter(|grant| now < grant.end).collect()
}
