//! Databases on real servers, and in memory.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::thread;

use harness::Shared;
use harness::mariadb::MariadbServer;
use harness::postgres::PostgresServer;

/// An empty database, on a server that is there as long as one of its databases.
pub(crate) struct Database<S> {
    pub(crate) url: String,
    _server: Arc<S>,
}

/// Runs `start` outside the runtime of an asynchronous test, because starting a server blocks.
fn on_own_thread<T: Send>(start: impl FnOnce() -> T + Send) -> T {
    thread::scope(|scope| scope.spawn(start).join()).unwrap()
}

pub(crate) fn postgresql() -> Database<PostgresServer> {
    on_own_thread(postgresql_database)
}

fn postgresql_database() -> Database<PostgresServer> {
    static SERVER: Shared<PostgresServer> = Shared::new();
    let server = SERVER.get(PostgresServer::start);
    let name = unused_name();
    let create = format!("CREATE DATABASE {name}");
    server.client("postgres").batch_execute(&create).unwrap();
    Database {
        url: server.url(&name),
        _server: server,
    }
}

pub(crate) fn mariadb() -> Database<MariadbServer> {
    on_own_thread(mariadb_database)
}

fn mariadb_database() -> Database<MariadbServer> {
    static SERVER: Shared<MariadbServer> = Shared::new();
    let server = SERVER.get(MariadbServer::start);
    let name = unused_name();
    let create = format!("CREATE DATABASE {name}");
    server.client(None).query_drop(create).unwrap();
    Database {
        url: server.url(&name),
        _server: server,
    }
}

/// A database in memory: SQLite needs no server.
pub(crate) fn in_memory(url: &str) -> Database<()> {
    Database {
        url: url.to_owned(),
        _server: Arc::new(()),
    }
}

fn unused_name() -> String {
    static DATABASES: AtomicU32 = AtomicU32::new(0);
    format!("test_{}", DATABASES.fetch_add(1, Ordering::Relaxed))
}
