//! The processes and servers of one store, and what all that ever ran have issued.

use core::sync::atomic::{AtomicBool, Ordering};
use core::time::Duration;
use std::collections::BTreeMap;
use std::fs;
use std::io::{self, BufRead, BufReader, Error, ErrorKind, Read as _, Write as _};
use std::net::TcpStream;
use std::path::{Path, PathBuf};
use std::process::{Child, Command};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::Instant;

use harness::clock::WallClock;
use harness::free_port;
use harness::server::{Server, signal_process, spawn};
use tempfile::TempDir;

use crate::issuer::{CHILD, Order, Way};
use crate::ledger;
use crate::runs::{Entries, Issued, KEY, LAYOUT, NAMESPACE, Source, append, write_tagged_key};
use crate::stage::Stage;

const PAUSE: Duration = Duration::from_millis(20);
/// Seats of processes have the first numbers, those of servers the last.
const SEATS: usize = 16;
/// What every server's clients send.
const CLIENTS: [Source; 3] = [Source::Incr, Source::Multi, Source::Http];

/// How many there are, and how fast they are.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Plan {
    pub(crate) ways: &'static [Way],
    pub(crate) servers: usize,
    pub(crate) ttl: Duration,
    /// A process is killed so often.
    pub(crate) kill_every: Duration,
    /// Ids of a process in a second.
    pub(crate) pace: u64,
    /// Ids that a client of a server asks for at once.
    pub(crate) batch: usize,
    pub(crate) without_rule: bool,
    /// Whether some have wall clocks of their own.
    pub(crate) clocks: bool,
}

/// Each way once.
const EACH: &[Way] = {
    use Way::{Ahead, Bits53, Bulk, Counter, Elastic, Forks, OneByOne, Tagged};
    &[
        Bulk, Elastic, Forks, OneByOne, Ahead, Bits53, Tagged, Counter,
    ]
};

const MANY: &[Way] = {
    use Way::{Ahead, Bits53, Bulk, Counter, Elastic, Forks, OneByOne, Tagged};
    &[
        Bulk, Bulk, Bulk, Elastic, Forks, OneByOne, OneByOne, Ahead, Bits53, Tagged, Counter,
        Counter,
    ]
};

impl Plan {
    /// All that two processors can do.
    pub(crate) fn full(ttl: Duration) -> Self {
        Self {
            ways: MANY,
            servers: 2,
            pace: 1 << 40,
            batch: 1_000,
            ..Self::short(ttl)
        }
    }

    /// What an unoptimised build does beside others.
    pub(crate) fn short(ttl: Duration) -> Self {
        Self {
            ways: EACH,
            servers: 1,
            ttl,
            kill_every: Duration::from_secs(1),
            pace: 2_000,
            batch: 50,
            without_rule: false,
            clocks: true,
        }
    }

    /// What runs beside all others. Fewer are killed, because what they have leased stays taken for
    /// the TTL.
    pub(crate) fn long_leases(ttl: Duration) -> Self {
        Self {
            kill_every: Duration::from_secs(5),
            pace: 1_000,
            ..Self::short(ttl)
        }
    }
}

pub(crate) struct Fleet {
    pub(crate) plan: Plan,
    ways: Vec<Way>,
    urls: Vec<String>,
    folder: TempDir,
    pub(crate) processes: Vec<Process>,
    pub(crate) servers: Vec<Server>,
    /// Of the first seat.
    pub(crate) clock: Option<WallClock>,
    clients: Vec<JoinHandle<()>>,
    clients_end: Arc<AtomicBool>,
    received: Vec<Received>,
    /// By processes that have ended.
    issued: Vec<Issued>,
    started: usize,
    pub(crate) killed: usize,
    /// Threads of clients that panicked.
    pub(crate) failed_threads: usize,
}

impl Fleet {
    /// On the store of a stage.
    pub(crate) fn start(stage: &dyn Stage, plan: Plan) -> Self {
        let folder = TempDir::new().unwrap();
        let clock = plan.clocks.then(|| WallClock::new(folder.path()));
        write_tagged_key(&folder.path().join("keys"));
        let has_counters = stage.has_counters();
        let ways = plan
            .ways
            .iter()
            .copied()
            .filter(|way| *way != Way::Counter || has_counters);
        let mut fleet = Self {
            plan,
            ways: ways.collect(),
            urls: (0..SEATS).map(|seat| stage.url(seat)).collect(),
            folder,
            processes: Vec::new(),
            servers: Vec::new(),
            clock,
            clients: Vec::new(),
            clients_end: Arc::default(),
            received: Vec::new(),
            issued: Vec::new(),
            started: 0,
            killed: 0,
            failed_threads: 0,
        };
        for seat in 0..fleet.ways.len() {
            let process = fleet.process(seat);
            fleet.processes.push(process);
        }
        for number in 0..plan.servers {
            fleet.serve(number);
        }
        fleet
    }

