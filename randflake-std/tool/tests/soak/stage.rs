//! Stores, and what happens to their servers.

use core::time::Duration;
use std::fs;
use std::path::{Path, PathBuf};
use std::thread;

use harness::engine::ServerEngine;
use harness::etcd::EtcdCluster;
use harness::mariadb::{MariadbServer, with_database};
use harness::postgres::PostgresServer;
use harness::proxy::{Network, Proxy};
use harness::redis::RedisServer;
use harness::template;
use randflake_std::lease::Namespace;
use tempfile::TempDir;

use crate::runs::namespaces;

/// Where leases are kept.
pub(crate) trait Stage {
    /// For a seat of the fleet.
    fn url(&self, seat: usize) -> String;

    /// The server, if there is one.
    fn server(&mut self) -> Option<&mut dyn ServerStage> {
        None
    }

    /// The directory of the store's files, if it has any.
    fn folder(&self) -> Option<&Path> {
        None
    }

    fn has_counters(&self) -> bool {
        true
    }

    /// Namespaces that everybody finds at the URL of the first seat.
    fn namespaces(&self, ttl: Duration) -> Vec<Namespace> {
        namespaces(ttl).into()
    }
}

/// What can happen to a server.
pub(crate) trait ServerStage {
    fn restart(&mut self);
    fn suspend(&mut self, resumed: bool);
    fn network(&self, network: Network);
    /// It loses its data.
    fn empty(&self);
    /// Another takes its place, which has missed some writes. The error says why none can.
    fn promote(&mut self, ttl: Duration) -> Result<(), String>;
}

/// A directory of its own within another, so that it can be moved away and back.
struct Files {
    _parent: TempDir,
    folder: PathBuf,
}

impl Files {
    fn new() -> Self {
        // As those of servers: each step of a store waits for its disk several times, and others'
        // builds keep that busy.
        let parent = template::empty();
        let folder = parent.path().join("state");
        fs::create_dir(&folder).unwrap();
        Self {
            _parent: parent,
            folder,
        }
    }
}

pub(crate) struct SqliteStage(Files);

impl SqliteStage {
    pub(crate) fn new() -> Self {
        Self(Files::new())
    }
}

impl Stage for SqliteStage {
    fn url(&self, _: usize) -> String {
        format!("sqlite:{}", self.0.folder.join("leases.db").display())
    }

    fn folder(&self) -> Option<&Path> {
        Some(&self.0.folder)
    }
}

/// A file for each seat, with a node id of its own.
pub(crate) struct StaticStage(Files);

impl StaticStage {
    pub(crate) fn new() -> Self {
        Self(Files::new())
    }
}

impl Stage for StaticStage {
    fn url(&self, seat: usize) -> String {
        let file = self.0.folder.join(format!("seat-{seat}"));
        format!("static:{}?node={seat}", file.display())
    }

    fn folder(&self) -> Option<&Path> {
        Some(&self.0.folder)
    }

    fn has_counters(&self) -> bool {
        false
    }

    /// None: each file belongs to the process that has it.
    fn namespaces(&self, _: Duration) -> Vec<Namespace> {
        Vec::new()
    }
}

/// A primary, which clients find by one of two networks.
pub(crate) struct Service<E> {
    primary: E,
    networks: [Proxy; 2],
}

/// An engine of which another server can take over.
pub(crate) trait Replicated: ServerEngine {
    /// One that follows the server on a port, and has all that this one has.
    fn replica(&self, port: u16) -> Self;
    fn take_over(&self);
    fn empty(&self);
}

impl<E: Replicated> Service<E> {
    pub(crate) fn of(primary: E) -> Self {
        let networks = [Proxy::to(primary.port()), Proxy::to(primary.port())];
        Self { primary, networks }
    }
}

impl<E: Replicated> Stage for Service<E> {
    fn url(&self, seat: usize) -> String {
        self.primary.url_at(self.networks[seat % 2].port)
    }

    fn server(&mut self) -> Option<&mut dyn ServerStage> {
        Some(self)
    }
}

impl<E: Replicated> ServerStage for Service<E> {
    fn restart(&mut self) {
        self.primary.server().restart();
    }

    fn suspend(&mut self, resumed: bool) {
        let server = self.primary.server();
        if resumed {
            server.resume();
        } else {
            server.suspend();
        }
    }

