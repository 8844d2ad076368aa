//! The processes and servers of one store, and what all that ever ran have issued.

use core::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use core::time::Duration;
use std::io::{BufRead, BufReader, ErrorKind, Read, Write};
use std::net::TcpStream;
use std::path::Path;
use std::process::{Child, ChildStdout, Command};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::Instant;

use harness::clock::WallClock;
use harness::free_port;
use harness::server::{Server, signal_process, spawn};
use randflake_std::Permutation;
use tempfile::TempDir;

use crate::issuer::{CALLS, FORKS, KEY, LAYOUT, NAMESPACE, NOTE, Order, REFUSALS, Way, cipher};
use crate::runs::{Issued, RUN_BYTES, Run, append, append_run};
use crate::stage::Stage;

/// Nobody may be kept waiting for longer, on a busy machine.
const PATIENCE: Duration = Duration::from_secs(120);
const PAUSE: Duration = Duration::from_millis(20);
/// Seats of processes have the first numbers, those of servers the next.
const SEATS: usize = 10;

/// How many there are, and how fast they are.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Plan {
    pub(crate) ways: &'static [Way],
    pub(crate) servers: usize,
    /// Ids of a process in a second.
    pub(crate) pace: u64,
    /// Ids that a client of a server asks for at once.
    pub(crate) pipeline: usize,
    pub(crate) without_rule: bool,
    /// Whether some have wall clocks of their own.
    pub(crate) clocks: bool,
}

impl Plan {
    /// All that two processors can do.
    pub(crate) fn full() -> Self {
        use Way::{Bulk, Elastic, Forks, OneByOne};
        Self {
            ways: &[Bulk, Bulk, Bulk, Bulk, Elastic, Forks, OneByOne, OneByOne],
            servers: 2,
            pace: 1 << 40,
            pipeline: 1_000,
            without_rule: false,
            clocks: true,
        }
    }

    /// What an unoptimised build does beside others.
    pub(crate) fn short() -> Self {
        Self {
            ways: &[Way::Bulk, Way::Elastic, Way::Forks, Way::OneByOne],
            servers: 1,
            pace: 20_000,
            pipeline: 50,
            ..Self::full()
        }
    }
}

/// Counted while they issue.
#[derive(Debug, Default)]
pub(crate) struct Counts {
    pub(crate) bulk: AtomicU64,
    pub(crate) one_by_one: AtomicU64,
    pub(crate) served: AtomicU64,
    pub(crate) calls: AtomicU64,
    pub(crate) refusals: AtomicU64,
    pub(crate) forks: AtomicU64,
}

impl Counts {
    pub(crate) fn ids(&self) -> u64 {
        let all = [&self.bulk, &self.one_by_one, &self.served];
        all.iter().map(|count| get(count)).sum()
    }
}

pub(crate) fn get(count: &AtomicU64) -> u64 {
    count.load(Ordering::Relaxed)
}

fn add(count: &AtomicU64, number: u64) {
    count.fetch_add(number, Ordering::Relaxed);
}

/// What is collected.
#[derive(Debug, Default)]
struct Collected {
    counts: Counts,
    issued: Mutex<Vec<Issued>>,
}

impl Collected {
    fn keep(&self, by: String, runs: Vec<Run>) {
        let mut issued = self.issued.lock().unwrap_or_else(PoisonError::into_inner);
        issued.push(Issued { by, runs });
    }
}

pub(crate) struct Fleet {
    plan: Plan,
    urls: Vec<String>,
    _folder: TempDir,
    pub(crate) processes: Vec<Process>,
    pub(crate) servers: Vec<Server>,
    /// Of the first seat.
    pub(crate) clock: Option<WallClock>,
    clients: Vec<JoinHandle<()>>,
    clients_end: Arc<AtomicBool>,
    readers: Vec<JoinHandle<()>>,
    collected: Arc<Collected>,
    pub(crate) killed: usize,
    /// Threads of clients and readers that panicked.
    pub(crate) failed_threads: usize,
}

