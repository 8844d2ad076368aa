//! Issuers of the fleet, the faults that they meet, and what they write.

use core::iter;
use core::sync::atomic::{AtomicBool, Ordering};
use core::time::Duration;
use std::io::{BufRead, BufReader, ErrorKind, Read, Write};
use std::net::TcpStream;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdout, Command, Stdio};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::{Instant, SystemTime};

use harness::engine::ServerEngine;
use harness::server::{Server, signal_process, spawn};
use harness::{free_port, program};
use randflake_std::lease::{self, Explanation, Namespace};
use randflake_std::randflake_core::Codec;
use randflake_std::{Id, Randflake, Secret};
use tempfile::TempDir;

const KEY: &str = "dffd6021bb2bd5b0af676290809ec3a5";
pub(crate) const TTL: Duration = Duration::from_secs(3);
/// The kinds of faults.
pub(crate) const EVENTS: usize = 7;

const REPLICAS: usize = 3;
const PYTHONS: usize = 4;

pub(crate) struct Fleet {
    engine: Box<dyn ServerEngine>,
    pub(crate) servers: Vec<Server>,
    processes: Vec<Process>,
    clients: Vec<Client>,
    ids: Vec<Ids>,
}

/// What happened, when it was over, and the server that is down since.
type Suffered = (&'static str, SystemTime, Option<usize>);

fn tool(store: &str, arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_randflake"));
    command
        .args(arguments)
        .env("RANDFLAKE_KEY", KEY)
        .env("RANDFLAKE_STORE", store)
        .env("RANDFLAKE_MAX_TTL", "3s")
        .env_remove("RANDFLAKE_NAMESPACE");
    command
}

fn server(store: &str, resp: u16, http: u16) -> Server {
    let store = store.to_owned();
    let command = move |_: &Path| {
        let [resp, http] = [resp, http].map(|port| format!("127.0.0.1:{port}"));
        let arguments = ["serve", "--resp", &resp, "--http", &http];
        let leasing = ["--ttl", "3s", "--node-ids", "1"];
        tool(&store, &[&arguments[..], &leasing].concat())
    };
    Server::start(TempDir::new().unwrap(), command, move || {
        TcpStream::connect(("127.0.0.1", http)).is_ok()
    })
}

fn namespace() -> Namespace {
    // Redis grants nothing for the longest TTL and 20 s after a restart.
    Namespace::new("default", Randflake)
        .unwrap()
        .with_max_ttl(TTL)
}

fn codec() -> Codec<Randflake> {
    Codec::new(Randflake, Secret::from_hex(KEY).unwrap().cipher())
}

impl Fleet {
    pub(crate) fn start(engine: Box<dyn ServerEngine>) -> Self {
        let store = engine.url();
        // The first access decides on the longest TTL.
        let mut first = lease::open(&store, &namespace()).unwrap();
        first.administration().end_quarantine().unwrap();
        drop(first);
        let ports: Vec<_> = (0..REPLICAS).map(|_| (free_port(), free_port())).collect();
        let servers = ports
            .iter()
            .map(|(resp, http)| server(&store, *resp, *http))
            .collect();
        let ids: Vec<Ids> = iter::repeat_with(Ids::default).take(PYTHONS + 4).collect();
        let urls: Vec<_> = ports
            .iter()
            .map(|(_, http)| format!("http://127.0.0.1:{http}"))
            .collect();
        let mut processes: Vec<_> = (0..PYTHONS)
            .map(|number| {
                let mut urls = urls.clone();
                urls.rotate_left(number % REPLICAS);
                let command = move || python(&urls);
                Process::start("a process of Python", &ids[number], command)
            })
            .collect();
        processes.extend((0..2).map(|number| {
            let store = store.clone();
            Process::start("a process of Rust", &ids[PYTHONS + number], move || {
                let fixed = ["generate", "-n", "1000000000", "--format", "int"];
                let leasing = ["--node-ids", "1", "--ttl", "3s", "--wait", "1m"];
                tool(&store, &[&fixed[..], &leasing].concat())
            })
        }));
        let mut resp: Vec<_> = ports.iter().map(|(resp, _)| *resp).collect();
        let clients = (0..2).map(|number| {
            resp.rotate_left(1);
            Client::start(&ids[PYTHONS + 2 + number], resp.clone())
        });
        Self {
            clients: clients.collect(),
            engine,
            servers,
            processes,
            ids,
        }
    }

    pub(crate) fn suffer(&mut self, event: usize) -> Suffered {
        let victim = event / EVENTS % self.processes.len();
        let replica = victim % REPLICAS;
        let mut down = None;
        let fault = match event % EVENTS {
            0 => {
                self.processes[victim % PYTHONS].kill();
                "a process of Python killed"
            }
            1 => {
                let process = &self.processes[victim];
                process.suspend();
                // Its lease ends meanwhile, and another one may get the node id.
                thread::sleep(TTL * 2);
                process.resume();
                "a process suspended"
            }
            2 => {
                self.processes[PYTHONS + victim % 2].kill();
                "a process of Rust killed"
            }
            3 => {
                self.servers[replica].kill();
                down = Some(replica);
                "one of three servers killed"
            }
            4 => {
                let server = &self.servers[replica];
                server.suspend();
                thread::sleep(TTL * 2);
                server.resume();
                "one of three servers suspended"
            }
            5 => {
                self.servers.iter_mut().for_each(Server::kill);
                self.servers.iter_mut().for_each(Server::restart);
                "all servers killed"
            }
            _ => {
                self.engine.server().restart();
                "the engine killed"
            }
        };
        (fault, SystemTime::now(), down)
    }

    /// Waits until everybody has issued an id of a later tick than that of the time.
    pub(crate) fn go_on_after(&mut self, time: SystemTime) {
        let codec = codec();
        let unix_ms = time.duration_since(SystemTime::UNIX_EPOCH).unwrap();
        let unix_ms = u64::try_from(unix_ms.as_millis()).unwrap();
        let is_later = |id| codec.unix_ms(Id::from_u64(id)) > unix_ms;
        for process in &mut self.processes {
            process.goes_on(is_later);
        }
        for client in &self.clients {
            client.goes_on(is_later);
        }
    }

    /// All that was issued.
    pub(crate) fn end(&mut self) -> Vec<u64> {
        self.clients.clear();
        self.processes.clear();
        // What was written before the end is read.
        thread::sleep(Duration::from_secs(1));
        self.ids.iter().flat_map(Ids::all).collect()
    }

    /// Somebody held the lease of each.
    pub(crate) fn explain(&self, ids: &[u64]) {
        let codec = codec();
        let mut store = lease::open(&self.engine.url(), &namespace()).unwrap();
        let history = store.history().read(0..=u32::MAX).unwrap();
        assert_eq!(history.gaps(), []);
        for id in ids {
            let parts = codec.inspect(Id::from_u64(*id));
            let explanation = history.explain(parts.node_id, parts.tick);
            assert!(
                matches!(explanation, Explanation::Held(_)),
                "{id}: {explanation:?}"
            );
        }
    }
}

fn python(urls: &[String]) -> Command {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    let script: PathBuf = here.join("tests/chaos/python.py");
    let mut command = Command::new(program("RANDFLAKE_SERVE_PYTHON"));
    command
        .arg(script)
        .arg(here.join("../examples/clients/python"))
        .args(urls)
        .env("PYTHONDONTWRITEBYTECODE", "1")
        .env("RANDFLAKE_KEY", KEY)
        .env("RANDFLAKE_TTL_S", "3");
    command
}

/// Nobody may be stuck for longer, on a busy machine.
const LIMIT: Duration = Duration::from_secs(120);
/// Between what is read: who issues as fast as it can would keep all others from the processor.
const PAUSE: Duration = Duration::from_millis(50);

/// The ids that somebody issued.
#[derive(Clone, Default)]
pub(crate) struct Ids(Arc<Mutex<Vec<u64>>>);

impl Ids {
    pub(crate) fn all(&self) -> Vec<u64> {
        self.0
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .clone()
    }

    fn newest(&self) -> Option<u64> {
        let ids = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        ids.last().copied()
    }

    /// The number of a line, unless the line was cut short.
    fn take(&self, line: &[u8]) -> bool {
        let Some(number) = line.strip_suffix(b"\n") else {
            return false;
        };
        let number: i64 = str::from_utf8(number.trim_ascii())
            .unwrap()
            .parse()
            .unwrap();
        let mut ids = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        ids.push(number.cast_unsigned());
        true
    }
}

/// A process that prints ids, started again whenever it ends.
pub(crate) struct Process {
    pub(crate) name: &'static str,
    command: Box<dyn Fn() -> Command>,
    child: Child,
    ids: Ids,
}

impl Process {
    pub(crate) fn start(
        name: &'static str,
        ids: &Ids,
        command: impl Fn() -> Command + 'static,
    ) -> Self {
        let child = launch(command(), ids);
        Self {
            name,
            command: Box::new(command),
            child,
            ids: ids.clone(),
        }
    }

    /// `kill -9`, and a new one.
    pub(crate) fn kill(&mut self) {
        self.end();
        self.child = launch((self.command)(), &self.ids);
    }

    pub(crate) fn suspend(&self) {
        signal_process(&self.child, libc::SIGSTOP);
    }

    pub(crate) fn resume(&self) {
        signal_process(&self.child, libc::SIGCONT);
    }

    fn end(&mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }

    /// Waits for an id that is later. Those from before may still be in the pipe.
    pub(crate) fn goes_on(&mut self, is_later: impl Fn(u64) -> bool) {
        let begun = Instant::now();
        while !self.ids.newest().is_some_and(&is_later) {
            if self.child.try_wait().unwrap().is_some() {
                // It gave up, as a process may when its store is away.
                self.child = launch((self.command)(), &self.ids);
            }
            assert!(begun.elapsed() < LIMIT, "{} does not go on", self.name);
            thread::sleep(PAUSE);
        }
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        self.end();
    }
}

fn launch(mut command: Command, ids: &Ids) -> Child {
    command.stdin(Stdio::null()).stdout(Stdio::piped());
    command.stderr(Stdio::null());
    let mut child = spawn(command).unwrap();
    let (stdout, ids) = (child.stdout.take().unwrap(), ids.clone());
    thread::spawn(move || read(stdout, &ids));
    child
}

fn read(stdout: ChildStdout, ids: &Ids) {
    let mut lines = BufReader::with_capacity(1 << 13, Slowly(stdout));
    let mut line = Vec::new();
    while lines.read_until(b'\n', &mut line).unwrap() > 0 && ids.take(&line) {
        line.clear();
    }
}

struct Slowly<R>(R);

impl<R: Read> Read for Slowly<R> {
    fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
        thread::sleep(PAUSE);
        self.0.read(buffer)
    }
}

