//! The contracts of stores, in memory.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use core::time::Duration;
use std::sync::Arc;

use randflake_core::ManualClock;
use randflake_std::lease::{LeaseStore, MemoryStore, Namespace, StoreError};

use crate::contract::{BEGIN_UNIX_MS, Backend, TTL, acquire, acquire_one, contract, eight, ticks};
use crate::segment_contract::{Counters, segment_contract};

struct Memory {
    clock: Arc<ManualClock>,
    store: MemoryStore,
}

impl Memory {
    fn new() -> Self {
        let clock = Arc::new(ManualClock::at_unix_ms(BEGIN_UNIX_MS));
        let store = MemoryStore::new(eight("first"), Arc::clone(&clock));
        Self { clock, store }
    }
}

impl Backend for Memory {
    fn open(&self, namespace: &Namespace) -> Result<LeaseStore, StoreError> {
        Ok(self.store.open(namespace.clone())?.into())
    }

    fn names(&self) -> Vec<String> {
        let list = self.store.clone().namespaces().unwrap();
        list.unwrap_or_default().names
    }

    fn find(&self, name: &str) -> Option<Namespace> {
        self.store.clone().find(name).unwrap()
    }

    fn step_clock(&self, _: usize, ms: i64) {
        self.clock.step_ms(ms);
    }

    fn lose_memory(&self) {
        self.store.forget();
    }

    fn history_steps(&self) -> usize {
        20_000
    }
}

impl Counters for Memory {
    fn open_counter(&self, namespace: &Namespace) -> LeaseStore {
        self.store.open(namespace.clone()).unwrap().into()
    }

    fn counter_steps(&self) -> usize {
        20_000
    }
}

contract!(Memory::new());
segment_contract!(Memory::new());

/// Those of a try whose reply was lost are read beside those that are free.
#[test]
fn a_repeated_acquire_grants_each_node_id_once() {
    let backend = Memory::new();
    let mut store = backend.open(&eight("orders")).unwrap();
    backend.store.lose_replies(1);
    acquire(&mut store, 1, 2).unwrap_err();
    backend.pass(ticks(TTL));
    acquire_one(&mut backend.open(&eight("orders")).unwrap(), 2);
    let grants = acquire(&mut store, 1, 2).unwrap().grants;
    assert_ne!(grants[0].node_id, grants[1].node_id);
}

/// Clients that carry the store's clock on by a monotonic one, and renew without reading.
struct Unread {
    memory: Memory,
    monotonic: Arc<ManualClock>,
}

impl Unread {
    fn new() -> Self {
        Self {
            memory: Memory::new(),
            monotonic: Arc::new(ManualClock::at_unix_ms(0)),
        }
    }
}

impl Backend for Unread {
    fn open(&self, namespace: &Namespace) -> Result<LeaseStore, StoreError> {
        let store = self.memory.store.open(namespace.clone())?;
        let (wall, monotonic) = (Arc::clone(&self.memory.clock), Arc::clone(&self.monotonic));
        Ok(store.simulated_on(wall, monotonic).into())
    }

    fn pass(&self, span: Duration) {
        self.memory.pass(span);
        self.monotonic
            .advance_ms(u64::try_from(span.as_millis()).unwrap());
    }

    fn names(&self) -> Vec<String> {
        self.memory.names()
    }

    fn find(&self, name: &str) -> Option<Namespace> {
        self.memory.find(name)
    }

    /// Of the store, and of the machine's wall clock with it.
    fn step_clock(&self, client: usize, ms: i64) {
        self.memory.step_clock(client, ms);
    }

    fn lose_memory(&self) {
        self.memory.lose_memory();
    }

    fn history_steps(&self) -> usize {
        self.memory.history_steps()
    }
}

mod unread {
    use super::{Unread, contract};

    contract!(Unread::new());
}