    fn process(&mut self, seat: usize) -> Process {
        let order = Order {
            store: self.urls[seat].clone(),
            way: self.ways[seat],
            ttl: self.plan.ttl,
            pace: self.plan.pace,
            ledger: self.folder.path().join(format!("{}.ledger", self.started)),
            keys: self.folder.path().join("keys"),
            without_rule: self.plan.without_rule,
        };
        self.started += 1;
        let mut command = order.command();
        if let (0, Some(clock)) = (seat, &self.clock) {
            clock.give_to(&mut command);
        }
        Process {
            child: spawn(command).unwrap(),
            way: order.way,
            ledger: order.ledger,
        }
    }

    /// Starts a server and its clients.
    fn serve(&mut self, number: usize) {
        let [resp, http] = [free_port(), free_port()];
        let store = &self.urls[SEATS - 1 - number];
        self.servers.push(server(store, self.plan.ttl, resp, http));
        for source in CLIENTS {
            let received = Arc::new(Mutex::new(Issued {
                by: format!("a client of server {number} ({source:?})"),
                source,
                entries: Entries::default(),
            }));
            self.received.push(Arc::clone(&received));
            let client = Client {
                port: if source == Source::Http { http } else { resp },
                source,
                batch: self.plan.batch,
                received,
            };
            let end = Arc::clone(&self.clients_end);
            self.clients.push(thread::spawn(move || client.run(&end)));
        }
    }

    /// Lets time pass, in which processes are killed and replaced.
    pub(crate) fn pass(&mut self, time: Duration) {
        let begun = Instant::now();
        while begun.elapsed() < time {
            thread::sleep(self.plan.kill_every.min(time));
            self.replace_next();
        }
    }

    fn replace_next(&mut self) {
        let seat = self.killed % self.processes.len();
        // First, because some seats have a node id of their own.
        self.processes[seat].kill();
        let killed = self.processes[seat].issued();
        self.issued.extend(killed);
        self.processes[seat] = self.process(seat);
        self.killed += 1;
    }

    /// Leaves nobody who has seen the store as it was.
    pub(crate) fn replace_all(&mut self) {
        for _ in 0..self.processes.len() {
            self.replace_next();
        }
        for server in &mut self.servers {
            server.restart();
        }
    }

    /// Lets time pass until no process issues under a lease that it has now, unless it was renewed.
    pub(crate) fn pass_leases(&mut self) {
        self.pass(self.plan.ttl + Duration::from_secs(3));
    }

    /// Ids of each source so far. Those of processes may be a moment late.
    fn progress(&self) -> BTreeMap<Source, u64> {
        let mut ids = BTreeMap::new();
        let mut add = |source, count| *ids.entry(source).or_default() += count;
        for issued in &self.issued {
            add(issued.source, issued.entries.ids());
        }
        for process in &self.processes {
            add(process.way.source(), ledger::progress(&process.ledger));
        }
        for received in &self.received {
            let received = received.lock().unwrap_or_else(PoisonError::into_inner);
            add(received.source, received.entries.ids());
        }
        ids
    }

    /// Ids so far.
    pub(crate) fn ids(&self) -> u64 {
        self.progress().values().sum()
    }

    /// Waits until each source has issued more.
    ///
    /// # Errors
    ///
    /// One has issued nothing for longer than a quarantine, and than anything takes on a busy
    /// machine.
    pub(crate) fn wait_for_ids(&mut self) -> Result<(), String> {
        let patience = Duration::from_secs(120) + self.plan.ttl;
        let (before, begun) = (self.progress(), Instant::now());
        loop {
            let now = self.progress();
            let waiting: Vec<Source> = before
                .keys()
                .filter(|source: &&Source| now[source] <= before[source])
                .copied()
                .collect();
            if waiting.is_empty() {
                return Ok(());
            }
            if begun.elapsed() > patience {
                return Err(format!("{waiting:?}: nothing was issued for {patience:?}"));
            }
            thread::sleep(PAUSE * 5);
        }
    }

