//! What an SQLite file brings with it: deletion, copies, backups, other programs, many processes.

#![expect(
    clippy::unwrap_used,
    clippy::panic,
    reason = "a test fails by panicking"
)]

mod continuity;
mod crowd;
mod damage;
mod engine;
#[cfg(all(target_os = "linux", target_pointer_width = "64"))]
mod faults;
mod files;
mod looks;
mod processes;
#[cfg(all(target_os = "linux", target_pointer_width = "64"))]
pub(crate) mod system_calls;

use core::time::Duration;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use randflake_core::ManualClock;
use randflake_std::Randflake;
use randflake_std::lease::{
    AcquireRequest, Grant, LeaseStore, Namespace, NodeIds, SqliteStore, StoreError, Token,
};
use tempfile::TempDir;

const TTL: u64 = 60;

/// A folder with a store, and a clock for all who open it.
struct Place {
    folder: TempDir,
    clock: Arc<ManualClock>,
}

impl Place {
    fn new() -> Self {
        Self {
            folder: TempDir::new().unwrap(),
            clock: Arc::new(ManualClock::at_unix_ms(1_800_000_000_000)),
        }
    }

    /// In memory, where nothing waits for a disk.
    #[cfg(all(target_os = "linux", target_pointer_width = "64"))]
    fn in_memory() -> Self {
        Self {
            folder: TempDir::new_in("/dev/shm").unwrap(),
            ..Self::new()
        }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn database(&self) -> PathBuf {
        self.path("leases.db")
    }

    fn lock(&self) -> PathBuf {
        self.path("leases.db.lock")
    }

    fn open(&self) -> LeaseStore {
        self.try_open(&self.database()).unwrap()
    }

    fn try_open(&self, path: &Path) -> Result<LeaseStore, StoreError> {
        SqliteStore::open_with_clock(path, &namespace("orders"), Arc::clone(&self.clock))
    }

    fn pass(&self, span: Duration) {
        let ms = u64::try_from(span.as_millis()).unwrap();
        self.clock.advance_ms(ms);
    }

    fn files(&self) -> Vec<String> {
        let entries = fs::read_dir(&self.folder).unwrap();
        let names = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap());
        let mut names: Vec<_> = names.collect();
        names.sort();
        names
    }
}

fn namespace(name: &str) -> Namespace {
    Namespace::new(name, Randflake).unwrap()
}

fn acquire(store: &mut LeaseStore) -> Result<Grant, StoreError> {
    let acquired = store.acquire(&AcquireRequest {
        token: Token::random().unwrap(),
        holder: "holder",
        nodes: NodeIds::Any(1),
        ttl: TTL,
    })?;
    Ok(acquired.grants[0])
}

/// How long an acquire is refused for, which it must be.
fn quarantined(store: &mut LeaseStore) -> Duration {
    match acquire(store) {
        Err(StoreError::Quarantined { retry_in, .. }) => retry_in,
        other => panic!("{other:?}"),
    }
}

/// The sentence of a refusal that trying again cannot help.
fn unusable<T: core::fmt::Debug>(outcome: Result<T, StoreError>) -> String {
    match outcome {
        Err(StoreError::Unusable(error)) => error.to_string(),
        other => panic!("{other:?}"),
    }
}
