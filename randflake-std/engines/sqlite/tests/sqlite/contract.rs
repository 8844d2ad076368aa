//! The contracts of stores, in an SQLite file. Each client of leases has a clock of its own, as
//! processes with different ideas of the time would.

use core::mem;
use core::time::Duration;
use std::fs;
use std::path::PathBuf;
use std::sync::{Arc, Mutex};

use randflake_core::{ManualClock, Randflake};
use randflake_lease::testkit::counters::{Counters, NewCounters};
use randflake_lease::testkit::leases::{BEGIN_UNIX_MS, Backend, patiently};
use randflake_lease::testkit::server;
use randflake_lease::{LeaseStore, Namespace, StoreError};
use randflake_sqlite::{ENGINE, SqliteStore};
use tempfile::TempDir;

struct Sqlite {
    folder: TempDir,
    clocks: Mutex<Clocks>,
    counters: NewCounters,
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
        let sqlite = Self {
            folder: TempDir::new().unwrap(),
            clocks: Mutex::new(clocks),
            counters: NewCounters::default(),
        };
        // The contract is that of a store which was not made a moment ago.
        let before = ManualClock::at_unix_ms(BEGIN_UNIX_MS - 60_000);
        let namespace = Namespace::new("orders", Randflake).unwrap();
        SqliteStore::open_with_clock(sqlite.path(), &namespace, Arc::new(before)).unwrap();
        sqlite
    }

    fn path(&self) -> PathBuf {
        self.folder.path().join("leases.db")
    }
}

impl Backend for Sqlite {
    fn filled(&self) -> Namespace {
        server::filled()
    }

    fn history_steps(&self) -> usize {
        server::history_steps()
    }

    fn open(&self, namespace: &Namespace) -> Result<LeaseStore, StoreError> {
        let mut clocks = self.clocks.lock().unwrap();
        let clock = Arc::new(ManualClock::at_unix_ms(clocks.begin_unix_ms));
        clocks.of_clients.push(Arc::clone(&clock));
        let store = SqliteStore::open_with_clock(self.path(), namespace, clock)?;
        Ok(store)
    }

    fn names(&self) -> Vec<String> {
        server::names(&ENGINE, &format!("sqlite:{}", self.path().display()))
    }

    fn find(&self, name: &str) -> Option<Namespace> {
        server::find(&ENGINE, &format!("sqlite:{}", self.path().display()), name)
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
        clock.step_ms(ms);
    }

    fn lose_memory(&self) {
        let path = self.path();
        if path.exists() {
            fs::remove_file(&path).unwrap();
        }
        // By another process: those that have it open make no new one.
        let clock = ManualClock::at_unix_ms(self.clocks.lock().unwrap().begin_unix_ms);
        let namespace = Namespace::new("another", Randflake).unwrap();
        SqliteStore::open_with_clock(path, &namespace, Arc::new(clock)).unwrap();
    }
}

impl Counters for Sqlite {
    fn open_counter(&self, namespace: &Namespace) -> LeaseStore {
        let store = patiently(|| SqliteStore::open(self.path(), namespace)).unwrap();
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

randflake_lease::lease_contract!(Sqlite::new());
randflake_lease::counter_contract!(Sqlite::new());

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
    fn filled(&self) -> Namespace {
        server::filled()
    }

    fn history_steps(&self) -> usize {
        server::history_steps()
    }

    fn names(&self) -> Vec<String> {
        self.sqlite.names()
    }

    fn find(&self, name: &str) -> Option<Namespace> {
        self.sqlite.find(name)
    }

    fn open(&self, namespace: &Namespace) -> Result<LeaseStore, StoreError> {
        self.sqlite.open(namespace)
    }

    fn pass(&self, span: Duration) {
        self.sqlite.pass(span);
    }

    fn step_clock(&self, client: usize, ms: i64) {
        self.sqlite.step_clock(client, ms);
    }

    fn lose_memory(&self) {
        let path = self.sqlite.path();
        let now = fs::read(&path).unwrap();
        let before = mem::replace(&mut *self.backup.lock().unwrap(), now);
        if before.is_empty() {
            self.sqlite.lose_memory();
        } else if before.len().is_multiple_of(8_192) {
            fs::write(&path, before).unwrap();
        } else {
            let new = path.with_extension("new");
            fs::write(&new, before).unwrap();
            fs::rename(new, &path).unwrap();
        }
    }
}

impl Counters for Restored {
    fn open_counter(&self, namespace: &Namespace) -> LeaseStore {
        self.sqlite.open_counter(namespace)
    }

    fn lose_counters(&self) {
        self.sqlite.counters.lose();
        self.lose_memory();
    }

    fn has_url(&self) -> bool {
        true
    }
}

mod restored {
    use super::Restored;

    randflake_lease::lease_contract!(Restored::new(); random_histories_grant_no_tick_twice,);
    randflake_lease::counter_contract! { Restored::new();
        random_histories_reserve_no_number_twice,
        random_histories_in_steps_reserve_no_number_twice,
        random_histories_of_days_reserve_no_number_twice,
    }
}
