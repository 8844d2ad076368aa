//! Segments while processes are killed, and while stores are away: numbers may be left out, none
//! repeats.

#![cfg(unix)]
#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use core::time::Duration;
use std::fs::{self, File};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::Instant;

use harness::etcd::EtcdCluster;
use harness::mariadb::MariadbServer;
use harness::postgres::PostgresServer;
use harness::redis::RedisServer;
use harness::server::spawn;
use randflake_std::Randflake;
use randflake_std::lease::{LeaseStore, Namespace};
use randflake_std::segment::{SegmentError, Segments, open};
use tempfile::TempDir;

fn namespace() -> Namespace {
    Namespace::new("orders", Randflake).unwrap()
}

/// A store that processes share, and that can be taken away for a while.
trait Engine {
    fn url(&self) -> String;

    /// Nobody gets an answer any more.
    fn suspend(&mut self);

    fn resume(&mut self);

    fn open(&self) -> LeaseStore {
        open(&self.url(), &namespace()).unwrap()
    }
}

struct Sqlite {
    folder: TempDir,
    held: Option<File>,
}

impl Sqlite {
    fn new() -> Self {
        let sqlite = Self {
            folder: TempDir::new().unwrap(),
            held: None,
        };
        sqlite.open().counter().create().unwrap();
        sqlite
    }

    fn path(&self) -> PathBuf {
        self.folder.path().join("counters.db")
    }
}

impl Engine for Sqlite {
    fn url(&self) -> String {
        format!("sqlite:{}", self.path().display())
    }

    fn suspend(&mut self) {
        let lock = File::open(self.path().with_extension("db.lock")).unwrap();
        lock.lock().unwrap();
        self.held = Some(lock);
    }

    fn resume(&mut self) {
        self.held = None;
    }
}

struct Redis(RedisServer);

impl Redis {
    fn new() -> Self {
        let redis = Self(RedisServer::start());
        redis.open().counter().create().unwrap();
        redis
    }
}

impl Engine for Redis {
    fn url(&self) -> String {
        self.0.url()
    }

    fn suspend(&mut self) {
        self.0.server.suspend();
    }

    fn resume(&mut self) {
        self.0.server.resume();
    }
}

/// A server that crashes and comes back has kept what it answered.
struct Postgres(PostgresServer);

impl Postgres {
    fn new() -> Self {
        let postgres = Self(PostgresServer::start());
        postgres.open().counter().create().unwrap();
        postgres
    }
}

impl Engine for Postgres {
    fn url(&self) -> String {
        self.0.url("postgres")
    }

    fn suspend(&mut self) {
        self.0.server.kill();
    }

    fn resume(&mut self) {
        self.0.server.restart();
    }
}

struct Mysql(MariadbServer);

impl Mysql {
    fn new() -> Self {
        let server = MariadbServer::start();
        server
            .client(None)
            .query_drop("CREATE DATABASE ids")
            .unwrap();
        let mysql = Self(server);
        mysql.open().counter().create().unwrap();
        mysql
    }
}

impl Engine for Mysql {
    fn url(&self) -> String {
        self.0.url("ids")
    }

    fn suspend(&mut self) {
        self.0.server.kill();
    }

    fn resume(&mut self) {
        self.0.server.restart();
    }
}

struct Etcd(EtcdCluster);

impl Etcd {
    fn new() -> Self {
        let etcd = Self(EtcdCluster::start(1));
        etcd.open().counter().create().unwrap();
        etcd
    }
}

impl Engine for Etcd {
    fn url(&self) -> String {
        self.0.url()
    }

    fn suspend(&mut self) {
        self.0.members[0].server.suspend();
    }

    fn resume(&mut self) {
        self.0.members[0].server.resume();
    }
}

macro_rules! on_every_engine {
    ($($engine:ident: $new:expr,)*) => {
        $(
            mod $engine {
                #[test]
                fn killed_processes_repeat_nothing() {
                    crate::segment_faults::killed_processes_repeat_nothing(&$new);
                }

                #[test]
                fn an_outage_is_survived_for_the_time_asked_for() {
                    crate::segment_faults::an_outage_is_survived_for_the_time_asked_for($new);
                }
            }
        )*
    };
}

on_every_engine! {
    sqlite: crate::segment_faults::Sqlite::new(),
    redis: crate::segment_faults::Redis::new(),
    postgres: crate::segment_faults::Postgres::new(),
    mariadb: crate::segment_faults::Mysql::new(),
    etcd: crate::segment_faults::Etcd::new(),
}

const URL: &str = "SEGMENT_FAULTS_URL";
const OUTPUT: &str = "SEGMENT_FAULTS_OUTPUT";

const PROCESSES: usize = 4;
const KILLS: usize = 8;
const PAUSE: Duration = Duration::from_millis(250);
/// Issued between two rests, so that the files stay small.
const AT_ONCE: usize = 200;
const REST: Duration = Duration::from_millis(2);
/// A process that a busy machine keeps from issuing ends all the same.
const LIMIT: Duration = Duration::from_secs(60);