/// A client of the Redis protocol, at one of the servers; at the next one when that fails.
pub(crate) struct Client {
    ids: Ids,
    is_over: Arc<AtomicBool>,
}

impl Client {
    pub(crate) fn start(ids: &Ids, ports: Vec<u16>) -> Self {
        let client = Self {
            ids: ids.clone(),
            is_over: Arc::default(),
        };
        let (ids, is_over) = (ids.clone(), Arc::clone(&client.is_over));
        thread::spawn(move || {
            for port in ports.iter().cycle() {
                if is_over.load(Ordering::Relaxed) {
                    return;
                }
                // The next one may do better.
                _ = ask(*port, &ids, &is_over);
                thread::sleep(PAUSE);
            }
        });
        client
    }

    pub(crate) fn goes_on(&self, is_later: impl Fn(u64) -> bool) {
        let begun = Instant::now();
        while !self.ids.newest().is_some_and(&is_later) {
            assert!(begun.elapsed() < LIMIT, "a client does not go on");
            thread::sleep(PAUSE);
        }
    }
}

impl Drop for Client {
    fn drop(&mut self) {
        self.is_over.store(true, Ordering::Relaxed);
    }
}

/// Asks until something fails.
fn ask(port: u16, ids: &Ids, is_over: &AtomicBool) -> std::io::Result<()> {
    let mut stream = TcpStream::connect(("127.0.0.1", port))?;
    stream.set_read_timeout(Some(Duration::from_secs(10)))?;
    let mut answers = BufReader::new(stream.try_clone()?);
    let mut line = Vec::new();
    while !is_over.load(Ordering::Relaxed) {
        stream.write_all(
            b"*2\r\n$4\r\nINCR\r\n$7\r\ndefault\r\n"
                .repeat(20)
                .as_slice(),
        )?;
        for _ in 0..20 {
            line.clear();
            answers.read_until(b'\n', &mut line)?;
            if line.first() != Some(&b':') || !ids.take(&line[1..]) {
                return Err(ErrorKind::ConnectionAborted.into());
            }
        }
        thread::sleep(PAUSE);
    }
    Ok(())
}
