//! Hours of what `tests/faults` does for seconds: on each engine eight processes issue as fast as they can,
//! one is killed every second, the engine every minute and at the end, all go on after each, and no id of any repeats.
//!
//! The program starts itself again as the processes that issue, which is why it has its own `main`.

#![cfg(unix)]
#![expect(
    clippy::unwrap_used,
    clippy::panic,
    reason = "a test fails by panicking"
)]

#[expect(dead_code, reason = "other tests keep the ids in files")]
#[path = "../processes/issuer.rs"]
mod issuer;
mod record;

use core::time::Duration;
use std::env;
use std::path::Path;
use std::process::{ExitCode, Stdio};
use std::sync::Arc;
use std::thread::{self, JoinHandle};
use std::time::Instant;

use libtest_mimic::{Arguments, Trial};

use harness::engine::{ENGINES, ServerEngine};
use harness::server::spawn;
use randflake_std::lease;

use issuer::{Issuer, Order, TTL, namespace};
use record::Record;

/// On each engine, and then until all has gone on.
const SECONDS: &str = "RANDFLAKE_SOAK_SECONDS";
const NAMESPACE: &str = "soak";
const PROCESSES: usize = 8;
const ENGINE_IS_KILLED_EVERY: Duration = Duration::from_secs(60);
/// How late the first id may come, after the beginning and after each restart of the engine. Redis grants nothing for the
/// longest TTL and 20 s: a busy machine may be slow, but not for ever.
const PATIENCE: Duration = Duration::from_secs(60);
/// Until then holders issue under leases from before the engine was killed.
const LEASES_ARE_OVER: Duration = TTL.saturating_mul(2);

fn main() -> ExitCode {
    if let Some(order) = Order::from_env() {
        return issuer::run(&order);
    }
    let seconds = env::var(SECONDS).ok().and_then(|text| text.parse().ok());
    let seconds =
        seconds.unwrap_or_else(|| panic!("{SECONDS} is not set: `cargo xtask soak` sets it"));
    let time = Duration::from_secs(seconds);
    let mut trials = vec![Trial::test("a_repeated_id_is_seen", || {
        record::sees_what_repeats();
        Ok(())
    })];
    for (name, start) in ENGINES {
        let name = format!("{name}::holders_and_the_engine_are_killed");
        trials.push(Trial::test(name, move || {
            soak(&mut *start(), time);
            Ok(())
        }));
    }
    let mut arguments = Arguments::from_args();
    // Each wants the machine for itself.
    arguments.test_threads = Some(1);
    libtest_mimic::run(&arguments, trials).exit_code()
}

#[expect(clippy::print_stdout, reason = "the figures, for people")]
fn soak(engine: &mut dyn ServerEngine, time: Duration) {
    let url = engine.url();
    // A server that does not know a namespace may have forgotten it: this one is new.
    let mut store = lease::open(&url, &namespace(NAMESPACE)).unwrap();
    store.end_quarantine().unwrap();
    drop(store);
    let record = Arc::new(Record::default());
    let mut holders = Holders::start(url, &record);
    let begun = Instant::now();
    // When the engine was killed last, and how many ids there were when the leases of before had expired.
    let mut since = begun;
    let mut issued_before = 0;
    loop {
        holders.replace_one();
        let issued = record.issued();
        if since > begun && since.elapsed() < LEASES_ARE_OVER {
            issued_before = issued;
            continue;
        }
        let goes_on = issued > issued_before;
        assert!(
            goes_on || since.elapsed() < PATIENCE,
            "nothing was issued for {PATIENCE:?}"
        );
        let is_over = begun.elapsed() >= time;
        if goes_on && is_over && since > begun {
            break;
        }
        if goes_on && (is_over || since.elapsed() >= ENGINE_IS_KILLED_EVERY) {
            let (seconds, killed) = (begun.elapsed().as_secs(), holders.killed);
            println!("{seconds} s: {issued} ids, {killed} holders killed");
            engine.server().restart();
            since = Instant::now();
        }
    }
    holders.end();
}

/// The processes that issue.
struct Holders {
    url: String,
    record: Arc<Record>,
    running: Vec<Process>,
    /// Each ends with its process, and fails if an id had repeated.
    readers: Vec<JoinHandle<()>>,
    killed: usize,
}

impl Holders {
    fn start(url: String, record: &Arc<Record>) -> Self {
        let start = |_| Process::start(&url, record);
        Self {
            running: (0..PROCESSES).map(start).collect(),
            url,
            record: Arc::clone(record),
            readers: Vec::new(),
            killed: 0,
        }
    }

    /// Kills the oldest, a second after the last one.
    fn replace_one(&mut self) {
        thread::sleep(Duration::from_secs(1));
        let successor = Process::start(&self.url, &self.record);
        let victim = &mut self.running[self.killed % PROCESSES];
        let killed = core::mem::replace(victim, successor);
        self.readers.push(killed.kill());
        self.readers.retain_mut(|reader| !reader.is_finished());
        self.killed += 1;
        self.record.check();
    }

    fn end(mut self) {
        self.readers
            .extend(self.running.into_iter().map(Process::kill));
        for reader in self.readers {
            reader.join().unwrap();
        }
        self.record.check();
    }
}

/// An issuing process, whose ids come by its standard output.
struct Process {
    issuer: Issuer,
    reader: JoinHandle<()>,
}

impl Process {
    fn start(url: &str, record: &Arc<Record>) -> Self {
        const UNTIL_KILLED: Duration = Duration::from_secs(1 << 20);
        let output = Path::new("/dev/stdout");
        let mut command = Order::new(url, NAMESPACE, output, UNTIL_KILLED).command();
        command.stdout(Stdio::piped());
        let mut child = spawn(command).unwrap();
        let ids = child.stdout.take().unwrap();
        let record = Arc::clone(record);
        Self {
            issuer: Issuer(child),
            reader: thread::spawn(move || record.read(ids)),
        }
    }

    /// `kill -9`; its reader ends when it has read all that was written.
    fn kill(self) -> JoinHandle<()> {
        drop(self.issuer);
        self.reader
    }
}
