//! The contracts of stores, in an SQLite file. Each client of leases has a clock of its own, as processes
//! with different ideas of the time would.

#![expect(
    clippy::unwrap_used,
    clippy::panic,
    reason = "a test fails by panicking"
)]

mod contract;
mod segment_contract;

use core::mem;
use core::time::Duration;
use std::fs;
use std::sync::{Arc, Mutex};

use randflake_core::ManualClock;
use randflake_std::lease::{self, LeaseStore, Namespace, SqliteStore, StoreError};
use randflake_std::segment::SegmentStore;
use tempfile::TempDir;

use contract::{BEGIN_UNIX_MS, Backend, contract, patiently};
use segment_contract::{Counters, segment_contract};

struct Sqlite {
    folder: TempDir,
    clocks: Mutex<Clocks>,
}

struct Clocks {
    of_clients: Vec<Arc<ManualClock>>,
    begin_unix_ms: u64,
}

impl Sqlite {
    fn new() -> Self {
        let clocks = Clocks {
            of_clients: Vec::new(),
            begin_unix_ms: BEGIN_UNIX_MS,
        };
        Self {
            folder: TempDir::new().unwrap(),
            clocks: Mutex::new(clocks),
        }
    }
}

impl Backend for Sqlite {
    fn open(&self, namespace: &Namespace) -> Result<Box<dyn LeaseStore>, StoreError> {
        let mut clocks = self.clocks.lock().unwrap();
        let clock = Arc::new(ManualClock::at_unix_ms(clocks.begin_unix_ms));
        clocks.of_clients.push(Arc::clone(&clock));
        let path = self.folder.path().join("leases.db");
        Ok(Box::new(SqliteStore::open_with_clock(
            path, namespace, clock,
        )?))
    }

    fn names(&self) -> Vec<String> {
        lease::namespaces(&format!(
            "sqlite:{}",
            self.folder.path().join("leases.db").display()
        ))
        .unwrap()
        .unwrap_or_default()
    }

    fn find(&self, name: &str) -> Option<Namespace> {
        lease::find(
            &format!("sqlite:{}", self.folder.path().join("leases.db").display()),
            name,
        )
        .unwrap()
    }

    fn pass(&self, span: Duration) {
        let ms = u64::try_from(span.as_millis()).unwrap();
        let mut clocks = self.clocks.lock().unwrap();
        clocks.begin_unix_ms += ms;
        clocks
            .of_clients
            .iter()
            .for_each(|clock| clock.advance_ms(ms));
    }

    fn step_clock(&self, client: usize, ms: i64) {
        let clock = &self.clocks.lock().unwrap().of_clients[client];
        if ms < 0 {
            clock.turn_back_ms(ms.unsigned_abs());
        } else {
            clock.advance_ms(ms.unsigned_abs());
        }
    }

    fn lose_memory(&self) {
        let path = self.folder.path().join("leases.db");
        if path.exists() {
            fs::remove_file(path).unwrap();
        }
    }

    fn history_steps(&self) -> usize {
        10_000
    }
}

impl Counters for Sqlite {
    fn open_counter(&self, namespace: &Namespace) -> Box<dyn SegmentStore> {
        let path = self.folder.path().join("leases.db");
        Box::new(patiently(|| SqliteStore::open(&path, namespace)).unwrap())
    }

    fn lose_counters(&self) {
        self.lose_memory();
    }

    fn counter_steps(&self) -> usize {
        500
    }
}

contract!(Sqlite::new());

#[cfg(feature = "ticket")]
mod devices {
    use super::{Sqlite, contract};

    contract!(Sqlite::new(); a_device_is_served_by_one_server_after_the_other, a_released_lease_of_a_device_is_free,);
}

mod segments {
    use super::{Sqlite, segment_contract};

    segment_contract!(Sqlite::new());
}

/// Loses its memory when a backup is restored: the state at the time of the loss before.
struct Restored {
    sqlite: Sqlite,
    backup: Mutex<Vec<u8>>,
}

impl Restored {
    fn new() -> Self {
        Self {
            sqlite: Sqlite::new(),
            backup: Mutex::default(),
        }
    }
}

impl Backend for Restored {
    fn names(&self) -> Vec<String> {
        self.sqlite.names()
    }

    fn find(&self, name: &str) -> Option<Namespace> {
        self.sqlite.find(name)
    }

    fn open(&self, namespace: &Namespace) -> Result<Box<dyn LeaseStore>, StoreError> {
        self.sqlite.open(namespace)
    }

    fn pass(&self, span: Duration) {
        self.sqlite.pass(span);
    }

    fn step_clock(&self, client: usize, ms: i64) {
        self.sqlite.step_clock(client, ms);
    }

    fn lose_memory(&self) {
        let path = self.sqlite.folder.path().join("leases.db");
        let now = fs::read(&path).unwrap();
        let before = mem::replace(&mut *self.backup.lock().unwrap(), now);
        if before.len().is_multiple_of(8_192) {
            fs::write(&path, before).unwrap();
        } else {
            let new = path.with_extension("new");
            fs::write(&new, before).unwrap();
            fs::rename(new, &path).unwrap();
        }
    }

    fn history_steps(&self) -> usize {
        self.sqlite.history_steps()
    }
}

impl Counters for Restored {
    fn open_counter(&self, namespace: &Namespace) -> Box<dyn SegmentStore> {
        self.sqlite.open_counter(namespace)
    }

    fn lose_counters(&self) {
        self.lose_memory();
    }

    fn counter_steps(&self) -> usize {
        self.sqlite.counter_steps()
    }
}

mod restored {
    use super::{Restored, contract, segment_contract};

    contract!(Restored::new(); random_histories_grant_no_tick_twice,);
    segment_contract!(Restored::new(); random_histories_reserve_no_number_twice,);
}