    /// One of the servers, another each time.
    pub(crate) fn chosen_server(&self) -> Result<usize, String> {
        let chosen = self.killed.checked_rem(self.servers.len());
        chosen.ok_or_else(|| "the fleet has no server".to_owned())
    }

    /// Ends all, and returns what each has issued.
    pub(crate) fn end(&mut self) -> Vec<Issued> {
        self.clients_end.store(true, Ordering::Relaxed);
        for process in &mut self.processes {
            process.kill();
        }
        let processes = self.processes.drain(..);
        let issued = processes.flat_map(|process| process.issued());
        self.issued.extend(issued);
        // A thread that panicked has said so, and what it received is compared all the same.
        let threads = self.clients.drain(..);
        self.failed_threads = threads.filter_map(|thread| thread.join().err()).count();
        for received in self.received.drain(..) {
            let received = received.lock().unwrap_or_else(PoisonError::into_inner);
            self.issued.push(received.clone());
        }
        core::mem::take(&mut self.issued)
    }
}

pub(crate) struct Process {
    child: Child,
    way: Way,
    ledger: PathBuf,
}

impl Process {
    pub(crate) fn signal(&self, signal: libc::c_int) {
        signal_process(&self.child, signal);
    }

    /// `kill -9`. It may have ended already.
    fn kill(&mut self) {
        _ = self.child.kill();
        _ = self.child.wait();
    }

    /// What it and its forked children have issued, after it has ended. Their ledgers are removed.
    fn issued(&self) -> Vec<Issued> {
        let ledgers = self
            .ledger
            .parent()
            .and_then(|folder| fs::read_dir(folder).ok())
            .into_iter()
            .flatten()
            .flatten();
        let own = ledgers
            .map(|entry| entry.path())
            .filter(|path| path.file_stem() == self.ledger.file_stem());
        own.map(|path| {
            let is_child = path.extension().is_some_and(is_of_child);
            let way = if is_child { Way::OneByOne } else { self.way };
            let read = ledger::read(&path, way.source().space());
            let entries = read.unwrap_or_else(|error| Entries {
                unread: Some(format!("{}: {error}", path.display())),
                ..Entries::default()
            });
            _ = fs::remove_file(&path);
            let name = path.file_name().unwrap_or_default().display();
            Issued {
                by: format!("process {} ({way:?}, {name})", self.child.id()),
                source: way.source(),
                entries,
            }
        })
        .collect()
    }
}

fn is_of_child(extension: &std::ffi::OsStr) -> bool {
    extension.as_encoded_bytes().starts_with(CHILD.as_bytes())
}

impl Drop for Process {
    fn drop(&mut self) {
        self.kill();
    }
}

/// `randflake serve` on a store.
fn server(store: &str, ttl: Duration, resp: u16, http: u16) -> Server {
    let store = store.to_owned();
    // A static store has one.
    let node_ids = if store.starts_with("static:") {
        "1"
    } else {
        "1..=4"
    };
    let ttl = format!("{}s", ttl.as_secs());
    let command = move |_: &Path| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_randflake"));
        command
            .args(["serve", "--resp", &format!("127.0.0.1:{resp}")])
            .args(["--http", &format!("127.0.0.1:{http}")])
            .args(["--namespace", NAMESPACE, "--layout", LAYOUT])
            .args(["--ttl", &ttl, "--node-ids", node_ids])
            .env("RANDFLAKE_KEY", KEY)
            .env("RANDFLAKE_STORE", &store)
            .env("RANDFLAKE_MAX_TTL", &ttl)
            .env_remove("RANDFLAKE_NAMESPACE");
        command
    };
    let answers = move || {
        let mut ports = [resp, http].into_iter();
        ports.all(|port| TcpStream::connect(("127.0.0.1", port)).is_ok())
    };
    Server::start(TempDir::new().unwrap(), command, answers)
}

/// For an answer.
const PATIENCE: Duration = Duration::from_secs(10);

/// What one has received so far. Its thread adds to it, so nothing is lost with that.
pub(crate) type Received = Arc<Mutex<Issued>>;

/// Asks a server for ids by many commands at once, until the end.
pub(crate) struct Client {
    pub(crate) port: u16,
    pub(crate) source: Source,
    /// Ids that are asked for at once.
    pub(crate) batch: usize,
    pub(crate) received: Received,
}

