//! Connections to PostgreSQL, over a stream whose replies are bounded.

use core::time::Duration;
use std::io;

use tokio::net::{TcpStream, lookup_host};
use tokio::task::JoinHandle;
use tokio::time::timeout;
use tokio_postgres::config::Host;
use tokio_postgres::tls::{MakeTlsConnect, TlsConnect};
use tokio_postgres::{Client, Config, NoTls, SimpleQueryMessage};

use super::{Postgres, tls};
use crate::store::engines::database::{BoundedStream, DatabaseFailure};
use crate::vocabulary::EngineError;

pub(super) type Stream = BoundedStream<TcpStream>;

/// A connection, and the task that moves its bytes.
pub(super) async fn connect(
    postgres: &Postgres,
) -> Result<(Client, JoinHandle<()>), DatabaseFailure> {
    match &postgres.files {
        Some(files) => to_primary(&postgres.config, tls::connector(files)?).await,
        None => to_primary(&postgres.config, NoTls).await,
    }
}

/// Connects to the first host that takes writes: a standby cannot grant.
async fn to_primary<T>(
    config: &Config,
    mut tls: T,
) -> Result<(Client, JoinHandle<()>), DatabaseFailure>
where
    T: MakeTlsConnect<Stream>,
    T::Stream: Send + 'static,
    T::TlsConnect: Send,
    <T::TlsConnect as TlsConnect<Stream>>::Future: Send,
{
    let mut last = EngineError::unavailable("the URL has no host").into();
    for (host, port) in config.get_hosts().iter().zip(config.get_ports()) {
        let Host::Tcp(name) = host else {
            continue;
        };
        let encrypts = tls.make_tls_connect(name);
        let encrypts = encrypts.map_err(|error| EngineError::unavailable(error.into()))?;
        match to_host(config, name, *port, encrypts).await {
            Ok(connected) => return Ok(connected),
            Err(failure) => last = failure,
        }
    }
    Err(last)
}

async fn to_host<T>(
    config: &Config,
    name: &str,
    port: u16,
    tls: T,
) -> Result<(Client, JoinHandle<()>), DatabaseFailure>
where
    T: TlsConnect<Stream>,
    T::Stream: Send + 'static,
{
    let stream = reach(name, port, config.get_connect_timeout().copied());
    let stream = stream.await.map_err(EngineError::unavailable)?;
    let (client, connection) = config.connect_raw(BoundedStream::new(stream), tls).await?;
    let driver = tokio::spawn(async move { _ = connection.await });
    let settings = client.simple_query("SHOW transaction_read_only").await;
    let is_read_only = settings?
        .iter()
        .any(|message| matches!(message, SimpleQueryMessage::Row(row) if row.get(0) == Some("on")));
    if is_read_only {
        driver.abort();
        let why =
            "it takes no writes (transaction_read_only is on), as a standby: name the primary";
        return Err(EngineError::unavailable(why).into());
    }
    Ok((client, driver))
}

/// Connects to the first address of a host that answers.
async fn reach(name: &str, port: u16, limit: Option<Duration>) -> io::Result<TcpStream> {
    let mut last = io::Error::other("the name has no address");
    for address in lookup_host((name, port)).await? {
        let connecting = TcpStream::connect(address);
        let connected = match limit {
            Some(limit) => timeout(limit, connecting).await.map_err(io::Error::from),
            None => Ok(connecting.await),
        };
        match connected.flatten() {
            Ok(stream) => {
                // Or what is too long for one packet waits for an acknowledgement.
                stream.set_nodelay(true)?;
                return Ok(stream);
            }
            Err(error) => last = error,
        }
    }
    Err(last)
}