    fn network(&self, network: Network) {
        self.networks[1].set(network);
    }

    fn empty(&self) {
        self.primary.empty();
    }

    fn promote(&mut self, ttl: Duration) -> Result<(), String> {
        let link = Proxy::to(self.primary.port());
        let replica = self.primary.replica(link.port);
        link.set(Network::Cut);
        // What is leased and renewed now, it never hears of.
        thread::sleep(ttl);
        self.primary.server().kill();
        replica.take_over();
        for network in &self.networks {
            network.lead_to(replica.port());
        }
        self.primary = replica;
        Ok(())
    }
}

impl Replicated for RedisServer {
    fn replica(&self, port: u16) -> Self {
        let replica = Self::start();
        replica.ask(&format!("REPLICAOF 127.0.0.1 {port}"));
        while !replica
            .ask("INFO replication")
            .contains("master_link_status:up")
        {
            thread::sleep(Duration::from_millis(20));
        }
        replica
    }

    fn take_over(&self) {
        self.ask("REPLICAOF NO ONE");
    }

    fn empty(&self) {
        self.ask("FLUSHALL");
    }
}

impl Replicated for PostgresServer {
    fn replica(&self, port: u16) -> Self {
        let standby = Self::standby_of(port);
        standby.catch_up_with(self);
        standby
    }

    fn take_over(&self) {
        self.promote();
    }

    fn empty(&self) {
        let mut client = self.client("postgres");
        client
            .batch_execute("DROP SCHEMA randflake CASCADE")
            .unwrap();
    }
}

/// A server that others may follow, with the database of the URL.
pub(crate) fn mariadb() -> MariadbServer {
    with_database(MariadbServer::start_with_log(1))
}

impl Replicated for MariadbServer {
    fn replica(&self, port: u16) -> Self {
        // Each has another number than the one that it follows.
        let replica = Self::start_with_log(self.port.into());
        replica.follow(port);
        replica.catch_up_with(self);
        replica
    }

    fn take_over(&self) {
        self.promote();
    }

    fn empty(&self) {
        let mut client = self.client(None);
        for statement in ["DROP DATABASE ids", "CREATE DATABASE ids"] {
            client.query_drop(statement).unwrap();
        }
    }
}

/// Three members; half of the seats ask the first one, by a network of its own.
pub(crate) struct EtcdStage {
    cluster: EtcdCluster,
    network: Proxy,
}

impl EtcdStage {
    pub(crate) fn new() -> Self {
        let cluster = EtcdCluster::start(3);
        let network = Proxy::to(cluster.members[0].port);
        Self { cluster, network }
    }
}

impl Stage for EtcdStage {
    fn url(&self, seat: usize) -> String {
        if seat.is_multiple_of(2) {
            self.cluster.url()
        } else {
            self.cluster.url_at(self.network.port)
        }
    }

    fn server(&mut self) -> Option<&mut dyn ServerStage> {
        Some(self)
    }
}

impl ServerStage for EtcdStage {
    /// All members.
    fn restart(&mut self) {
        for member in &mut self.cluster.members {
            member.server.kill();
        }
        for member in &mut self.cluster.members {
            member.server.launch();
        }
        for member in &mut self.cluster.members {
            member.server.wait();
        }
    }

    fn suspend(&mut self, resumed: bool) {
        for member in &self.cluster.members {
            if resumed {
                member.server.resume();
            } else {
                member.server.suspend();
            }
        }
    }

    fn network(&self, network: Network) {
        self.network.set(network);
    }

    fn empty(&self) {
        // From the first possible key on.
        let all = r#"{"key":"AA==","range_end":"AA=="}"#;
        self.cluster.members[0].post("kv/deleterange", all);
    }

    /// The leader is killed.
    fn promote(&mut self, ttl: Duration) -> Result<(), String> {
        // There may be none for the moment of an election.
        let leader = (0..50).find_map(|_| {
            let leader = self.cluster.leader(0);
            if leader.is_none() {
                thread::sleep(Duration::from_millis(300));
            }
            leader
        });
        let leader = leader.ok_or("the first member knows no leader")?;
        self.cluster.members[leader].server.kill();
        thread::sleep(ttl);
        self.cluster.members[leader].server.restart();
        Ok(())
    }
}
