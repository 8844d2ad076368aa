//! Connections to PostgreSQL, over a stream whose replies are bounded.

use core::time::Duration;
use std::io;

use tokio::net::{TcpStream, lookup_host};
use tokio::task::JoinHandle;
use tokio::time::timeout;
use tokio_postgres::config::Host;
use tokio_postgres::tls::{MakeTlsConnect, TlsConnect};
use tokio_postgres::{Client, Config, Error, NoTls, SimpleQueryMessage};

use super::failure::of_login;
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
    let connected = config.connect_raw(BoundedStream::new(stream), tls).await;
    let (client, connection) = connected.map_err(of_login)?;
    let driver = tokio::spawn(async move { _ = connection.await });
    let why = match writes(&client).await {
        Ok(Writes::Allowed) => return Ok((client, driver)),
        Ok(Writes::SwitchedOff) => EngineError::unusable(
            "default_transaction_read_only is on for this role, this database or the server, so it takes no writes: if it \
             is the primary, set it off (ALTER ROLE, ALTER DATABASE or ALTER SYSTEM ... SET default_transaction_read_only \
             = off)",
        ),
        Ok(Writes::Standby) => EngineError::unavailable(
            "it takes no writes (transaction_read_only is on), as a standby: name the primary",
        ),
        Err(error) => {
            driver.abort();
            return Err(error.into());
        }
    };
    driver.abort();
    Err(DatabaseFailure::of_the_connection(why))
}

/// Whether a server takes writes.
enum Writes {
    Allowed,
    /// By a setting, which stays until somebody changes it.
    SwitchedOff,
    /// It may be promoted.
    Standby,
}

async fn writes(client: &Client) -> Result<Writes, Error> {
    let is_so = async |question, yes: &str| {
        let rows = client.simple_query(question).await?;
        let is_yes = |message: &_| matches!(message, SimpleQueryMessage::Row(row) if row.get(0) == Some(yes));
        Ok::<_, Error>(rows.iter().any(is_yes))
    };
    if !is_so("SHOW transaction_read_only", "on").await? {
        return Ok(Writes::Allowed);
    }
    // By its schema: the path in which names are looked up is not set yet.
    let is_standby = is_so("SELECT pg_catalog.pg_is_in_recovery()", "t").await?;
    Ok(if is_standby {
        Writes::Standby
    } else {
        Writes::SwitchedOff
    })
}

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
