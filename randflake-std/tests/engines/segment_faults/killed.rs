//! Processes that issue without end, one after the other killed and replaced.

use core::time::Duration;
use std::fs::{self, File};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::Instant;

use harness::server::spawn;
use randflake_std::segment::{Segments, open};

use crate::segment_faults::{Engine, namespace};

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

pub(crate) fn killed_processes_repeat_nothing(engine: &impl Engine) {
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
            .args(["--exact", "segment_faults::killed::issues_until_killed"])
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
