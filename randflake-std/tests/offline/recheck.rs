//! Rechecks after broken connections: one look at the store before the next renewal, and no storm.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use core::sync::atomic::{AtomicU64, Ordering};
use core::time::Duration;
use std::sync::Arc;
use std::thread;
use std::time::Instant;

use randflake_std::lease::{MemoryStore, Namespace};
use randflake_std::unstable::engine::{Ask, Profile, Reading};
use randflake_std::unstable::rules::{Key, Keys, Write, WriteOutcome};
use randflake_std::{Builder, ExactSystemClock, Plain, Randflake};

use crate::watched::{Watcher, watched};

const HOLDERS: u64 = 1_000;
const TTL: Duration = Duration::from_secs(24);
/// Far longer than what is waited for takes, on a busy machine too.
const PATIENCE: Duration = Duration::from_secs(120);

/// What holders have done.
#[derive(Debug, Default)]
struct Watch {
    /// Looks at connections: these are what the keepers are woken for.
    checks: AtomicU64,
    /// Looks at the store.
    looks: AtomicU64,
    renewals: AtomicU64,
    /// Renewals of leases that a look did not find.
    renewals_of_missing: AtomicU64,
}

/// A server that closes every connection that is idle.
#[derive(Debug)]
struct Closing {
    watch: Arc<Watch>,
    operation: Operation,
    is_missing: bool,
}

/// What a holder does: an acquire and a renewal say that they begin, a look does not.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Operation {
    None,
    Begun,
    Running,
}

impl Watcher for Closing {
    fn profile(&self, profile: Profile) -> Profile {
        let has_own_clock = true;
        Profile {
            has_own_clock,
            ..profile
        }
    }

    fn has_disconnected(&mut self, _: bool) -> bool {
        self.watch.checks.fetch_add(1, Ordering::SeqCst);
        true
    }

    fn begins(&mut self, ttl: Duration) {
        if ttl == TTL {
            self.operation = Operation::Begun;
        }
    }

    fn has_read(&mut self, ask: &Ask<'_>, reading: &Reading) {
        let nodes = ask
            .keys
            .iter()
            .filter(|keys| matches!(keys, Keys::One(Key::Node(_))))
            .count();
        let found = reading
            .texts
            .keys()
            .filter(|key| matches!(key, Key::Node(_)))
            .count();
        match self.operation {
            Operation::None if nodes > 0 => {
                self.watch.looks.fetch_add(1, Ordering::SeqCst);
                self.is_missing = found < nodes;
            }
            Operation::Begun => {
                // An acquire names no node id.
                let renewals = u64::from(nodes > 0);
                let of_missing = renewals * u64::from(self.is_missing);
                let watch = &self.watch;
                watch.renewals.fetch_add(renewals, Ordering::SeqCst);
                watch
                    .renewals_of_missing
                    .fetch_add(of_missing, Ordering::SeqCst);
                self.operation = Operation::Running;
            }
            Operation::None | Operation::Running => {}
        }
    }

    fn has_written(&mut self, _: &Write, committed: WriteOutcome) {
        if committed != WriteOutcome::Stale {
            self.operation = Operation::None;
        }
    }

    fn abandons(&mut self) {
        self.operation = Operation::None;
    }
}

/// A store in memory, its watch, and what opens it again for a holder.
fn server() -> (MemoryStore, Arc<Watch>) {
    let namespace = Namespace::new("orders", Randflake).unwrap();
    let store = MemoryStore::new(namespace, Arc::new(ExactSystemClock));
    (store, Arc::default())
}

fn holder(store: &MemoryStore, watch: &Arc<Watch>) -> randflake_std::Handle<Randflake, Plain> {
    let closing = Closing {
        watch: Arc::clone(watch),
        operation: Operation::None,
        is_missing: false,
    };
    let store = watched(store.clone(), closing);
    Builder::new(Randflake, Plain, store)
        .ttl(TTL)
        .build()
        .unwrap()
}

/// How often something happens at most, if it does so many times in a TTL.
fn most(elapsed: Duration, times_per_ttl: u32) -> u64 {
    let times = elapsed.as_millis() / (TTL / times_per_ttl).as_millis();
    HOLDERS * (u64::try_from(times).unwrap() + 2)
}

#[test]
fn closed_idle_connections_cause_no_storm() {
    let (store, watch) = server();
    let begin = Instant::now();
    let holders: Vec<_> = (0..HOLDERS).map(|_| holder(&store, &watch)).collect();
    while watch.looks.load(Ordering::SeqCst) < 2 * HOLDERS {
        assert!(begin.elapsed() < PATIENCE, "{watch:?}");
        thread::sleep(Duration::from_millis(50));
    }
    let (looks, checks) = (&watch.looks, &watch.checks);
    let counts = [looks, checks].map(|count| count.load(Ordering::SeqCst));
    let elapsed = begin.elapsed();
    for count in counts {
        assert!(count <= most(elapsed, 20), "{watch:?} in {elapsed:?}");
    }
    assert_eq!(watch.renewals_of_missing.load(Ordering::SeqCst), 0);
    drop(holders);
}

#[test]
fn lost_lease_is_noticed_before_the_next_renewal() {
    let (store, watch) = server();
    let holders: Vec<_> = (0..8).map(|_| holder(&store, &watch)).collect();
    store.forget();
    let begin = Instant::now();
    while holders
        .iter()
        .any(|holder| holder.lease().losses.forgotten == 0)
    {
        assert!(begin.elapsed() < PATIENCE, "{watch:?}");
        thread::sleep(Duration::from_millis(20));
    }
    // Not those that were due.
    let of_missing = watch.renewals_of_missing.load(Ordering::SeqCst);
    assert_eq!((of_missing, watch.renewals.load(Ordering::SeqCst)), (8, 8));
    assert!(holders.iter().all(|holder| holder.generate().is_err()));
}
