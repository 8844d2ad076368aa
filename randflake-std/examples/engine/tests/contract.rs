//! The contracts of leases and counters, on the engine in a file.

use std::fs;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use file_engine::FileStore;
use randflake_core::{Instagram, ManualClock};
use randflake_lease::testkit::counters::{Counters, NewCounters};
use randflake_lease::testkit::leases::{BEGIN_UNIX_MS, Backend, declared_new, eight};
use randflake_lease::unstable::catalog;
use randflake_lease::{
    LeaseStore, MAX_SKEW, Namespace, StoreError, counter_contract, lease_contract,
};
use tempfile::TempDir;

struct InFile {
    folder: TempDir,
    clock: Arc<ManualClock>,
    counters: NewCounters,
}

impl InFile {
    fn new() -> Self {
        Self {
            folder: TempDir::new().unwrap(),
            clock: Arc::new(ManualClock::at_unix_ms(BEGIN_UNIX_MS)),
            counters: NewCounters::default(),
        }
    }

    fn path(&self) -> PathBuf {
        self.folder.path().join("leases")
    }
}

impl Backend for InFile {
    fn open(&self, namespace: &Namespace) -> Result<LeaseStore, StoreError> {
        let store = FileStore::open_with_clock(self.path(), namespace, self.clock.clone())?;
        declared_new(&self.path().display().to_string(), store)
    }

    fn names(&self) -> Vec<String> {
        let names = catalog::names(&mut FileStore::engine(self.path())).unwrap();
        names.unwrap_or_default().names
    }

    fn find(&self, name: &str) -> Option<Namespace> {
        catalog::find(&mut FileStore::engine(self.path()), name).unwrap()
    }

    fn step_clock(&self, _: usize, ms: i64) {
        self.clock.step_ms(ms);
    }

    fn lose_memory(&self) {
        fs::remove_file(self.path()).unwrap();
    }

    /// Each write writes the whole file.
    fn at_once(&self) -> u32 {
        100
    }

    fn filled(&self) -> Namespace {
        Namespace::new("orders", Instagram).unwrap()
    }

    fn history_steps(&self) -> usize {
        300
    }

    fn history_clock_steps(&self) -> Duration {
        MAX_SKEW
    }
}

impl Counters for InFile {
    fn open_counter(&self, namespace: &Namespace) -> LeaseStore {
        let store = FileStore::open_with_clock(self.path(), namespace, self.clock.clone());
        self.counters
            .declared(namespace.name(), store.unwrap())
            .unwrap()
    }

    fn lose_counters(&self) {
        self.counters.lose();
        self.lose_memory();
    }

    fn counter_steps(&self) -> usize {
        1_000
    }
}

lease_contract!(InFile::new());
counter_contract!(InFile::new());

/// Another program's file is neither used nor overwritten.
#[test]
fn a_file_that_is_no_store_is_refused() {
    let store = InFile::new();
    fs::write(store.path(), "something else\nwithout keys\n").unwrap();
    let error = FileStore::open(store.path(), &eight("orders")).unwrap_err();
    assert!(
        matches!(error, StoreError::FailedPrecondition(_)),
        "{error}"
    );
}
