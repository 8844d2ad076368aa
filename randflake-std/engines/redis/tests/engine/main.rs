//! The contracts of stores, on a Redis server whose clock is the test's; and what becomes of leases
//! when the server forgets them.

#![cfg(unix)]
#![expect(
    clippy::unwrap_used,
    clippy::panic,
    reason = "a test fails by panicking"
)]

mod continuity;
mod databases;
mod kept_connections;
mod lists;
mod losses;
mod replies;
mod rights;

use core::time::Duration;
use std::sync::Arc;

use harness::redis::RedisServer;
use randflake_core::ManualClock;
use randflake_lease::{LeaseStore, MAX_SKEW, Namespace, StoreError};
use randflake_redis::RedisStore;

use randflake_lease::testkit::counters::{Counters, NewCounters};
use randflake_lease::testkit::leases::declared_new;
use randflake_lease::testkit::leases::{BEGIN_UNIX_MS, Backend, patiently};
use randflake_lease::testkit::server;

fn open(url: &str, namespace: &Namespace) -> Result<LeaseStore, StoreError> {
    server::open(&randflake_redis::ENGINE, url, namespace)
}

struct Redis {
    server: RedisServer,
    clock: Arc<ManualClock>,
    counters: NewCounters,
}

impl Redis {
    fn new() -> Self {
        Self {
            server: RedisServer::start(),
            clock: Arc::new(ManualClock::at_unix_ms(BEGIN_UNIX_MS)),
            counters: NewCounters::default(),
        }
    }
}

impl Backend for Redis {
    fn open(&self, namespace: &Namespace) -> Result<LeaseStore, StoreError> {
        let clock = Arc::clone(&self.clock);
        let url = self.server.url();
        let store = RedisStore::open_with_clock(&url, namespace, clock)?;
        declared_new(&url, store)
    }

    fn names(&self) -> Vec<String> {
        server::names(&randflake_redis::ENGINE, &self.server.url())
    }

    fn find(&self, name: &str) -> Option<Namespace> {
        server::find(&randflake_redis::ENGINE, &self.server.url(), name)
    }

    fn step_clock(&self, _: usize, ms: i64) {
        self.clock.step_ms(ms);
    }

    fn lose_memory(&self) {
        assert_eq!(self.server.ask("FLUSHALL"), "+OK\r\n");
    }

    fn filled(&self) -> Namespace {
        server::filled()
    }

    fn history_steps(&self) -> usize {
        server::history_steps()
    }

    fn history_clock_steps(&self) -> Duration {
        MAX_SKEW
    }
}

randflake_lease::lease_contract!(Redis::new());
randflake_lease::counter_contract!(Redis::new());

impl Counters for Redis {
    fn open_counter(&self, namespace: &Namespace) -> LeaseStore {
        let store = patiently(|| RedisStore::open(&self.server.url(), namespace)).unwrap();
        self.counters.declared(namespace.name(), store).unwrap()
    }

    fn lose_counters(&self) {
        self.counters.lose();
        self.lose_memory();
    }

    fn counter_steps(&self) -> usize {
        2_000
    }

    fn has_url(&self) -> bool {
        true
    }
}
