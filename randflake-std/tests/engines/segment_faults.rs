//! Segments while processes are killed, and while stores are away: numbers may be left out, none
//! repeats.

#![cfg(unix)]
#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

#[path = "segment_faults/killed.rs"]
mod killed;
#[path = "segment_faults/outage.rs"]
mod outage;

use std::fs::File;
use std::path::PathBuf;

use harness::etcd::EtcdCluster;
use harness::mariadb::MariadbServer;
use harness::postgres::PostgresServer;
use harness::redis::RedisServer;
use randflake_std::Randflake;
use randflake_std::lease::LeaseStore;
use randflake_std::lease::Namespace;
use randflake_std::segment::open;
use tempfile::TempDir;

fn namespace() -> Namespace {
    Namespace::new("orders", Randflake).unwrap()
}

/// A store that processes share, and that can be taken away for a while.
trait Engine {
    fn url(&self) -> String;

    /// Nobody gets an answer any more.
    fn suspend(&mut self);

    fn resume(&mut self);

    fn open(&self) -> LeaseStore {
        open(&self.url(), &namespace()).unwrap()
    }
}

struct Sqlite {
    folder: TempDir,
    held: Option<File>,
}

impl Sqlite {
    fn new() -> Self {
        let sqlite = Self {
            folder: TempDir::new().unwrap(),
            held: None,
        };
        sqlite.open().counter().create().unwrap();
        sqlite
    }

    fn path(&self) -> PathBuf {
        self.folder.path().join("counters.db")
    }
}

impl Engine for Sqlite {
    fn url(&self) -> String {
        format!("sqlite:{}", self.path().display())
    }

    fn suspend(&mut self) {
        let lock = File::open(self.path().with_extension("db.lock")).unwrap();
        lock.lock().unwrap();
        self.held = Some(lock);
    }

    fn resume(&mut self) {
        self.held = None;
    }
}

struct Redis(RedisServer);

impl Redis {
    fn new() -> Self {
        let redis = Self(RedisServer::start());
        redis.open().counter().create().unwrap();
        redis
    }
}

impl Engine for Redis {
    fn url(&self) -> String {
        self.0.url()
    }

    fn suspend(&mut self) {
        self.0.server.suspend();
    }

    fn resume(&mut self) {
        self.0.server.resume();
    }
}

/// A server that crashes and comes back has kept what it answered.
struct Postgres(PostgresServer);

impl Postgres {
    fn new() -> Self {
        let postgres = Self(PostgresServer::start());
        postgres.open().counter().create().unwrap();
        postgres
    }
}

impl Engine for Postgres {
    fn url(&self) -> String {
        self.0.url("postgres")
    }

    fn suspend(&mut self) {
        self.0.server.kill();
    }

    fn resume(&mut self) {
        self.0.server.restart();
    }
}

struct Mysql(MariadbServer);

impl Mysql {
    fn new() -> Self {
        let server = MariadbServer::start();
        server
            .client(None)
            .query_drop("CREATE DATABASE ids")
            .unwrap();
        let mysql = Self(server);
        mysql.open().counter().create().unwrap();
        mysql
    }
}

impl Engine for Mysql {
    fn url(&self) -> String {
        self.0.url("ids")
    }

    fn suspend(&mut self) {
        self.0.server.kill();
    }

    fn resume(&mut self) {
        self.0.server.restart();
    }
}

struct Etcd(EtcdCluster);

impl Etcd {
    fn new() -> Self {
        let etcd = Self(EtcdCluster::start(1));
        etcd.open().counter().create().unwrap();
        etcd
    }
}

impl Engine for Etcd {
    fn url(&self) -> String {
        self.0.url()
    }

    fn suspend(&mut self) {
        self.0.members[0].server.suspend();
    }

    fn resume(&mut self) {
        self.0.members[0].server.resume();
    }
}

macro_rules! on_every_engine {
    ($($engine:ident: $new:expr,)*) => {
        $(
            mod $engine {
                #[test]
                fn killed_processes_repeat_nothing() {
                    crate::segment_faults::killed::killed_processes_repeat_nothing(&$new);
                }

                #[test]
                fn an_outage_is_survived_for_the_time_asked_for() {
                    crate::segment_faults::outage::an_outage_is_survived_for_the_time_asked_for($new);
                }
            }
        )*
    };
}

on_every_engine! {
    sqlite: crate::segment_faults::Sqlite::new(),
    redis: crate::segment_faults::Redis::new(),
    postgres: crate::segment_faults::Postgres::new(),
    mariadb: crate::segment_faults::Mysql::new(),
    etcd: crate::segment_faults::Etcd::new(),
}
