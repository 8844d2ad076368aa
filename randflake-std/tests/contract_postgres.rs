//! The contracts of stores, on a PostgreSQL server. Each test has a database of its own, whose
//! clock is a row in a table.

#![cfg(unix)]
#![expect(
    clippy::unwrap_used,
    clippy::panic,
    reason = "a test fails by panicking"
)]

mod contract;
#[expect(dead_code, reason = "it starts one kind of server")]
mod engines;
mod segment_contract;

use core::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex};

use postgres::Client;
use randflake_std::lease::{LeaseStore, MAX_SKEW, Namespace, PostgresStore, StoreError};
use randflake_std::segment::SegmentStore;

use contract::{BEGIN_UNIX_MS, Backend, contract, eight};
use engines::Shared;
use engines::postgres::PostgresServer;
use segment_contract::{Counters, segment_contract};

struct Postgres {
    server: Arc<PostgresServer>,
    database: String,
    behind: Mutex<Client>,
}

impl Postgres {
    fn new() -> Self {
        static SERVER: Shared<PostgresServer> = Shared::new();
        static DATABASES: AtomicU32 = AtomicU32::new(0);
        let server = SERVER.get(PostgresServer::start);
        let database = format!("contract_{}", DATABASES.fetch_add(1, Ordering::Relaxed));
        let create = format!("CREATE DATABASE {database}");
        server.client("postgres").batch_execute(&create).unwrap();
        let mut behind = server.client(&database);
        PostgresStore::open(&server.url(&database), &eight("first")).unwrap();
        behind
            .batch_execute(&format!(
                "CREATE TABLE public.clock AS SELECT {} AS unix_us;
                CREATE OR REPLACE FUNCTION randflake.unix_us() RETURNS bigint LANGUAGE sql AS
                'SELECT unix_us FROM public.clock'",
                BEGIN_UNIX_MS * 1_000
            ))
            .unwrap();
        let behind = Mutex::new(behind);
        Self {
            server,
            database,
            behind,
        }
    }
}

impl Backend for Postgres {
    fn open(&self, namespace: &Namespace) -> Result<Box<dyn LeaseStore>, StoreError> {
        let url = self.server.url(&self.database);
        Ok(Box::new(PostgresStore::open(&url, namespace)?))
    }

    fn step_clock(&self, _: usize, ms: i64) {
        let step = "UPDATE public.clock SET unix_us = unix_us + $1";
        let mut behind = self.behind.lock().unwrap();
        behind.execute(step, &[&(ms * 1_000)]).unwrap();
    }

    /// As when a standby is promoted that has received nothing yet.
    fn lose_memory(&self) {
        let mut behind = self.behind.lock().unwrap();
        behind
            .batch_execute(
                "UPDATE randflake.lease SET held = false, start_tick = 0, end_tick = 0,
                    fencing_token = 0, token = '', holder = '' WHERE fencing_token > 0;
                UPDATE randflake.page SET soonest_end = 0, is_full = false;
                DELETE FROM randflake.counter;
                UPDATE randflake.store SET fingerprint = 'of another server'",
            )
            .unwrap();
        // Who was connected to the former server is not connected to this one.
        let cut = "SELECT pg_terminate_backend(pid, 10000) FROM pg_stat_activity
            WHERE datname = current_database() AND pid <> pg_backend_pid()";
        behind.query(cut, &[]).unwrap();
    }

    fn history_steps(&self) -> usize {
        800
    }

    fn history_clock_steps_ms(&self) -> u64 {
        u64::try_from(MAX_SKEW.as_millis()).unwrap()
    }
}

contract!(Postgres::new());

#[cfg(feature = "ticket")]
mod devices {
    use super::{Postgres, contract};

    contract!(Postgres::new(); a_device_is_served_by_one_server_after_the_other, a_released_lease_of_a_device_is_free,);
}

impl Counters for Postgres {
    fn open_counter(&self, namespace: &Namespace) -> Box<dyn SegmentStore> {
        let url = self.server.url(&self.database);
        Box::new(PostgresStore::open(&url, namespace).unwrap())
    }

    fn lose_counters(&self) {
        self.lose_memory();
    }

    fn counter_steps(&self) -> usize {
        500
    }
}

mod segments {
    use super::{Postgres, segment_contract};

    segment_contract!(Postgres::new());
}