/// Ids, which stay if the connection breaks, and refusals.
#[derive(Default)]
struct Answers {
    ids: Vec<u64>,
    calls: u64,
    refusals: u64,
}

impl Client {
    pub(crate) fn run(&self, end: &AtomicBool) {
        while !end.load(Ordering::Relaxed) {
            // A server that is down or has broken off is asked again.
            if self.connected(end).is_err() {
                thread::sleep(PAUSE);
            }
        }
    }

    fn connected(&self, end: &AtomicBool) -> io::Result<()> {
        let mut stream = TcpStream::connect(("127.0.0.1", self.port))?;
        stream.set_read_timeout(Some(PATIENCE))?;
        let mut input = BufReader::new(stream.try_clone()?);
        let request = self.request();
        while !end.load(Ordering::Relaxed) {
            stream.write_all(&request)?;
            let mut answers = Answers::default();
            let answered = match self.source {
                Source::Multi => answers.of_transaction(&mut input, self.batch),
                Source::Http => answers.of_http(&mut input),
                _ => answers.of_commands(&mut input, self.batch),
            };
            self.keep(answers);
            answered?;
            thread::sleep(PAUSE);
        }
        Ok(())
    }

    fn request(&self) -> Vec<u8> {
        let incr = format!("INCR {NAMESPACE}\r\n").repeat(self.batch);
        let text = match self.source {
            Source::Multi => format!("MULTI\r\n{incr}EXEC\r\n"),
            Source::Http => format!(
                "GET /v1/ids?namespace={NAMESPACE}&count={}&format=int HTTP/1.1\r\nHost: 127.0.0.1:{}\r\n\r\n",
                self.batch, self.port
            ),
            _ => incr,
        };
        text.into_bytes()
    }

    fn keep(&self, mut answers: Answers) {
        let space = self.source.space();
        space.raw(&mut answers.ids);
        // Threads of the server have blocks of their own; what repeats stays twice.
        answers.ids.sort_unstable();
        let mut received = self.received.lock().unwrap_or_else(PoisonError::into_inner);
        let Entries {
            runs,
            calls,
            refusals,
            ..
        } = &mut received.entries;
        append(runs, space, &answers.ids);
        *calls += answers.calls;
        *refusals += answers.refusals;
    }
}

impl Answers {
    fn of_commands(&mut self, input: &mut impl BufRead, count: usize) -> io::Result<()> {
        for _ in 0..count {
            self.calls += 1;
            let answer = line(input)?;
            match answer.strip_prefix(':') {
                Some(id) => self.ids.push(id_of(id)?),
                None => self.refusals += 1,
            }
        }
        Ok(())
    }

    /// `OK`, `QUEUED` for each command, and an array of the answers.
    fn of_transaction(&mut self, input: &mut impl BufRead, count: usize) -> io::Result<()> {
        for _ in 0..=count {
            line(input)?;
        }
        let answer = line(input)?;
        let Some(answers) = answer.strip_prefix('*') else {
            self.calls += 1;
            self.refusals += 1;
            return Ok(());
        };
        self.of_commands(input, answers.parse().map_err(Error::other)?)
    }

    fn of_http(&mut self, input: &mut impl BufRead) -> io::Result<()> {
        self.calls += 1;
        let status = line(input)?;
        let mut length = 0;
        loop {
            let header = line(input)?.to_ascii_lowercase();
            if header.is_empty() {
                break;
            }
            if let Some(text) = header.strip_prefix("content-length:") {
                length = text.trim().parse().map_err(Error::other)?;
            }
        }
        let mut body = input.take(length);
        if !status.starts_with("HTTP/1.1 200") {
            self.refusals += 1;
            return io::copy(&mut body, &mut io::sink()).map(|_| ());
        }
        while body.limit() > 0 {
            self.ids.push(id_of(&line(&mut body)?)?);
        }
        Ok(())
    }
}

/// A whole line, without its end.
fn line(input: &mut impl BufRead) -> io::Result<String> {
    let mut line = Vec::new();
    input.read_until(b'\n', &mut line)?;
    let Some(text) = line.strip_suffix(b"\n") else {
        return Err(ErrorKind::UnexpectedEof.into());
    };
    String::from_utf8(text.trim_ascii().to_vec()).map_err(Error::other)
}

fn id_of(text: &str) -> io::Result<u64> {
    let id = text.parse::<i64>();
    id.map(i64::cast_unsigned).map_err(Error::other)
}
