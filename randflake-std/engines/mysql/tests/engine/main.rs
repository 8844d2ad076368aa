//! The contracts of stores, on a MariaDB server: each test has a database of its own, and a clock.
//! And what is MariaDB's own: what is noticed, how long it takes, and who may do it.

#![cfg(unix)]
#![expect(
    clippy::unwrap_used,
    clippy::panic,
    reason = "a test fails by panicking"
)]

mod continuity;
mod copies;
mod database;
mod pooler;
mod replicas;
mod rights;
mod settings;

use core::sync::atomic::{AtomicU32, Ordering};
use core::time::Duration;
use std::sync::{Arc, Mutex};

use harness::Shared;
use harness::mariadb::{Client, MariadbServer};
use randflake_core::ManualClock;
use randflake_lease::{LeaseStore, MAX_SKEW, Namespace, StoreError};
use randflake_mysql::MysqlStore;

use randflake_lease::testkit::counters::{Counters, NewCounters};
use randflake_lease::testkit::leases::declared_new;
use randflake_lease::testkit::leases::{BEGIN_UNIX_MS, Backend, patiently};
use randflake_lease::testkit::server;

/// An empty one on the server that most tests share.
fn new_database() -> (Arc<MariadbServer>, String) {
    static SERVER: Shared<MariadbServer> = Shared::new();
    static DATABASES: AtomicU32 = AtomicU32::new(0);
    let server = SERVER.get(MariadbServer::start);
    let database = format!("ids_{}", DATABASES.fetch_add(1, Ordering::Relaxed));
    let create = format!("CREATE DATABASE {database}");
    server.client(None).query_drop(create).unwrap();
    (server, database)
}

struct Mysql {
    server: Arc<MariadbServer>,
    database: String,
    clock: Arc<ManualClock>,
    behind: Mutex<Client>,
    counters: NewCounters,
}

impl Mysql {
    fn new() -> Self {
        let (server, database) = new_database();
        let behind = Mutex::new(server.client(Some(&database)));
        let clock = Arc::new(ManualClock::at_unix_ms(BEGIN_UNIX_MS));
        Self {
            server,
            database,
            clock,
            behind,
            counters: NewCounters::default(),
        }
    }

    fn store(&self, namespace: &Namespace) -> Result<LeaseStore, StoreError> {
        let url = self.server.url(&self.database);
        MysqlStore::open_with_clock(&url, namespace, Arc::clone(&self.clock))
    }
}

impl Backend for Mysql {
    fn open(&self, namespace: &Namespace) -> Result<LeaseStore, StoreError> {
        let store = self.store(namespace)?;
        declared_new(&self.server.url(&self.database), store)
    }

    fn names(&self) -> Vec<String> {
        server::names(&randflake_mysql::ENGINE, &self.server.url(&self.database))
    }

    fn find(&self, name: &str) -> Option<Namespace> {
        server::find(
            &randflake_mysql::ENGINE,
            &self.server.url(&self.database),
            name,
        )
    }

    fn step_clock(&self, _: usize, ms: i64) {
        self.clock.step_ms(ms);
    }

    /// As when a replica is promoted that has received no lease yet.
    fn lose_memory(&self) {
        let mut behind = self.behind.lock().unwrap();
        for statement in [
            "DELETE FROM randflake_record WHERE kind <> 0",
            "UPDATE randflake_store SET id = id + 1",
        ] {
            behind.query_drop(statement).unwrap();
        }
    }

    fn at_once(&self) -> u32 {
        1_024
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

randflake_lease::lease_contract!(Mysql::new());
randflake_lease::counter_contract!(Mysql::new());

impl Counters for Mysql {
    fn open_counter(&self, namespace: &Namespace) -> LeaseStore {
        let store = patiently(|| self.store(namespace)).unwrap();
        self.counters.declared(namespace.name(), store).unwrap()
    }

    fn lose_counters(&self) {
        self.counters.lose();
        self.lose_memory();
    }

    fn has_url(&self) -> bool {
        true
    }
}
