//! The Redis protocol.

use core::net::SocketAddr;
use std::sync::Arc;

use tokio::io::AsyncWriteExt as _;

use super::listen::{Protocol, Stopping, Stream};
use super::service::Service;
use super::service::counters::Connections;

/// RESP on the connections of a listener.
#[derive(Clone)]
pub(crate) struct Resp {
    service: Arc<Service>,
}

impl Resp {
    pub(crate) fn new(service: Arc<Service>) -> Self {
        Self { service }
    }
}

impl Protocol for Resp {
    const TOO_MANY: &'static [u8] = b"-ERR max number of clients reached\r\n";

    fn connections(&self) -> &Connections {
        &self.service.counters.resp
    }

    async fn speak(self, mut stream: Stream, _peer: SocketAddr, _stopping: Stopping) {
        _ = stream.write_all(b"-ERR not yet\r\n").await;
    }
}
