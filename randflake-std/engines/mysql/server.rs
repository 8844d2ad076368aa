//! A MariaDB server for tests.

use core::time::Duration;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use mysql_async::prelude::{FromRow, Queryable};
use mysql_async::{Conn, OptsBuilder, Params};
use tempfile::TempDir;
use tokio::runtime::{self, Runtime};

use crate::certificates::Authority;
use crate::clock::WallClock;
use crate::engine::{EngineServer, ServerEngine};
use crate::server::Server;
use crate::unprivileged::Unprivileged;
use crate::{free_port, program, template};

/// The server's program, and the one that makes its data directory.
const PROGRAM: &str = "RANDFLAKE_MARIADBD";
const INSTALL: &str = "RANDFLAKE_MARIADB_INSTALL_DB";

/// Several run at once on a small machine.
const MODEST: [&str; 3] = [
    "--innodb-log-file-size=32M",
    "--innodb-buffer-pool-size=64M",
    "--innodb-use-native-aio=0",
];

/// The engine in tests and benchmarks of all engines.
pub const ENGINE: EngineServer = EngineServer {
    name: "mariadb",
    title: "MariaDB",
    start: || Box::new(with_database(MariadbServer::start())),
    start_large: || {
        Box::new(with_database(MariadbServer::start_with(&[
            "--innodb-buffer-pool-size=256M",
            "--innodb-log-file-size=96M",
        ])))
    },
    most_at_once: 8_192,
    most_clients: 150,
    filling: Duration::from_secs(30),
};

pub struct MariadbServer {
    pub server: Server,
    pub port: u16,
}

impl MariadbServer {
    pub fn start() -> Self {
        Self::start_with(&[])
    }

    /// With further settings: `["--innodb-flush-log-at-trx-commit=2"]`.
    pub fn start_with(settings: &[&str]) -> Self {
        Self::start_in(settings, None)
    }

    /// With a wall clock of its own, whose file everybody can read.
    pub fn start_by(clock: Arc<WallClock>) -> Self {
        Self::start_in(&[], Some(clock))
    }

    fn start_in(settings: &[&str], clock: Option<Arc<WallClock>>) -> Self {
        let port = free_port();
        let folder = fresh();
        let settings: Vec<String> = settings.iter().map(|&word| word.to_owned()).collect();
        let command = move |folder: &Path| {
            let server = program(PROGRAM);
            let mut command = match &clock {
                Some(clock) => Unprivileged::command_by(clock, &server),
                None => Unprivileged::command(&server),
            };
            command
                .arg("--no-defaults")
                .arg(format!("--datadir={}", data(folder).display()))
                .arg(format!("--socket={}", folder.join("socket").display()))
                .arg(temporary(folder))
                .args([
                    format!("--port={port}"),
                    "--bind-address=127.0.0.1".to_owned(),
                ])
                .args(MODEST)
                // A connection that was closed is counted for a moment longer.
                .args(["--max-connections=500", "--skip-name-resolve"])
                .arg(format!("--tmpdir={}", folder.display()))
                .args(&settings);
            command
        };
        Self {
            server: Server::start(folder, command, move || connect(port, None).is_ok()),
            port,
        }
    }

    /// One that others may follow.
    pub fn start_with_log(server_id: u32) -> Self {
        let server_id = format!("--server-id={server_id}");
        Self::start_with(&[
            "--log-bin",
            "--sync-binlog=1",
            "--log-slave-updates",
            &server_id,
        ])
    }

    /// Makes this a replica of the server on a port, asynchronously.
    pub fn follow(&self, port: u16) {
        let change = format!(
            "CHANGE MASTER TO master_host = '127.0.0.1', master_port = {port},
                master_user = 'root', master_use_gtid = slave_pos"
        );
        let mut client = self.client(None);
        for statement in [&*change, "START SLAVE"] {
            client.query_drop(statement).unwrap();
        }
    }

    /// Waits until this replica has all that the primary has written.
    pub fn catch_up_with(&self, primary: &Self) {
        let written: Option<String> = primary
            .client(None)
            .query_first("SELECT @@gtid_binlog_pos")
            .unwrap();
        let wait = "SELECT MASTER_GTID_WAIT(?, 60)";
        let waited: Option<i32> = self
            .client(None)
            .exec_first(wait, (written.unwrap(),))
            .unwrap();
        assert_eq!(waited, Some(0), "it does not follow");
    }

    /// Makes a replica the primary.
    pub fn promote(&self) {
        let mut client = self.client(None);
        for statement in ["STOP SLAVE", "RESET SLAVE ALL", "SET GLOBAL read_only = 0"] {
            client.query_drop(statement).unwrap();
        }
    }

