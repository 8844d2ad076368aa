//! SQLite stores: the contracts of stores, deletion, copies, backups, other programs, many
//! processes.

#![cfg(not(miri))]
#![expect(
    clippy::unwrap_used,
    clippy::panic,
    reason = "a test fails by panicking"
)]

mod continuity;
mod contract;
mod crowd;
mod engine;
#[path = "../../../../tests/failing_calls/mod.rs"]
mod failing_calls;
#[cfg(all(target_os = "linux", target_pointer_width = "64"))]
mod faults;
mod files;
mod looks;

use core::time::Duration;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::{env, fs};

use randflake_core::{Clock, Layout, ManualClock, Randflake};
use randflake_lease::{
    AcquireRequest, Grant, LeaseStore, Namespace, NodeIds, QuarantineCause, StoreError, Token,
};
use randflake_sqlite::SqliteStore;
use tempfile::TempDir;

const TTL: u64 = 60;

/// A folder with a store, and a clock for all who open it.
struct Place {
    folder: TempDir,
    clock: Arc<ManualClock>,
}

impl Place {
    /// Of a store that was made a minute ago.
    fn new() -> Self {
        let place = Self::empty();
        place.make();
        place
    }

    /// Where no store is yet.
    fn empty() -> Self {
        Self {
            folder: TempDir::new().unwrap(),
            clock: Arc::new(ManualClock::at_unix_ms(1_800_000_000_000)),
        }
    }

    /// Makes the store as of a minute ago.
    fn make(&self) {
        let now = self.clock.now().unwrap();
        let before = now.saturating_sub(Duration::from_secs(60));
        let before = u64::try_from(before.as_millis()).unwrap();
        let clock = Arc::new(ManualClock::at_unix_ms(before));
        SqliteStore::open_with_clock(self.database(), &namespace("orders"), clock).unwrap();
    }

    /// No store yet, in memory, where nothing waits for a disk.
    #[cfg(all(target_os = "linux", target_pointer_width = "64"))]
    fn in_memory() -> Self {
        Self {
            folder: TempDir::new_in("/dev/shm").unwrap(),
            ..Self::empty()
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

    /// The present tick of the usual layout.
    fn tick(&self) -> u64 {
        let now = self.clock.now().unwrap();
        Randflake::SPEC.tick_at(now).unwrap()
    }

    fn files(&self) -> Vec<String> {
        let mut names: Vec<_> = fs::read_dir(&self.folder)
            .unwrap()
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .collect();
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

/// A new store waits for the next tick, and no longer.
fn grants_soon(place: &Place) {
    let mut store = place.open();
    let (wait, cause) = refused(&mut store);
    assert_eq!(cause, QuarantineCause::Young);
    assert!(wait <= Duration::from_secs(1), "{wait:?}");
    place.pass(wait);
    acquire(&mut store).unwrap();
}

/// How long an acquire is refused for, which it must be.
fn quarantined(store: &mut LeaseStore) -> Duration {
    let (wait, cause) = refused(store);
    assert_ne!(cause, QuarantineCause::Young);
    wait
}

fn refused(store: &mut LeaseStore) -> (Duration, QuarantineCause) {
    match acquire(store) {
        Err(StoreError::Quarantined {
            retry_in,
            quarantine,
        }) => (retry_in, quarantine.cause),
        other => panic!("{other:?}"),
    }
}

/// The sentence of a refusal that trying again cannot help.
fn failed_precondition<T: core::fmt::Debug>(outcome: Result<T, StoreError>) -> String {
    match outcome {
        Err(StoreError::FailedPrecondition(error)) => error.to_string(),
        other => panic!("{other:?}"),
    }
}

const ROLE: &str = "SQLITE_TEST_ROLE";
const STORE: &str = "SQLITE_TEST_STORE";
const DETAIL: &str = "SQLITE_TEST_DETAIL";

/// What a process does that [`spawn_role`] has started; in the tests' own process, nothing.
#[test]
fn role() {
    let Ok(role) = env::var(ROLE) else {
        return;
    };
    let (store, detail) = (env::var(STORE).unwrap(), env::var(DETAIL).unwrap());
    match &*role {
        "acquirer" => crowd::acquirer(Path::new(&store), &detail),
        "holder" => looks::holder(Path::new(&store)),
        "reader" => continuity::reader(Path::new(&store)),
        _ => panic!("{role}"),
    }
}

/// A process that reports on its standard error.
fn spawn_role(role: &str, place: &Place, detail: &str) -> Child {
    let mut command = Command::new(env::current_exe().unwrap());
    command.args(["--exact", "role", "--nocapture"]);
    command
        .env(ROLE, role)
        .env(STORE, place.database())
        .env(DETAIL, detail);
    command
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .stderr(Stdio::piped());
    command.spawn().unwrap()
}
