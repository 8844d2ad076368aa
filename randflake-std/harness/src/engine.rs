//! The engines, as the scenarios that are common to all know them.

use crate::etcd::EtcdCluster;
use crate::mariadb::MariadbServer;
use crate::postgres::PostgresServer;
use crate::redis::RedisServer;
use crate::server::Server;

/// Their names, and how to start one that is new.
pub const ENGINES: &[(&str, Start)] = &[
    ("redis", || Box::new(RedisServer::start())),
    ("etcd", || Box::new(EtcdCluster::start(1))),
    ("postgres", || Box::new(PostgresServer::start())),
    ("mariadb", || {
        Box::new(with_database(MariadbServer::start()))
    }),
];

pub type Start = fn() -> Box<dyn ServerEngine>;

/// A running engine of one server.
pub trait ServerEngine: Send {
    fn port(&self) -> u16;

    /// The URL of its store, where a client finds the server on this port.
    fn url_at(&self, port: u16) -> String;

    fn server(&mut self) -> &mut Server;

    fn url(&self) -> String {
        self.url_at(self.port())
    }
}

impl ServerEngine for RedisServer {
    fn port(&self) -> u16 {
        self.port
    }

    fn url_at(&self, port: u16) -> String {
        format!("redis://127.0.0.1:{port}")
    }

    fn server(&mut self) -> &mut Server {
        &mut self.server
    }
}

/// An etcd cluster of one member.
impl ServerEngine for EtcdCluster {
    fn port(&self) -> u16 {
        self.members[0].port
    }

    fn url_at(&self, port: u16) -> String {
        format!("etcd://127.0.0.1:{port}")
    }

    fn server(&mut self) -> &mut Server {
        &mut self.members[0].server
    }
}

impl ServerEngine for PostgresServer {
    fn port(&self) -> u16 {
        self.port
    }

    fn url_at(&self, port: u16) -> String {
        format!("postgres://postgres@127.0.0.1:{port}/postgres")
    }

    fn server(&mut self) -> &mut Server {
        &mut self.server
    }
}

/// One that has the database that the URL names.
pub fn with_database(mariadb: MariadbServer) -> MariadbServer {
    let create = "CREATE DATABASE ids";
    mariadb.client(None).query_drop(create).unwrap();
    mariadb
}

impl ServerEngine for MariadbServer {
    fn port(&self) -> u16 {
        self.port
    }

    fn url_at(&self, port: u16) -> String {
        format!("mysql://root@127.0.0.1:{port}/ids")
    }

    fn server(&mut self) -> &mut Server {
        &mut self.server
    }
}
