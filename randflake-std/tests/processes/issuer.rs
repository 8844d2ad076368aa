//! A process that issues as fast as it can, under short leases, into a file.

use core::fmt::Debug;
use core::time::Duration;
use std::fs::{self, File};
use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitCode, Stdio};
use std::thread;
use std::time::Instant;

use randflake_core::{Field, LayoutFields, LayoutSpec};
use randflake_std::lease::{self, Namespace};
use randflake_std::{Builder, Health, Layout, Plain};

pub(crate) const TTL: Duration = Duration::from_secs(3);

/// So few node ids that those of others come into use again within a test, and so few sequences
/// that each tick is used up without a processor of one's own.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Few;

impl Layout for Few {
    type Permutation = Plain;
    const SPEC: LayoutSpec = LayoutSpec::declare(LayoutFields {
        timestamp: Field {
            bits: 40,
            shift: 17,
        },
        node_id: Field { bits: 5, shift: 12 },
        sequence: Field { bits: 12, shift: 0 },
        epoch_unix_ms: 1_730_000_000_000,
        tick_ms: 1_000,
    });
}

/// Leases of at most `TTL`, so that what a store may have forgotten is soon over.
pub(crate) fn namespace(name: &str) -> Namespace {
    namespace_of(name, TTL)
}

fn namespace_of(name: &str, max_ttl: Duration) -> Namespace {
    Namespace::new(name, Few).unwrap().with_max_ttl(max_ttl)
}

const STORE: &str = "PROCESSES_TEST_STORE";
const NAMESPACE: &str = "PROCESSES_TEST_NAMESPACE";
const OUTPUT: &str = "PROCESSES_TEST_OUTPUT";
const MILLIS: &str = "PROCESSES_TEST_MILLIS";
const PATIENCE_MILLIS: &str = "PROCESSES_TEST_PATIENCE_MILLIS";

/// How late a patient process may have its first id: a busy machine may be slow, but not for ever.
const PATIENCE: Duration = Duration::from_secs(60);
const MOST: &str = "PROCESSES_TEST_MOST";
const TTL_MILLIS: &str = "PROCESSES_TEST_TTL_MILLIS";

/// How long an elastic process is busy, and then quiet: so long that it gives node ids back.
const TURN: Duration = Duration::from_secs(8);

/// What an issuing process is told through its environment.
pub(crate) struct Order {
    /// URL of the store.
    store: String,
    namespace: String,
    output: PathBuf,
    time: Duration,
    /// How much longer it goes on until it has issued; it fails if it has not by then.
    patience: Option<Duration>,
    /// The most node ids that it takes.
    most: u32,
    ttl: Duration,
}

impl Order {
    /// To issue for some time, from one store into one file of eight bytes an id.
    pub(crate) fn new(store: &str, namespace: &str, output: &Path, time: Duration) -> Self {
        Self {
            store: store.to_owned(),
            namespace: namespace.to_owned(),
            output: output.to_owned(),
            time,
            patience: None,
            most: 1,
            ttl: TTL,
        }
    }

    /// To go on until it has issued.
    pub(crate) fn patient(self) -> Self {
        Self {
            patience: Some(PATIENCE),
            ..self
        }
    }

    /// To take up to so many node ids, and be busy and quiet in turns.
    pub(crate) fn elastic(mut self, most: u32) -> Self {
        self.most = most;
        self
    }

    /// To lease for longer than usual.
    pub(crate) fn with_ttl(self, ttl: Duration) -> Self {
        Self { ttl, ..self }
    }

    /// The order of this process, if it is one that issues.
    pub(crate) fn from_env() -> Option<Self> {
        let millis = |name| {
            Some(Duration::from_millis(
                std::env::var(name).ok()?.parse().ok()?,
            ))
        };
        Some(Self {
            store: std::env::var(STORE).ok()?,
            namespace: std::env::var(NAMESPACE).ok()?,
            output: std::env::var_os(OUTPUT)?.into(),
            time: millis(MILLIS)?,
            patience: millis(PATIENCE_MILLIS),
            most: std::env::var(MOST).ok()?.parse().ok()?,
            ttl: millis(TTL_MILLIS)?,
        })
    }

    pub(crate) fn command(&self) -> Command {
        let mut command = Command::new(std::env::current_exe().unwrap());
        command
            .env(STORE, &self.store)
            .env(NAMESPACE, &self.namespace)
            .env(OUTPUT, &self.output)
            .env(MILLIS, self.time.as_millis().to_string())
            .env(MOST, self.most.to_string())
            .env(TTL_MILLIS, self.ttl.as_millis().to_string())
            .stdin(Stdio::null());
        if let Some(patience) = self.patience {
            command.env(PATIENCE_MILLIS, patience.as_millis().to_string());
        }
        command
    }

    pub(crate) fn start(&self) -> Issuer {
        Issuer(self.command().spawn().unwrap())
    }

    /// Writes what the store said last beside the ids.
    fn note(&self, error: &impl ToString) {
        fs::write(self.output.with_extension("error"), error.to_string()).unwrap();
    }

    fn end(&self, issued: u64, refusal: &impl Debug) -> ExitCode {
        if self.patience.is_none() || issued > 0 {
            return ExitCode::SUCCESS;
        }
        eprintln!("no id was issued: {refusal:?}");
        ExitCode::FAILURE
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
    let mut issued = 0_u64;
    let mut output = BufWriter::new(File::create(&order.output).unwrap());
    let goes_on = |issued| {
        let patience = order.patience.filter(|_| issued == 0);
        started.elapsed() < order.time + patience.unwrap_or_default()
    };
    // Until the store answers and has a node id to grant.
    let handle = loop {
        let store = lease::open(&order.store, &namespace_of(&order.namespace, order.ttl));
        let builder = store.map(|store| {
            let builder = Builder::new(Few, Plain, store).ttl(order.ttl);
            builder.node_ids(1..=order.most)
        });
        match builder.map_err(Into::into).and_then(Builder::build) {
            Ok(handle) => break handle,
            Err(_) if goes_on(issued) => thread::sleep(Duration::from_millis(100)),
            Err(error) => {
                order.note(&error);
                return order.end(issued, &error);
            }
        }
    };
    let mut refusal = None;
    while goes_on(issued) {
        // A refusal consumes nothing and is no failure: the lease may be over for a while.
        match handle.generate_wait(Duration::from_secs(1)) {
            Ok(id) => {
                output.write_all(&id.to_u64().to_le_bytes()).unwrap();
                issued += 1;
            }
            Err(error) => refusal = Some(error),
        }
        let turn = started.elapsed().as_secs() / TURN.as_secs() + u64::from(std::process::id());
        if order.most > 1 && turn.is_multiple_of(2) {
            thread::sleep(Duration::from_millis(20));
        }
    }
    output.flush().unwrap();
    match handle.health() {
        Health::Degraded { error, .. } | Health::NotReady { error: Some(error) } => {
            order.note(&error);
        }
        _ => {}
    }
    // The store may be away.
    let _ends_by_itself = handle.close();
    order.end(issued, &refusal)
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
