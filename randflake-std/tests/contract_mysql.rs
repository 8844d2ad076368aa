//! The contracts of stores, on a MariaDB server. Each test has a database of its own, whose clock
//! is a row in a table.

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

use randflake_std::lease::{LeaseStore, MAX_SKEW, MysqlStore, Namespace, StoreError};
use randflake_std::segment::SegmentStore;

use contract::{BEGIN_UNIX_MS, Backend, contract, eight};
use engines::Shared;
use engines::mariadb::{Client, MariadbServer};
use segment_contract::{Counters, segment_contract};

struct Mysql {
    server: Arc<MariadbServer>,
    database: String,
    behind: Mutex<Client>,
}

impl Mysql {
    fn new() -> Self {
        static SERVER: Shared<MariadbServer> = Shared::new();
        static DATABASES: AtomicU32 = AtomicU32::new(0);
        let server = SERVER.get(MariadbServer::start);
        let database = format!("contract_{}", DATABASES.fetch_add(1, Ordering::Relaxed));
        let create = format!("CREATE DATABASE {database}");
        server.client(None).query_drop(create).unwrap();
        let mut behind = server.client(Some(&database));
        MysqlStore::open(&server.url(&database), &eight("first")).unwrap();
        for statement in [
            &*format!(
                "CREATE TABLE clock AS SELECT {} AS unix_us",
                BEGIN_UNIX_MS * 1_000
            ),
            "DROP PROCEDURE randflake_clock",
            "CREATE PROCEDURE randflake_clock(OUT now_us BIGINT) SELECT unix_us INTO now_us FROM clock",
        ] {
            behind.query_drop(statement).unwrap();
        }
        let behind = Mutex::new(behind);
        Self {
            server,
            database,
            behind,
        }
    }
}

impl Backend for Mysql {
    fn open(&self, namespace: &Namespace) -> Result<Box<dyn LeaseStore>, StoreError> {
        let url = self.server.url(&self.database);
        Ok(Box::new(MysqlStore::open(&url, namespace)?))
    }

    fn step_clock(&self, _: usize, ms: i64) {
        let step = "UPDATE clock SET unix_us = unix_us + ?";
        let mut behind = self.behind.lock().unwrap();
        behind.exec_drop(step, (ms * 1_000,)).unwrap();
    }

    /// As when a replica is promoted that has received nothing yet.
    fn lose_memory(&self) {
        let mut behind = self.behind.lock().unwrap();
        for statement in [
            "UPDATE randflake_lease SET held = FALSE, start_tick = 0, end_tick = 0, fencing_token = 0,
                token = '', holder = '' WHERE fencing_token > 0",
            "UPDATE randflake_page SET soonest_end = 0, is_full = FALSE",
            "DELETE FROM randflake_counter",
            "UPDATE randflake_store SET fingerprint = 'of another server'",
        ] {
            behind.query_drop(statement).unwrap();
        }
        // Who was connected to the former server is not connected to this one.
        let others = "SELECT id FROM information_schema.processlist
            WHERE db = DATABASE() AND id <> CONNECTION_ID()";
        let others: Vec<u64> = behind.query(others).unwrap();
        for other in others {
            // It may have gone by itself.
            _ = behind.query_drop(format!("KILL HARD CONNECTION {other}"));
        }
    }

    fn history_steps(&self) -> usize {
        800
    }

    fn history_clock_steps_ms(&self) -> u64 {
        u64::try_from(MAX_SKEW.as_millis()).unwrap()
    }
}

contract!(Mysql::new());

#[cfg(feature = "ticket")]
mod devices {
    use super::{Mysql, contract};

    contract!(Mysql::new(); a_device_is_served_by_one_server_after_the_other, a_released_lease_of_a_device_is_free,);
}

impl Counters for Mysql {
    fn open_counter(&self, namespace: &Namespace) -> Box<dyn SegmentStore> {
        let url = self.server.url(&self.database);
        Box::new(MysqlStore::open(&url, namespace).unwrap())
    }

    fn lose_counters(&self) {
        self.lose_memory();
    }

    fn counter_steps(&self) -> usize {
        500
    }
}

mod segments {
    use super::{Mysql, segment_contract};

    segment_contract!(Mysql::new());
}
