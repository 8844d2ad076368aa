//! The Redis protocol, RESP2 and RESP3: any language's Redis client is a client.

mod check;
mod connection;
mod general;
mod ids;
mod leases;
mod numbers;
mod parse;
mod reply;
mod session;
mod table;
mod transaction;

use core::time::Duration;
use std::sync::Arc;

use self::connection::RespConnection;
use self::session::RespSession;
use super::access::Access;
use super::listen::{Protocol, Stopping, Stream};
use super::memory::Account;
use super::service::Service;
use super::service::counters::Connections;

/// RESP on the connections of a listener.
#[derive(Clone)]
pub(crate) struct Resp {
    service: Arc<Service>,
    idle: Duration,
}

impl Resp {
    pub(crate) fn new(service: Arc<Service>, idle: Duration) -> Self {
        Self { service, idle }
    }
}

impl Protocol for Resp {
    const COST: usize = connection::COST;

    fn connections(&self) -> &Connections {
        &self.service.counters.resp
    }

    fn access(&self) -> &Access {
        &self.service.access
    }

    async fn speak(self, stream: Stream, account: Arc<Account>, stopping: Stopping) {
        // Counted, it would tell a client how many others there were. Every client can read 53 bits.
        let number = getrandom::u64().map_or(0, |random| random >> 11);
        let spoken = match RespSession::new(self.service, number, account) {
            Ok(session) => {
                let connection = RespConnection::new(stream, session, self.idle);
                connection.run(stopping).await
            }
            Err(refusal) => connection::refuse(stream, &refusal).await,
        };
        // A client that has gone wants no answer.
        drop(spoken);
    }
}