    pub fn url(&self, database: &str) -> String {
        format!("mysql://root@127.0.0.1:{}/{database}", self.port)
    }

    /// A client to look behind the store with.
    pub fn client(&self, database: Option<&str>) -> Client {
        connect(self.port, database).unwrap()
    }

    /// The client of another user, who has no password.
    pub fn client_as(&self, user: &str, database: &str) -> Client {
        Client::new(options(self.port, Some(database)).user(Some(user))).unwrap()
    }
}

fn connect(port: u16, database: Option<&str>) -> mysql_async::Result<Client> {
    Client::new(options(port, database))
}

fn options(port: u16, database: Option<&str>) -> OptsBuilder {
    OptsBuilder::default()
        .ip_or_hostname("127.0.0.1")
        .tcp_port(port)
        .user(Some("root"))
        .prefer_socket(false)
        .db_name(database)
}

/// A client that blocks.
pub struct Client {
    connection: Conn,
    // Its socket belongs to it.
    runtime: Runtime,
}

impl Client {
    pub fn new(options: OptsBuilder) -> mysql_async::Result<Self> {
        let runtime = runtime::Builder::new_current_thread()
            .enable_all()
            .build()
            .unwrap();
        Ok(Self {
            connection: runtime.block_on(Conn::new(options))?,
            runtime,
        })
    }

    pub fn query_drop(&mut self, statement: impl AsRef<str>) -> mysql_async::Result<()> {
        let statement = statement.as_ref();
        self.runtime.block_on(self.connection.query_drop(statement))
    }

    pub fn query_first<T: FromRow + Send + 'static>(
        &mut self,
        question: impl AsRef<str>,
    ) -> mysql_async::Result<Option<T>> {
        let question = question.as_ref();
        self.runtime.block_on(self.connection.query_first(question))
    }

    pub fn query<T: FromRow + Send + 'static>(
        &mut self,
        question: &str,
    ) -> mysql_async::Result<Vec<T>> {
        self.runtime.block_on(self.connection.query(question))
    }

    pub fn exec_drop(
        &mut self,
        statement: &str,
        parameters: impl Into<Params> + Send,
    ) -> mysql_async::Result<()> {
        let done = self.connection.exec_drop(statement, parameters);
        self.runtime.block_on(done)
    }

    pub fn exec_first<T: FromRow + Send + 'static>(
        &mut self,
        question: &str,
        parameters: impl Into<Params> + Send,
    ) -> mysql_async::Result<Option<T>> {
        let answer = self.connection.exec_first(question, parameters);
        self.runtime.block_on(answer)
    }
}

/// A folder with an empty data directory in it.
fn fresh() -> TempDir {
    template::copied(&program(PROGRAM), |folder| {
        let mut create = Unprivileged::command(&program(INSTALL));
        create
            .args([
                "--no-defaults",
                "--skip-test-db",
                "--auth-root-authentication-method=normal",
            ])
            .args(MODEST)
            .arg(format!("--datadir={}", data(folder).display()))
            .arg(temporary(folder));
        let output = create.output().unwrap();
        assert!(output.status.success(), "{create:?}: {output:?}");
    })
}

/// A server that starts removes all temporary tables that it finds, those of others too.
fn temporary(folder: &Path) -> String {
    format!("--tmpdir={}", folder.display())
}

fn data(folder: &Path) -> PathBuf {
    folder.join("data")
}

impl MariadbServer {
    /// One that takes encrypted connections too.
    pub fn start_encrypted(authority: &Authority) -> Self {
        let own = authority.server();
        Self::start_with(&[
            &format!("--ssl-ca={}", authority.file().display()),
            &format!("--ssl-cert={}", own.certificate.display()),
            &format!("--ssl-key={}", own.key.display()),
        ])
    }
}

impl ServerEngine for MariadbServer {
    fn port(&self) -> u16 {
        self.port
    }

    fn url_at(&self, port: u16) -> String {
        format!("mysql://root@127.0.0.1:{port}/ids")
    }

    fn process(&self) -> &Server {
        &self.server
    }

    fn server(&mut self) -> &mut Server {
        &mut self.server
    }

    fn stored_bytes(&self) -> u64 {
        let files = fs::read_dir(self.server.folder().join("data/ids")).unwrap();
        files
            .map(|file| file.unwrap().metadata().unwrap().len())
            .sum()
    }
}

/// One that has the database that the URL names.
pub fn with_database(mariadb: MariadbServer) -> MariadbServer {
    let create = "CREATE DATABASE ids";
    mariadb.client(None).query_drop(create).unwrap();
    mariadb
}
