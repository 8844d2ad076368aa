//! What a handle has for tasks: a runtime of one thread goes on with its other tasks while the store hangs.
//!
//! In each test the store hangs until a task of the same runtime has been polled a hundred times. If a call blocked the
//! runtime, that would never be.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

mod building;
mod dropping;
mod waiting;

use core::time::Duration;
use std::sync::Arc;
use std::thread;
use std::time::Instant;

use randflake_core::Plain;
use randflake_std::Builder;
use randflake_std::lease::{LeaseStore, MemoryStore, Namespace, Record};
use tokio::runtime::{self, Runtime};
use tokio::time::sleep;

use crate::gate::Gate;
use crate::layouts::{SLOW_TTL, Slow};

/// Far longer than what is waited for takes, on a busy machine too.
const PATIENCE: Duration = Duration::from_secs(60);

/// A store behind a gate that is open.
fn store() -> (MemoryStore, Arc<Gate>) {
    let gate = Arc::new(Gate::default());
    let namespace = Namespace::new("test", Slow).unwrap().with_max_ttl(SLOW_TTL);
    (MemoryStore::new(namespace, Arc::clone(&gate)), gate)
}

fn builder(store: impl Into<LeaseStore>) -> Builder<Slow> {
    Builder::new(Slow, Plain, store).ttl(SLOW_TTL)
}

fn current_thread() -> Runtime {
    runtime::Builder::new_current_thread()
        .enable_time()
        .build()
        .unwrap()
}

/// A task that lets the store answer once it has been polled a hundred times while a call of the store hung.
async fn ticks_until_it_opens(gate: Arc<Gate>) {
    let started = Instant::now();
    while !gate.is_waited_for() {
        assert!(started.elapsed() < PATIENCE, "nothing calls the store");
        sleep(Duration::from_millis(1)).await;
    }
    for _ in 0..100 {
        tokio::task::yield_now().await;
    }
    assert!(gate.is_waited_for(), "the store hangs to the end");
    gate.open();
}

fn records(store: &MemoryStore) -> Vec<Record> {
    store.clone().list().unwrap()
}

/// Whether the lease was given back without an id.
fn is_unused(record: &Record) -> bool {
    record.grant.end == record.grant.start
}

/// Waits until something holds.
fn eventually(what: &str, mut holds: impl FnMut() -> bool) {
    let started = Instant::now();
    while !holds() {
        assert!(started.elapsed() < PATIENCE, "{what} did not happen");
        thread::sleep(Duration::from_millis(5));
    }
}