impl Fleet {
    /// On the store of a stage.
    pub(crate) fn start(stage: &dyn Stage, plan: Plan) -> Self {
        let folder = TempDir::new().unwrap();
        let clock = plan.clocks.then(|| WallClock::new(folder.path()));
        let mut fleet = Self {
            plan,
            urls: (0..SEATS).map(|seat| stage.url(seat)).collect(),
            _folder: folder,
            processes: Vec::new(),
            servers: Vec::new(),
            clock,
            clients: Vec::new(),
            clients_end: Arc::default(),
            readers: Vec::new(),
            collected: Arc::default(),
            killed: 0,
            failed_threads: 0,
        };
        for seat in 0..plan.ways.len() {
            let process = fleet.process(seat);
            fleet.processes.push(process);
        }
        for number in 0..plan.servers {
            let port = free_port();
            fleet
                .servers
                .push(server(&fleet.urls[SEATS - 1 - number], port));
            let (collected, end) = (Arc::clone(&fleet.collected), Arc::clone(&fleet.clients_end));
            fleet.clients.push(thread::spawn(move || {
                let mut client = Client::new(port, plan.pipeline);
                while !end.load(Ordering::Relaxed) {
                    // It connects again.
                    if client.ask(&collected.counts, &end).is_err() {
                        thread::sleep(PAUSE);
                    }
                }
                collected.keep(format!("a client of server {number}"), client.runs);
            }));
        }
        fleet
    }

    fn process(&mut self, seat: usize) -> Process {
        let order = Order {
            store: self.urls[seat].clone(),
            way: self.plan.ways[seat],
            pace: self.plan.pace,
            without_rule: self.plan.without_rule,
        };
        let mut command = order.command();
        if let (0, Some(clock)) = (seat, &self.clock) {
            clock.give_to(&mut command);
        }
        let mut child = spawn(command).unwrap();
        let (runs, way) = (child.stdout.take().unwrap(), order.way);
        let by = format!("process {} ({way:?})", child.id());
        let collected = Arc::clone(&self.collected);
        self.readers.push(thread::spawn(move || {
            let runs = read(runs, way, &collected.counts);
            collected.keep(by, runs);
        }));
        Process(child)
    }

    pub(crate) fn counts(&self) -> &Counts {
        &self.collected.counts
    }

    /// Lets time pass, in which a process is killed and replaced each second.
    pub(crate) fn pass(&mut self, time: Duration) {
        let begun = Instant::now();
        while begun.elapsed() < time {
            thread::sleep(Duration::from_secs(1).min(time));
            let seat = self.killed % self.processes.len();
            // First, because some seats have a node id of their own.
            self.processes[seat].kill();
            self.processes[seat] = self.process(seat);
            self.killed += 1;
        }
    }

    /// Waits until more has been issued.
    ///
    /// # Errors
    ///
    /// It took too long.
    pub(crate) fn wait_for_ids(&mut self) -> Result<(), String> {
        let (before, begun) = (self.counts().ids(), Instant::now());
        while self.counts().ids() <= before {
            if begun.elapsed() > PATIENCE {
                return Err(format!("nothing was issued for {PATIENCE:?}"));
            }
            thread::sleep(PAUSE);
        }
        Ok(())
    }

    /// One of the servers, another each time.
    pub(crate) fn chosen_server(&self) -> Result<usize, String> {
        let chosen = self.killed.checked_rem(self.servers.len());
        chosen.ok_or_else(|| "the fleet has no server".to_owned())
    }

    /// Ends all, and returns what each has issued.
    pub(crate) fn end(&mut self) -> Vec<Issued> {
        self.clients_end.store(true, Ordering::Relaxed);
        self.processes.clear();
        let threads = self.clients.drain(..).chain(self.readers.drain(..));
        // A thread that panicked has said so, and what the others received is compared all the same.
        self.failed_threads = threads.filter_map(|thread| thread.join().err()).count();
        let issued = self.collected.issued.lock();
        core::mem::take(&mut *issued.unwrap_or_else(PoisonError::into_inner))
    }
}

pub(crate) struct Process(Child);

impl Process {
    pub(crate) fn signal(&self, signal: libc::c_int) {
        signal_process(&self.0, signal);
    }

    /// `kill -9`. It may have ended already.
    fn kill(&mut self) {
        _ = self.0.kill();
        _ = self.0.wait();
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        self.kill();
    }
}