fn killed_processes_repeat_nothing(engine: &impl Engine) {
    // Making a namespace takes a database seconds.
    drop(engine.open());
    let folder = tempfile::tempdir().unwrap();
    let mut outputs = Vec::new();
    let mut start = || {
        let output = folder.path().join(outputs.len().to_string());
        outputs.push(output.clone());
        Process::start(&engine.url(), &output)
    };
    let mut running = [(); PROCESSES].map(|()| start());
    for kill in 0..KILLS {
        thread::sleep(PAUSE);
        running[kill % PROCESSES].has_issued();
        // Dropped, and so killed.
        running[kill % PROCESSES] = start();
    }
    running.iter().for_each(Process::has_issued);
    drop(running);

    let mut numbers: Vec<u64> = outputs.iter().flat_map(numbers).collect();
    let issued = numbers.len();
    numbers.sort_unstable();
    numbers.dedup();
    assert_eq!(numbers.len(), issued, "a number was issued twice");
}

/// A process that issues; killed when it is dropped.
struct Process {
    child: Child,
    output: PathBuf,
}

impl Process {
    /// Starts this program again, as its one test that issues.
    fn start(url: &str, output: &Path) -> Self {
        let mut command = Command::new(std::env::current_exe().unwrap());
        command
            .args(["--exact", "segment_faults::issues_until_killed"])
            .env(URL, url)
            .env(OUTPUT, output)
            .stdin(Stdio::null())
            .stdout(Stdio::null());
        Self {
            child: spawn(command).unwrap(),
            output: output.to_owned(),
        }
    }

    fn has_issued(&self) {
        let started = Instant::now();
        while numbers(&self.output).is_empty() {
            assert!(started.elapsed() < LIMIT, "a process issued nothing");
            thread::sleep(REST);
        }
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        self.child.kill().unwrap(); // SIGKILL
        self.child.wait().unwrap();
    }
}

/// What the processes do; nothing when it is run among the other tests.
#[test]
fn issues_until_killed() {
    let (Ok(url), Some(output)) = (std::env::var(URL), std::env::var_os(OUTPUT)) else {
        return;
    };
    let store = open(&url, &namespace()).unwrap();
    let numbers = Segments::builder(store)
        .lengths(10..=2_000)
        .survive(Duration::from_millis(100))
        .build()
        .unwrap();
    let mut output = File::create(PathBuf::from(output)).unwrap();
    loop {
        let some = [(); AT_ONCE].map(|()| numbers.next_wait(LIMIT).unwrap().to_u64().to_le_bytes());
        output.write_all(some.as_flattened()).unwrap();
        thread::sleep(REST);
    }
}

/// What a process has written; a number cut short was not issued to anybody.
fn numbers(output: impl AsRef<Path>) -> Vec<u64> {
    let bytes = fs::read(output).unwrap_or_default();
    let (numbers, _) = bytes.as_chunks();
    numbers.iter().copied().map(u64::from_le_bytes).collect()
}

const OUTAGE: Duration = Duration::from_secs(2);
const BETWEEN_IDS: Duration = Duration::from_millis(1);
/// Of a number each millisecond, at most.
const ENOUGH: u32 = 2_000;

fn an_outage_is_survived_for_the_time_asked_for(mut engine: impl Engine) {
    let numbers = Segments::builder(engine.open())
        .lengths(10..=1_000_000)
        .survive(OUTAGE)
        .build()
        .unwrap();
    let mut issued = Vec::new();
    let started = Instant::now();
    while numbers.status().length < ENOUGH {
        assert!(started.elapsed() < LIMIT, "{:?}", numbers.status());
        // Ten a millisecond, however long a busy machine makes the pauses.
        while (issued.len() as u128) < 10 * started.elapsed().as_millis() {
            issued.push(numbers.next_wait(LIMIT).unwrap().to_u64());
        }
        thread::sleep(BETWEEN_IDS);
    }
    while numbers.status().remaining < u64::from(ENOUGH) {
        assert!(started.elapsed() < LIMIT, "{:?}", numbers.status());
        thread::sleep(BETWEEN_IDS);
    }

    engine.suspend();
    let away = Instant::now();
    while away.elapsed() < OUTAGE {
        issued.push(numbers.next().unwrap().to_u64());
        thread::sleep(BETWEEN_IDS);
    }
    // Its end is told, and with whom the fault lies.
    let error = loop {
        match numbers.next() {
            Ok(id) => issued.push(id.to_u64()),
            Err(SegmentError::Refilling) => thread::sleep(BETWEEN_IDS),
            Err(error) => break error,
        }
    };
    assert!(matches!(error, SegmentError::StoreAway { .. }), "{error:?}");
    let status = numbers.status();
    assert_eq!(status.remaining, 0);
    assert!(status.away_for.is_some(), "{status:?}");

    engine.resume();
    for _ in 0..10 * ENOUGH {
        issued.push(numbers.next_wait(LIMIT).unwrap().to_u64());
    }
    assert!(
        issued.is_sorted_by(|a, b| a < b),
        "a number was issued twice"
    );
    // Another process finds the counter beyond all of them.
    let mut store = engine.open();
    let reserved = store.counter().reserve(1).unwrap();
    assert!(Some(&reserved.first()) > issued.last());
}
