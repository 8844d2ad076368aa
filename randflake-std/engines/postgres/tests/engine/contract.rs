//! The contracts of stores, on a PostgreSQL server. Each test has a database of its own, whose
//! clock is a row in a table: another function has taken the place of the server's own.

use core::sync::atomic::{AtomicU32, Ordering};
use core::time::Duration;
use std::sync::{Arc, Mutex};

use harness::Shared;
use harness::postgres::PostgresServer;
use postgres::Client;
use randflake_lease::{LeaseStore, MAX_SKEW, Namespace, StoreError};
use randflake_postgres::PostgresStore;

use randflake_lease::testkit::counters::{Counters, NewCounters};
use randflake_lease::testkit::leases::declared_new;
use randflake_lease::testkit::leases::{BEGIN_UNIX_MS, Backend, patiently};
use randflake_lease::testkit::server;

struct Database {
    server: Arc<PostgresServer>,
    name: String,
    behind: Mutex<Client>,
    counters: NewCounters,
}

impl Database {
    fn new() -> Self {
        static SERVER: Shared<PostgresServer> = Shared::new();
        static DATABASES: AtomicU32 = AtomicU32::new(0);
        let server = SERVER.get(PostgresServer::start);
        let name = format!("contract_{}", DATABASES.fetch_add(1, Ordering::Relaxed));
        let create = format!("CREATE DATABASE {name}");
        server.client("postgres").batch_execute(&create).unwrap();
        let mut behind = server.client(&name);
        behind
            .batch_execute(&format!(
                "CREATE TABLE public.clock AS SELECT {BEGIN_UNIX_MS} AS unix_ms;
                ALTER FUNCTION pg_catalog.clock_timestamp() RENAME TO true_clock_timestamp;
                CREATE FUNCTION pg_catalog.clock_timestamp() RETURNS timestamptz VOLATILE LANGUAGE sql AS
                'SELECT to_timestamp(unix_ms / 1000.0) FROM public.clock'"
            ))
            .unwrap();
        let behind = Mutex::new(behind);
        Self {
            server,
            name,
            behind,
            counters: NewCounters::default(),
        }
    }

    fn client(&self, namespace: &Namespace) -> Result<LeaseStore, StoreError> {
        PostgresStore::simulated(&self.server.url(&self.name), namespace)
    }
}

impl Backend for Database {
    fn open(&self, namespace: &Namespace) -> Result<LeaseStore, StoreError> {
        let store = self.client(namespace)?;
        declared_new(&self.server.url(&self.name), store)
    }

    fn names(&self) -> Vec<String> {
        server::names(&randflake_postgres::ENGINE, &self.server.url(&self.name))
    }

    fn find(&self, name: &str) -> Option<Namespace> {
        server::find(
            &randflake_postgres::ENGINE,
            &self.server.url(&self.name),
            name,
        )
    }

    fn step_clock(&self, _: usize, ms: i64) {
        let step = "UPDATE public.clock SET unix_ms = unix_ms + $1";
        let mut behind = self.behind.lock().unwrap();
        behind.execute(step, &[&ms]).unwrap();
    }

    /// As when a standby is promoted that has received nothing yet.
    fn lose_memory(&self) {
        let lost = "DELETE FROM randflake.record WHERE kind <> 0;
            UPDATE randflake.record SET value = regexp_replace(value, '[0-9a-z]*:[^:]*$', 'h:of another server')";
        let mut behind = self.behind.lock().unwrap();
        behind.batch_execute(lost).unwrap();
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

randflake_lease::lease_contract!(Database::new());
randflake_lease::counter_contract!(Database::new());

impl Counters for Database {
    fn open_counter(&self, namespace: &Namespace) -> LeaseStore {
        let store = patiently(|| self.client(namespace)).unwrap();
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