/// All runs of a process until it ends; what was cut short was not received.
fn read(output: ChildStdout, way: Way, counts: &Counts) -> Vec<Run> {
    let ids = if way == Way::OneByOne {
        &counts.one_by_one
    } else {
        &counts.bulk
    };
    let mut output = BufReader::with_capacity(1 << 16, output);
    let (mut runs, mut bytes) = (Vec::new(), [0; RUN_BYTES]);
    while output.read_exact(&mut bytes).is_ok() {
        let run = Run::from_bytes(bytes);
        match (run.place, run.first) {
            (NOTE, CALLS) => add(&counts.calls, run.last.into()),
            (NOTE, REFUSALS) => add(&counts.refusals, run.last.into()),
            (NOTE, FORKS) => add(&counts.forks, run.last.into()),
            _ => {
                add(ids, run.ids());
                append_run(&mut runs, run);
            }
        }
    }
    runs
}

/// `randflake serve` on a store.
fn server(store: &str, port: u16) -> Server {
    let store = store.to_owned();
    // A static store has one.
    let node_ids = if store.starts_with("static:") {
        "1"
    } else {
        "1..=4"
    };
    let command = move |_: &Path| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_randflake"));
        command
            .args(["serve", "--resp", &format!("127.0.0.1:{port}")])
            .args(["--namespace", NAMESPACE, "--layout", LAYOUT])
            .args(["--ttl", "3s", "--node-ids", node_ids])
            .env("RANDFLAKE_KEY", KEY)
            .env("RANDFLAKE_STORE", &store)
            .env("RANDFLAKE_MAX_TTL", "3s")
            .env_remove("RANDFLAKE_NAMESPACE");
        command
    };
    let answers = move || TcpStream::connect(("127.0.0.1", port)).is_ok();
    Server::start(TempDir::new().unwrap(), command, answers)
}

/// A client of a server, which asks for many ids by a command each.
struct Client {
    port: u16,
    request: Vec<u8>,
    pipeline: usize,
    raws: Vec<u64>,
    runs: Vec<Run>,
}

impl Client {
    fn new(port: u16, pipeline: usize) -> Self {
        let command = format!(
            "*2\r\n$4\r\nINCR\r\n${}\r\n{NAMESPACE}\r\n",
            NAMESPACE.len()
        );
        Self {
            port,
            request: command.repeat(pipeline).into_bytes(),
            pipeline,
            raws: Vec::new(),
            runs: Vec::new(),
        }
    }

    /// Until something fails; a refusal is none.
    fn ask(&mut self, counts: &Counts, end: &AtomicBool) -> std::io::Result<()> {
        let mut stream = TcpStream::connect(("127.0.0.1", self.port))?;
        stream.set_read_timeout(Some(Duration::from_secs(10)))?;
        let mut answers = BufReader::new(stream.try_clone()?);
        let cipher = cipher();
        while !end.load(Ordering::Relaxed) {
            stream.write_all(&self.request)?;
            self.raws.clear();
            let answered = self.answers(&mut answers, counts);
            cipher.invert_all(&mut self.raws);
            // Threads of the server have blocks of their own; what repeats stays twice.
            self.raws.sort_unstable();
            append(&mut self.runs, &self.raws);
            add(&counts.served, u64::try_from(self.raws.len()).unwrap());
            answered?;
            thread::sleep(PAUSE);
        }
        Ok(())
    }

    fn answers(&mut self, answers: &mut impl BufRead, counts: &Counts) -> std::io::Result<()> {
        let mut line = Vec::new();
        for _ in 0..self.pipeline {
            line.clear();
            answers.read_until(b'\n', &mut line)?;
            if !line.ends_with(b"\n") {
                return Err(ErrorKind::UnexpectedEof.into());
            }
            add(&counts.calls, 1);
            let text = str::from_utf8(line.trim_ascii()).unwrap();
            match text.strip_prefix(':').map(str::parse::<i64>) {
                Some(id) => self.raws.push(id.unwrap().cast_unsigned()),
                None => add(&counts.refusals, 1),
            }
        }
        Ok(())
    }
}
