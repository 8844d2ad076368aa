//! A PostgreSQL server for tests.

use core::time::Duration;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;
use std::time::Instant;
use std::{fs, thread};

use postgres::{Client, NoTls};
use tempfile::TempDir;

use crate::certificates::Authority;
use crate::clock::WallClock;
use crate::engine::{EngineServer, ServerEngine};
use crate::server::{Server, working_in};
use crate::unprivileged::Unprivileged;
use crate::{free_port, program, template};

/// The folder of its programs.
const PROGRAMS: &str = "RANDFLAKE_POSTGRES";
/// How long a standby may be behind.
const FOLLOW_LIMIT: Duration = Duration::from_secs(60);

/// The engine in tests and benchmarks of all engines.
pub const ENGINE: EngineServer = EngineServer {
    name: "postgres",
    title: "PostgreSQL",
    start: || Box::new(PostgresServer::start()),
    start_large: || Box::new(PostgresServer::start()),
    most_at_once: 8_192,
    most_clients: 150,
    filling: Duration::from_secs(30),
};

pub struct PostgresServer {
    pub server: Server,
    pub port: u16,
}

impl PostgresServer {
    pub fn start() -> Self {
        Self::start_with(&[])
    }

    /// With further settings: `["synchronous_commit=off"]`.
    pub fn start_with(settings: &[&str]) -> Self {
        Self::start_in(fresh(), settings, None)
    }

    /// With a system identifier of its own: all others have that of one template.
    pub fn start_unrelated() -> Self {
        let folder = template::unused();
        create(folder.path());
        Self::start_in(folder, &[], None)
    }

    /// Replaces the rules of who may connect how: lines of `pg_hba.conf`.
    pub fn admit(&self, rules: &str) {
        fs::write(data(self.server.folder()).join("pg_hba.conf"), rules).unwrap();
        let mut client = self.client("postgres");
        client.batch_execute("SELECT pg_reload_conf()").unwrap();
    }

    /// With a wall clock of its own, whose file everybody can read.
    pub fn start_by(clock: Arc<WallClock>) -> Self {
        Self::start_in(fresh(), &[], Some(clock))
    }

    /// A standby that follows the server on a port, asynchronously.
    pub fn standby_of(port: u16) -> Self {
        let folder = template::unused();
        let port = port.to_string();
        let mut copy = as_postgres("pg_basebackup");
        copy.args([
            "--host=127.0.0.1",
            "--username=postgres",
            "--checkpoint=fast",
        ])
        .args([
            "--write-recovery-conf",
            "--no-sync",
            "--port",
            &port,
            "--pgdata",
        ])
        .arg(data(folder.path()));
        succeeds(copy);
        Self::start_in(folder, &[], None)
    }

    fn start_in(folder: TempDir, settings: &[&str], clock: Option<Arc<WallClock>>) -> Self {
        let port = free_port();
        let settings: Vec<String> = settings.iter().map(|&word| word.to_owned()).collect();
        let command = move |folder: &Path| {
            // None can be started before what is left of a killed one is gone.
            while !working_in(&data(folder)).is_empty() {
                thread::sleep(Duration::from_millis(10));
            }
            let mut command = match &clock {
                Some(clock) => Unprivileged::command_by(clock, &program(PROGRAMS).join("postgres")),
                None => as_postgres("postgres"),
            };
            command
                .arg("-D")
                .arg(data(folder))
                .args(["-p", &port.to_string()])
                .args([
                    "-c",
                    "listen_addresses=127.0.0.1",
                    "-c",
                    "unix_socket_directories=",
                ])
                .args(["-c", "max_connections=200"])
                // In its folder, which is removed: elsewhere it would stay when the server is
                // killed.
                .args(["-c", "dynamic_shared_memory_type=mmap"])
                .args(settings.iter().flat_map(|setting| ["-c", setting]));
            command
        };
        Self {
            server: Server::start(folder, command, move || connect(port, "postgres").is_ok()),
            port,
        }
    }

    pub fn url(&self, database: &str) -> String {
        format!("postgres://postgres@127.0.0.1:{}/{database}", self.port)
    }

    /// A client to look behind the store with.
    pub fn client(&self, database: &str) -> Client {
        connect(self.port, database).unwrap()
    }

    /// Waits until this standby has all that the primary has written.
    pub fn catch_up_with(&self, primary: &Self) {
        let sent = "SELECT pg_current_wal_flush_lsn()::text";
        let sent: String = primary
            .client("postgres")
            .query_one(sent, &[])
            .unwrap()
            .get(0);
        let is_received = format!("SELECT pg_last_wal_replay_lsn() >= '{sent}'::pg_lsn");
        let mut client = self.client("postgres");
        let started = Instant::now();
        let mut has_received = || -> Option<bool> {
            let row = client.query_one(&is_received, &[]);
            row.unwrap().get(0)
        };
        while has_received() != Some(true) {
            assert!(started.elapsed() < FOLLOW_LIMIT, "it does not follow");
            thread::sleep(Duration::from_millis(20));
        }
    }

    /// Makes a standby the primary.
    pub fn promote(&self) {
        let promoted = self
            .client("postgres")
            .query_one("SELECT pg_promote()", &[]);
        assert!(promoted.unwrap().get::<_, bool>(0));
    }
}

fn connect(port: u16, database: &str) -> Result<Client, postgres::Error> {
    let url = format!("postgres://postgres@127.0.0.1:{port}/{database}?connect_timeout=30");
    Client::connect(&url, NoTls)
}

/// A folder with an empty cluster in it.
fn fresh() -> TempDir {
    template::copied(&program(PROGRAMS).join("postgres"), create)
}

fn create(folder: &Path) {
    let mut create = as_postgres("initdb");
    create
        .args([
            "--username=postgres",
            "--auth=trust",
            "--encoding=UTF8",
            "--no-sync",
            "--pgdata",
        ])
        .arg(data(folder));
    succeeds(create);
}

fn data(folder: &Path) -> PathBuf {
    folder.join("data")
}

/// A program of the server's: it refuses to be run by root.
fn as_postgres(name: &str) -> Command {
    Unprivileged::command(&program(PROGRAMS).join(name))
}

fn succeeds(mut command: Command) {
    let output = command.output().unwrap();
    let told = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{command:?}: {told}");
}

impl PostgresServer {
    /// One that takes encrypted connections too.
    pub fn start_encrypted(authority: &Authority) -> Self {
        let own = authority.server();
        let (ca, certificate, key) = (authority.file(), &own.certificate, &own.key);
        Self::start_with(&[
            "ssl=on",
            &format!("ssl_ca_file={}", ca.display()),
            &format!("ssl_cert_file={}", certificate.display()),
            &format!("ssl_key_file={}", key.display()),
        ])
    }
}

impl ServerEngine for PostgresServer {
    fn port(&self) -> u16 {
        self.port
    }

    fn url_at(&self, port: u16) -> String {
        format!("postgres://postgres@127.0.0.1:{port}/postgres")
    }

    fn process(&self) -> &Server {
        &self.server
    }

    fn server(&mut self) -> &mut Server {
        &mut self.server
    }

    fn stored_bytes(&self) -> u64 {
        let sizes = "SELECT coalesce(sum(pg_total_relation_size(oid)), 0)::bigint FROM pg_class
            WHERE relnamespace = to_regnamespace('randflake') AND relkind = 'r'";
        let row = self.client("postgres").query_one(sizes, &[]).unwrap();
        row.get::<_, i64>(0).cast_unsigned()
    }
}
