//! Hours of what `tests/faults` does for seconds: on each engine eight processes issue as fast as they can,
//! one is killed every second, the engine every minute, and no id of any repeats.
//!
//! The program starts itself again as the processes that issue, which is why it has its own `main`.

#![cfg(unix)]
#![expect(
    clippy::unwrap_used,
    clippy::panic,
    reason = "a test fails by panicking"
)]

#[path = "../faults/engine.rs"]
mod engine;
#[expect(dead_code, reason = "other tests do more to servers")]
#[path = "../engines/mod.rs"]
mod engines;
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
use randflake_std::lease;

use engine::{ENGINES, Engine};
use engines::server::spawn;
use issuer::{Issuer, Order};
use record::Record;

/// Of all engines together.
const MINUTES: &str = "RANDFLAKE_SOAK_MINUTES";
const NAMESPACE: &str = "soak";
const PROCESSES: usize = 8;
const ENGINE_IS_KILLED_EVERY: u64 = 60;

fn main() -> ExitCode {
    if let Some(order) = Order::from_env() {
        return issuer::run(&order);
    }
    let minutes = env::var(MINUTES).ok().and_then(|text| text.parse().ok());
    let minutes: u32 =
        minutes.unwrap_or_else(|| panic!("{MINUTES} is not set: `cargo xtask soak` sets it"));
    let time = Duration::from_secs(60) * minutes / u32::try_from(ENGINES.len()).unwrap();
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
fn soak(engine: &mut dyn Engine, time: Duration) {
    let record = Arc::new(Record::default());
    let url = engine.url();
    lease::open(&url, &issuer::namespace(NAMESPACE))
        .unwrap()
        .end_quarantine()
        .unwrap();
    let mut running: Vec<_> = (0..PROCESSES)
        .map(|_| Process::start(&url, &record))
        .collect();
    let started = Instant::now();
    let mut readers = Vec::new();
    let mut issued_before = 0;
    for second in 1.. {
        thread::sleep(Duration::from_secs(1));
        let victim = usize::try_from(second).unwrap() % PROCESSES;
        let successor = Process::start(&url, &record);
        readers.push(core::mem::replace(&mut running[victim], successor).kill());
        // A reader has ended with its process, and failed if an id had repeated.
        readers.retain_mut(|reader| !reader.is_finished());
        record.check();
        let is_over = started.elapsed() >= time;
        if second % ENGINE_IS_KILLED_EVERY == 0 || is_over {
            let issued = record.issued();
            println!("{second} s: {issued} ids, {second} holders killed");
            assert!(issued > issued_before, "nothing was issued for a minute");
            issued_before = issued;
            engine.server().restart();
        }
        if is_over {
            break;
        }
    }
    readers.extend(running.into_iter().map(Process::kill));
    for reader in readers {
        reader.join().unwrap();
    }
    record.check();
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
