//! Engines on servers, as the tests and benchmarks of all engines use them.

use core::time::Duration;

use crate::server::Server;
use crate::{etcd, mariadb, postgres, redis};

/// Each in the `server.rs` of its folder.
pub const ENGINES: &[&EngineServer] = &[
    &redis::ENGINE,
    &postgres::ENGINE,
    &mariadb::ENGINE,
    &etcd::ENGINE,
];

/// How the server of an engine is started, and what benchmarks ask of it.
pub struct EngineServer {
    /// Name in tests and records.
    pub name: &'static str,
    /// Name in tables.
    pub title: &'static str,
    /// Starts a new server.
    pub start: Start,
    /// Starts a new server with memory for the tables of a benchmark.
    pub start_large: Start,
    /// Most node ids of one operation that a benchmark asks for.
    pub most_at_once: u32,
    /// Clients that a benchmark connects at once: the server's limit is above.
    pub most_clients: u32,
    /// Time within which all node ids of Randflake are leased.
    pub filling: Duration,
}

pub type Start = fn() -> Box<dyn ServerEngine>;

/// A running engine of one server.
pub trait ServerEngine: Send + Sync {
    fn port(&self) -> u16;

    /// The URL of its store, where a client finds the server on this port.
    fn url_at(&self, port: u16) -> String;

    fn process(&self) -> &Server;

    fn server(&mut self) -> &mut Server;

    /// Bytes of the namespaces: of files, or of memory if the engine keeps them there.
    fn stored_bytes(&self) -> u64;

    fn url(&self) -> String {
        self.url_at(self.port())
    }
}
