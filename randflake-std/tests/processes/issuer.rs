//! A process that issues as fast as it can, under short leases, into a file.

use core::time::Duration;
use std::fs::{self, File};
use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitCode, Stdio};
use std::time::Instant;

use randflake_std::lease::{Namespace, SqliteStore};
use randflake_std::{Handle, Randflake, Secret};

pub(crate) const TTL: Duration = Duration::from_secs(3);
pub(crate) const SECRET: [u8; 16] = [7; 16];

const STORE: &str = "PROCESSES_TEST_STORE";
const OUTPUT: &str = "PROCESSES_TEST_OUTPUT";
const MILLIS: &str = "PROCESSES_TEST_MILLIS";

/// What an issuing process is told through its environment.
pub(crate) struct Order {
    store: PathBuf,
    output: PathBuf,
    time: Duration,
}

impl Order {
    /// To issue for some time, from one store into one file of eight bytes an id.
    pub(crate) fn new(store: &Path, output: &Path, time: Duration) -> Self {
        Self {
            store: store.to_owned(),
            output: output.to_owned(),
            time,
        }
    }

    /// The order of this process, if it is one that issues.
    pub(crate) fn from_env() -> Option<Self> {
        let millis = std::env::var(MILLIS).ok()?.parse().ok()?;
        Some(Self {
            store: std::env::var_os(STORE)?.into(),
            output: std::env::var_os(OUTPUT)?.into(),
            time: Duration::from_millis(millis),
        })
    }

    pub(crate) fn command(&self) -> Command {
        let mut command = Command::new(std::env::current_exe().unwrap());
        command
            .env(STORE, &self.store)
            .env(OUTPUT, &self.output)
            .env(MILLIS, self.time.as_millis().to_string())
            .stdin(Stdio::null());
        command
    }

    pub(crate) fn start(&self) -> Issuer {
        Issuer(self.command().spawn().unwrap())
    }
}

/// A running process; it does not outlive the test.
pub(crate) struct Issuer(pub(crate) Child);

impl Issuer {
    pub(crate) fn id(&self) -> libc::pid_t {
        self.0.id().cast_signed()
    }

    pub(crate) fn succeeds(mut self) {
        assert!(
            self.0.wait().unwrap().success(),
            "an issuing process failed"
        );
    }
}

impl Drop for Issuer {
    fn drop(&mut self) {
        let _gone_already = self.0.kill();
        let _gone_already = self.0.wait();
    }
}

pub(crate) fn run(order: &Order) -> ExitCode {
    let started = Instant::now();
    let namespace = Namespace::of::<Randflake>("test").unwrap();
    let store = SqliteStore::open(&order.store, &namespace).unwrap();
    let handle = Handle::builder(&Secret::from_bytes(SECRET), store)
        .ttl(TTL)
        .build()
        .unwrap();
    let mut output = BufWriter::new(File::create(&order.output).unwrap());
    while started.elapsed() < order.time {
        // A refusal consumes nothing and is no failure: the lease may be over for a while.
        if let Ok(id) = handle.generate_wait(Duration::from_secs(1)) {
            output.write_all(&id.to_u64().to_le_bytes()).unwrap();
        }
    }
    output.flush().unwrap();
    handle.close().unwrap();
    ExitCode::SUCCESS
}

/// The ids in a file that an issuing process wrote.
pub(crate) fn ids(path: &Path) -> Vec<u64> {
    let bytes = fs::read(path).unwrap();
    bytes
        .chunks_exact(8)
        .map(|id| u64::from_le_bytes(id.try_into().unwrap()))
        .collect()
}

/// Sorts the ids and demands that none repeats.
pub(crate) fn assert_distinct(mut ids: Vec<u64>) {
    let issued = ids.len();
    ids.sort_unstable();
    ids.dedup();
    assert_eq!(
        issued - ids.len(),
        0,
        "of {issued} ids some were issued twice"
    );
}
