//! Eight processes of the command line tool on one store, one of them killed every second.
//! Afterwards the store's history says of each id which process issued it.

use core::time::Duration;
use std::io::{self, BufRead, BufReader, Read};
use std::path::Path;
use std::process::{Child, ChildStdout, Command, Stdio};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread::{self, JoinHandle};
use std::time::Instant;

use randflake_std::lease::{Explanation, Namespace, SqliteStore};
use randflake_std::randflake_core::Codec;
use randflake_std::{Id, Randflake, Secret};

const PROCESSES: usize = 8;
const SECONDS: u32 = 60;
/// A restarted process must not wait for the end of its predecessor's lease, which is 60 s away.
/// Far longer than it takes on a busy machine.
const LONGEST_START: Duration = Duration::from_secs(40);

/// Before each piece of what a process writes, which waits meanwhile: eight of them would keep
/// every other program from the processor. Two that held one node id at a time would still issue
/// thousands of equal ids in a second.
const READ_PAUSE: Duration = Duration::from_millis(400);

/// What one process has issued, and how long its first id took.
struct Output {
    process: u32,
    ids: Vec<u64>,
    first_after: Option<Duration>,
}

struct Process {
    child: Child,
    /// Told of its first id.
    begun: Receiver<()>,
    reader: JoinHandle<Output>,
}

impl Process {
    fn start(state: &Path) -> Self {
        let started = Instant::now();
        let mut child = Command::new(env!("CARGO_BIN_EXE_randflake"))
            .args(["generate", "-n", "1000000000", "--node-ids", "1"])
            .env("XDG_STATE_HOME", state)
            .env_remove("RANDFLAKE_KEY")
            .env_remove("RANDFLAKE_STORE")
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let stdout = child.stdout.take().unwrap();
        let (begins, begun) = channel();
        let process = child.id();
        let reader = thread::spawn(move || read(process, stdout, started, &begins));
        Self {
            child,
            begun,
            reader,
        }
    }

    fn kill(mut self) -> JoinHandle<Output> {
        // Nor is one killed before it has begun, however slow the machine is; one that ended is
        // seen by its output.
        _ = self.begun.recv();
        self.child.kill().unwrap(); // SIGKILL
        self.child.wait().unwrap();
        self.reader
    }
}

struct Slowly<R>(R);

impl<R: Read> Read for Slowly<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        thread::sleep(READ_PAUSE);
        self.0.read(buffer)
    }
}

fn read(process: u32, stdout: ChildStdout, started: Instant, begins: &Sender<()>) -> Output {
    let mut output = Output {
        process,
        ids: Vec::new(),
        first_after: None,
    };
    let mut lines = BufReader::with_capacity(1 << 14, Slowly(stdout));
    let mut line = Vec::new();
    // A line cut short by the kill was not received.
    while lines.read_until(b'\n', &mut line).unwrap() > 0 && line.pop() == Some(b'\n') {
        if output.first_after.is_none() {
            output.first_after = Some(started.elapsed());
            // Nobody listens if the test has failed.
            _ = begins.send(());
        }
        output.ids.push(Id::from_text(&line).unwrap().to_u64());
        line.clear();
    }
    output
}

#[test]
#[expect(clippy::print_stdout, reason = "the figures, for people")]
fn killed_and_restarted_every_second_for_a_minute() {
    let state = tempfile::tempdir().unwrap();
    let mut running: Vec<_> = (0..PROCESSES)
        .map(|_| Process::start(state.path()))
        .collect();
    let mut readers = Vec::new();
    for second in 0..SECONDS {
        thread::sleep(Duration::from_secs(1));
        let victim = second as usize % PROCESSES;
        let successor = Process::start(state.path());
        readers.push(core::mem::replace(&mut running[victim], successor).kill());
    }
    readers.extend(running.into_iter().map(Process::kill));
    let outputs: Vec<Output> = readers
        .into_iter()
        .map(|reader| reader.join().unwrap())
        .collect();

    let first_after = outputs
        .iter()
        .map(|output| output.first_after)
        .collect::<Option<Vec<_>>>();
    let longest = first_after
        .expect("each process issues ids")
        .into_iter()
        .max()
        .unwrap_or_default();
    explain(state.path(), &outputs);
    let mut ids: Vec<u64> = outputs.into_iter().flat_map(|output| output.ids).collect();
    let issued = ids.len();
    println!("{issued} ids; at most {longest:?} from a start to its first id");
    ids.sort_unstable();
    ids.dedup();
    assert_eq!(issued, ids.len(), "some ids were issued twice");
    assert!(longest < LONGEST_START, "a restart waited {longest:?}");
}

/// Each id was issued under a lease of the process that wrote it; and no lease is missing in the
/// history.
fn explain(state: &Path, outputs: &[Output]) {
    let folder = state.join("randflake");
    let secret = Secret::from_file(folder.join("key")).unwrap();
    let codec = Codec::new(Randflake, secret.cipher());
    let namespace = Namespace::new("default", Randflake).unwrap();
    let mut store = SqliteStore::open(folder.join("leases.db"), &namespace).unwrap();
    let history = store.history().read(0..=u32::MAX).unwrap();
    assert_eq!(history.gaps(), []);
    for Output { process, ids, .. } in outputs {
        let holder = format!("/{process}/");
        for id in ids {
            let parts = codec.inspect(Id::from_u64(*id));
            match history.explain(parts.node_id, parts.tick) {
                Explanation::Held(lease) if lease.record.holder.contains(&holder) => {}
                other => panic!("{id} of process {process}: {other:?}"),
            }
        }
    }
}
