//! Contracts of stores, in memory.

use core::sync::atomic::{AtomicUsize, Ordering};
use core::time::Duration;
use std::sync::Arc;

use randflake_core::ManualClock;
use randflake_lease::unstable::engine::{Ask, Reading};
use randflake_lease::{Grant, LeaseStore, MemoryStore, Namespace, StoreError, Verdict};

use crate::watched::{Watcher, watched};
use randflake_lease::testkit::counters::Counters;
use randflake_lease::testkit::leases::{
    BEGIN_UNIX_MS, Backend, TTL, acquire, acquire_one, eight, ticks,
};

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
        let list = self.store.clone().catalog().names().unwrap();
        list.unwrap_or_default().names
    }

    fn find(&self, name: &str) -> Option<Namespace> {
        self.store.clone().catalog().find(name).unwrap()
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
    const BEGINS_BY_ITSELF: bool = true;

    fn open_counter(&self, namespace: &Namespace) -> LeaseStore {
        self.store.open(namespace.clone()).unwrap().into()
    }

    fn counter_steps(&self) -> usize {
        20_000
    }
}

randflake_lease::lease_contract!(Memory::new());
randflake_lease::counter_contract!(Memory::new());

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
    use super::Unread;

    randflake_lease::lease_contract!(Unread::new());
}

#[test]
fn memory_store_is_local_and_keeps_nothing() {
    let mut store = Memory::new().store;
    assert!(!store.is_on_server());
    assert!(!store.has_disconnected());
    let findings = store.administration().diagnose().unwrap();
    let verdicts: Vec<_> = findings.iter().map(|it| (it.name, &it.verdict)).collect();
    assert!(
        matches!(
            verdicts[..],
            [
                ("durability", Verdict::Caution(_)),
                ("quarantine", Verdict::Fine)
            ]
        ),
        "{findings:?}"
    );
}

/// As those of servers do.
#[test]
fn a_renewal_in_memory_reads_nothing() {
    let unread = Unread::new();
    let mut store = unread.open(&eight("orders")).unwrap();
    let grant = acquire_one(&mut store, 1);
    let reads = Arc::new(AtomicUsize::new(0));
    let mut store = watched(store, Reads(Arc::clone(&reads)));
    assert!(store.renew(&[grant], TTL).unwrap().ends[0].is_ok());
    assert_eq!(reads.load(Ordering::Relaxed), 0);
}

#[derive(Debug)]
struct Reads(Arc<AtomicUsize>);

impl Watcher for Reads {
    fn has_read(&mut self, _: &Ask<'_>, _: &Reading) {
        self.0.fetch_add(1, Ordering::Relaxed);
    }
}

/// Each write of an unknown outcome is known again by its holder.
#[test]
fn a_renewal_whose_reply_was_lost_is_no_copy_s() {
    let unread = Unread::new();
    for mut store in [
        unread.memory.open(&eight("orders")).unwrap(),
        unread.open(&eight("users")).unwrap(),
    ] {
        let grant = acquire_one(&mut store, 1);
        for lost in [1, 1, 2] {
            unread.memory.store.lose_replies(lost);
            for _ in 0..lost {
                store.renew(&[grant], TTL).unwrap_err();
            }
            assert!(store.renew(&[grant], TTL).unwrap().ends[0].is_ok());
        }
        unread.memory.store.lose_replies(1);
        store.release(&[grant]).unwrap_err();
        store.release(&[grant]).unwrap();
    }
}

#[test]
fn a_look_says_whether_all_leases_are_there() {
    let backend = Memory::new();
    let mut store = backend.open(&eight("orders")).unwrap();
    let [first, second] = [1, 2].map(|number| acquire_one(&mut store, number));
    assert!(store.check_leases(&[first, second], TTL).unwrap().is_same());
    let never = Grant {
        node_id: 7,
        ..first
    };
    for gone in [
        never,
        Grant {
            fencing_token: 99,
            ..first
        },
    ] {
        assert!(!store.check_leases(&[gone], TTL).unwrap().is_same());
        assert!(!store.check_leases(&[second, gone], TTL).unwrap().is_same());
    }
}
