//! A fleet on one store: three servers, four processes of Python that issue under the servers' leases, two of Rust on the
//! store itself, and two clients that get ids over the Redis protocol. They are killed and suspended, so are the servers,
//! one and all of them, and the engine. No id of any repeats, all go on, and the history says of each id who issued it.

#![cfg(unix)]
#![expect(
    clippy::unwrap_used,
    clippy::panic,
    clippy::print_stdout,
    reason = "a test fails by panicking, and tells how far it went"
)]

#[expect(dead_code, reason = "other tests do more to servers")]
#[path = "../engines/mod.rs"]
mod engines;
mod stream;

use core::iter;
use core::time::Duration;
use std::net::TcpStream;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Instant;
use std::{env, thread};

use randflake_std::lease::{self, Explanation, Namespace};
use randflake_std::randflake_core::Codec;
use randflake_std::{Id, Randflake, Secret};
use tempfile::TempDir;

use engines::postgres::PostgresServer;
use engines::server::Server;
use engines::{free_port, program};
use stream::{Client, Ids, Process};

/// How long, at least; each of the faults happens once in any case.
const SECONDS: &str = "RANDFLAKE_CHAOS_SECONDS";
const KEY: &str = "dffd6021bb2bd5b0af676290809ec3a5";
const TTL: Duration = Duration::from_secs(3);

const REPLICAS: usize = 3;
const PYTHONS: usize = 4;

struct Fleet {
    engine: PostgresServer,
    servers: Vec<Server>,
    processes: Vec<Process>,
    clients: Vec<Client>,
    ids: Vec<Ids>,
}

fn tool(store: &str, arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_randflake"));
    command
        .args(arguments)
        .env("RANDFLAKE_KEY", KEY)
        .env("RANDFLAKE_STORE", store)
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
    let answers = move || TcpStream::connect(("127.0.0.1", http)).is_ok();
    Server::start(TempDir::new().unwrap(), command, answers)
}

/// One that forgets nothing in a restart, so nobody has to wait for what it may have forgotten.
fn url(engine: &PostgresServer) -> String {
    format!("postgres://postgres@127.0.0.1:{}/postgres", engine.port)
}

impl Fleet {
    fn start() -> Self {
        let engine = PostgresServer::start();
        let store = url(&engine);
        let made = tool(&store, &["lease", "init"]).status().unwrap();
        assert!(made.success());
        let ports: Vec<_> = (0..REPLICAS).map(|_| (free_port(), free_port())).collect();
        let servers = ports
            .iter()
            .map(|(resp, http)| server(&store, *resp, *http));
        let servers = servers.collect();
        let ids: Vec<Ids> = iter::repeat_with(Ids::default).take(PYTHONS + 4).collect();
        let examples = Path::new(env!("CARGO_MANIFEST_DIR")).join("examples/clients/python");
        let python = |number: usize| {
            let mut urls: Vec<_> = ports
                .iter()
                .map(|(_, http)| format!("http://127.0.0.1:{http}"))
                .collect();
            urls.rotate_left(number % REPLICAS);
            let (script, examples) = (script(), examples.clone());
            move || {
                let mut command = Command::new(program("RANDFLAKE_SERVE_PYTHON"));
                command.arg(&script).arg(&examples).args(&urls);
                command.env("PYTHONDONTWRITEBYTECODE", "1");
                command
                    .env("RANDFLAKE_KEY", KEY)
                    .env("RANDFLAKE_TTL_S", "3");
                command
            }
        };
        let mut processes: Vec<_> = (0..PYTHONS)
            .map(|number| Process::start("a process of Python", &ids[number], python(number)))
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

    fn suffer(&mut self, event: usize) -> &'static str {
        let victim = event / 6 % self.processes.len();
        match event % 6 {
            0 => {
                self.processes[victim % PYTHONS].kill();
                "a process of Python was killed"
            }
            1 => {
                let process = &self.processes[victim];
                process.suspend();
                // Its lease ends meanwhile, and another one may get the node id.
                thread::sleep(TTL * 2);
                process.resume();
                "a process was suspended"
            }
            2 => {
                self.processes[PYTHONS + victim % 2].kill();
                "a process of Rust was killed"
            }
            3 => {
                self.servers[victim % REPLICAS].restart();
                "one of three servers was killed"
            }
            4 => {
                self.servers.iter_mut().for_each(Server::kill);
                self.servers.iter_mut().for_each(Server::restart);
                "all servers were killed"
            }
            _ => {
                self.engine.server.restart();
                "the engine was killed"
            }
        }
    }

    fn go_on(&mut self) {
        self.processes.iter_mut().for_each(Process::goes_on);
        self.clients.iter().for_each(Client::goes_on);
    }

    fn issued(&self) -> Vec<u64> {
        self.ids.iter().flat_map(Ids::all).collect()
    }
}

/// The test's own program.
fn script() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/chaos/python.py")
}

#[test]
fn no_id_repeats_whatever_is_killed() {
    let seconds = env::var(SECONDS).ok().and_then(|text| text.parse().ok());
    let time = Duration::from_secs(seconds.unwrap_or(0));
    let mut fleet = Fleet::start();
    fleet.go_on();
    let begun = Instant::now();
    for event in 0.. {
        if event >= 6 && begun.elapsed() >= time {
            break;
        }
        let told = fleet.suffer(event);
        fleet.go_on();
        println!("{told}: {:?}, all go on", begun.elapsed());
    }
    fleet.clients.clear();
    fleet.processes.clear();
    // What was written before the end is read.
    thread::sleep(Duration::from_secs(1));
    let mut ids = fleet.issued();
    let issued = ids.len();
    explain(&fleet.engine, &ids);
    ids.sort_unstable();
    ids.dedup();
    assert_eq!(issued - ids.len(), 0, "of {issued} ids some repeat");
    println!("{issued} ids, each once, and each explained");
}

/// Somebody held the lease of each.
fn explain(engine: &PostgresServer, ids: &[u64]) {
    let key = Secret::from_hex(KEY).unwrap();
    let codec = Codec::new(Randflake, key.cipher());
    let namespace = Namespace::new("default", Randflake).unwrap();
    let mut store = lease::open(&url(engine), &namespace).unwrap();
    let history = store.history(0..=u32::MAX).unwrap();
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
