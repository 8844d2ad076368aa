//! Connections to PostgreSQL, over a stream whose replies are bounded.

use std::io;

use tokio::net::TcpStream;
#[cfg(unix)]
use tokio::net::UnixStream;
use tokio::task::JoinHandle;
use tokio::time::timeout;
use tokio_postgres::tls::{MakeTlsConnect, TlsConnect};
use tokio_postgres::{Client, Error, NoTls, SimpleQueryMessage};

use super::failure::{failure, of_login};
use super::store::Postgres;
use super::tls;
use crate::bounded::BoundedStream;
use randflake_lease::EngineError;
use randflake_lease::unstable::net::Attempt;
use randflake_lease::unstable::url::Host;
use randflake_sql::DatabaseFailure;

/// A connection to an address, and the task that moves its bytes.
pub(crate) async fn connect(
    postgres: &Postgres,
    attempt: &Attempt,
) -> Result<(Client, JoinHandle<()>), DatabaseFailure> {
    let connecting = async {
        match &postgres.files {
            Some(files) => log_in(postgres, attempt, tls::connector(files)?).await,
            None => log_in(postgres, attempt, NoTls).await,
        }
    };
    match postgres.config.get_connect_timeout() {
        Some(limit) => timeout(*limit, connecting).await?,
        None => connecting.await,
    }
}

/// Connects, unless the server takes no writes: a standby cannot grant.
async fn log_in<T>(
    postgres: &Postgres,
    attempt: &Attempt,
    mut tls: T,
) -> Result<(Client, JoinHandle<()>), DatabaseFailure>
where
    T: MakeTlsConnect<BoundedStream>,
    T::Stream: Send + 'static,
    T::TlsConnect: TlsConnect<BoundedStream>,
{
    let tls = tls.make_tls_connect(&attempt.host.name);
    let tls = tls.map_err(|error| EngineError::unavailable(error.into()))?;
    let stream = reach(attempt).await.map_err(EngineError::unavailable)?;
    let connected = postgres.config.connect_raw(stream, tls).await;
    let (client, connection) = connected.map_err(of_login)?;
    let driver = tokio::spawn(async move { _ = connection.await });
    let why = match writes(&client).await {
        Ok(Writes::Allowed) => return Ok((client, driver)),
        Ok(Writes::SwitchedOff) => EngineError::failed_precondition(
            "default_transaction_read_only is on for this role, this database or the server, so it takes no writes: if it \
             is the primary, set it off (ALTER ROLE, ALTER DATABASE or ALTER SYSTEM ... SET default_transaction_read_only \
             = off)",
        ),
        Ok(Writes::Standby) => EngineError::unavailable(
            "it takes no writes (transaction_read_only is on), as a standby: name the primary",
        ),
        Err(error) => {
            driver.abort();
            return Err(failure(error));
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

async fn reach(attempt: &Attempt) -> io::Result<BoundedStream> {
    let Some(address) = attempt.address else {
        return local(&attempt.host).await;
    };
    let stream = TcpStream::connect(address).await?;
    // Or what is too long for one packet waits for an acknowledgement.
    stream.set_nodelay(true)?;
    Ok(BoundedStream::new(stream))
}

/// The socket that a server makes in a folder.
#[cfg(unix)]
async fn local(Host { name, port }: &Host) -> io::Result<BoundedStream> {
    let stream = UnixStream::connect(format!("{name}/.s.PGSQL.{port}")).await?;
    Ok(BoundedStream::new(stream))
}

#[cfg(not(unix))]
async fn local(_: &Host) -> io::Result<BoundedStream> {
    Err(io::Error::other("this system has no such sockets"))
}
