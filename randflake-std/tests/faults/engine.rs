//! The engines, as the scenarios that are common to all know them.

use crate::engines::etcd::EtcdCluster;
use crate::engines::redis::RedisServer;
use crate::engines::server::Server;

/// Their names, and how to start one that is new.
pub(crate) const ENGINES: &[(&str, Start)] = &[
    ("redis", || Box::new(RedisServer::start())),
    ("etcd", || Box::new(EtcdCluster::start(1))),
];

pub(crate) type Start = fn() -> Box<dyn Engine>;

/// A running engine of one server.
pub(crate) trait Engine: Send {
    fn port(&self) -> u16;

    /// The URL of its store, where a client finds the server on this port.
    fn url_at(&self, port: u16) -> String;

    fn server(&mut self) -> &mut Server;

    fn url(&self) -> String {
        self.url_at(self.port())
    }
}

impl Engine for RedisServer {
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

/// Of one member.
impl Engine for EtcdCluster {
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
