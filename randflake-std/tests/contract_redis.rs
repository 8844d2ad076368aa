//! The contracts of stores, on a Redis server whose clock is the test's; and what becomes of leases
//! when the server forgets them.

#![cfg(unix)]
#![expect(
    clippy::unwrap_used,
    clippy::panic,
    reason = "a test fails by panicking"
)]

#[path = "redis/continuity.rs"]
mod continuity;
mod contract;
#[expect(dead_code, reason = "the tests of faults do more to servers")]
mod engines;
#[path = "redis/losses.rs"]
mod losses;
#[path = "redis/replies.rs"]
mod replies;
#[path = "redis/rights.rs"]
mod rights;
mod segment_contract;

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex};

use randflake_core::ManualClock;
use randflake_std::lease::{self, LeaseStore, MAX_SKEW, Namespace, RedisStore, StoreError};
use randflake_std::segment::SegmentStore;

use contract::{BEGIN_UNIX_MS, Backend, contract, patiently};
use engines::redis::RedisServer;
use segment_contract::{Counters, segment_contract};

struct Redis {
    server: RedisServer,
    clock: Arc<ManualClock>,
    seen: Mutex<BTreeSet<String>>,
}

impl Redis {
    fn new() -> Self {
        Self {
            server: RedisServer::start(),
            clock: Arc::new(ManualClock::at_unix_ms(BEGIN_UNIX_MS)),
            seen: Mutex::default(),
        }
    }
}

impl Backend for Redis {
    fn open(&self, namespace: &Namespace) -> Result<Box<dyn LeaseStore>, StoreError> {
        let clock = Arc::clone(&self.clock);
        let mut store = RedisStore::open_with_clock(&self.server.url(), namespace, clock)?;
        let mut seen = self.seen.lock().unwrap();
        if seen.insert(namespace.name().to_owned()) {
            // It is new.
            store.end_quarantine()?;
        }
        Ok(Box::new(store))
    }

    fn names(&self) -> Vec<String> {
        lease::namespaces(&self.server.url())
            .unwrap()
            .unwrap_or_default()
    }

    fn find(&self, name: &str) -> Option<Namespace> {
        lease::find(&self.server.url(), name).unwrap()
    }

    fn step_clock(&self, _: usize, ms: i64) {
        if ms < 0 {
            self.clock.turn_back_ms(ms.unsigned_abs());
        } else {
            self.clock.advance_ms(ms.unsigned_abs());
        }
    }

    fn lose_memory(&self) {
        assert_eq!(self.server.ask("FLUSHALL"), "+OK\r\n");
    }

    fn history_steps(&self) -> usize {
        10_000
    }

    fn history_clock_steps_ms(&self) -> u64 {
        u64::try_from(MAX_SKEW.as_millis()).unwrap()
    }
}

contract!(Redis::new());

#[cfg(feature = "ticket")]
mod devices {
    use super::{Redis, contract};

    contract!(Redis::new(); a_device_is_served_by_one_server_after_the_other, a_released_lease_of_a_device_is_free,);
}

/// Counters do not begin by themselves here: an administrator has begun each, while nothing was lost.
impl Counters for Redis {
    fn open_counter(&self, namespace: &Namespace) -> Box<dyn SegmentStore> {
        let mut store = patiently(|| RedisStore::open(&self.server.url(), namespace)).unwrap();
        let mut seen = self.seen.lock().unwrap();
        if !seen.contains(LOST) && seen.insert(namespace.name().to_owned()) {
            store.resume(1).unwrap();
        }
        Box::new(store)
    }

    fn lose_counters(&self) {
        self.seen.lock().unwrap().insert(LOST.to_owned());
        self.lose_memory();
    }

    fn counter_steps(&self) -> usize {
        2_000
    }
}

/// No namespace has that name.
const LOST: &str = "(lost)";

mod segments {
    use super::{Redis, segment_contract};

    segment_contract!(Redis::new());
}
