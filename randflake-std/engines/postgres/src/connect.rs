//! Connections to PostgreSQL: over a stream whose replies are bounded, and encrypted by rustls.

use core::pin::Pin;
use core::task::{Context, Poll, ready};
use std::io;

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::TcpStream;
#[cfg(unix)]
use tokio::net::UnixStream;
use tokio::task::JoinHandle;
use tokio::time::timeout;
use tokio_postgres::tls::{MakeTlsConnect, TlsConnect};
use tokio_postgres::{Client, Config, Error, NoTls, SimpleQueryMessage};
#[cfg(feature = "tls")]
use tokio_postgres_rustls::MakeRustlsConnect;

use super::failure::{failure, of_login};
use randflake_lease::EngineError;
use randflake_lease::unstable::net::{Attempt, ExpectedPeer, LARGEST_REPLY, too_long};
use randflake_lease::unstable::tls::Files;
use randflake_lease::unstable::url::Host;
use randflake_sql::DatabaseFailure;

/// How the PostgreSQL servers of one cluster are reached.
#[derive(Debug)]
pub(crate) struct Postgres {
    pub(crate) config: Config,
    pub(crate) expected: Vec<ExpectedPeer>,
    /// For an encrypted connection.
    pub(crate) files: Option<Files>,
    /// Who made the schema, if it was another role.
    pub(crate) owner: Option<String>,
}

/// A connection to an address, and the task that moves its bytes.
pub(crate) async fn connect(
    postgres: &Postgres,
    attempt: &Attempt,
) -> Result<(Client, JoinHandle<()>), DatabaseFailure> {
    let connecting = async {
        match &postgres.files {
            Some(files) => log_in(postgres, attempt, connector(files)?).await,
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
    let tls = tls
        .make_tls_connect(&attempt.host.name)
        .map_err(|error| EngineError::unavailable(error.into()))?;
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
        Ok::<_, Error>(rows.iter().any(|message: &_| matches!(message, SimpleQueryMessage::Row(row) if row.get(0) == Some(yes))))
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

/// A connection that fails once the server has sent more than [`LARGEST_REPLY`] since the last
/// request.
pub(crate) struct BoundedStream {
    inner: Box<dyn Socket>,
    /// Bytes that may still be read before the next request.
    left: usize,
}

/// A socket of any kind.
trait Socket: AsyncRead + AsyncWrite + Unpin + Send {}

impl<S: AsyncRead + AsyncWrite + Unpin + Send> Socket for S {}

impl BoundedStream {
    pub(crate) fn new(inner: impl AsyncRead + AsyncWrite + Unpin + Send + 'static) -> Self {
        Self {
            inner: Box::new(inner),
            left: LARGEST_REPLY,
        }
    }
}

impl AsyncRead for BoundedStream {
    fn poll_read(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let this = self.get_mut();
        let before = buffer.filled().len();
        ready!(Pin::new(&mut this.inner).poll_read(context, buffer))?;
        let read = buffer.filled().len() - before;
        match this.left.checked_sub(read) {
            Some(left) => this.left = left,
            None => return Poll::Ready(Err(too_long())),
        }
        Poll::Ready(Ok(()))
    }
}

impl AsyncWrite for BoundedStream {
    fn poll_write(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        let this = self.get_mut();
        this.left = LARGEST_REPLY;
        Pin::new(&mut this.inner).poll_write(context, bytes)
    }

    fn poll_flush(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.get_mut().inner).poll_flush(context)
    }

    fn poll_shutdown(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.get_mut().inner).poll_shutdown(context)
    }
}

/// The files are read for each connection: certificates are replaced before they expire.
#[cfg(feature = "tls")]
pub(crate) fn connector(files: &Files) -> Result<MakeRustlsConnect, EngineError> {
    Ok(MakeRustlsConnect::new(files.client_config()?))
}

#[cfg(not(feature = "tls"))]
pub(crate) fn connector(_: &Files) -> Result<NoTls, EngineError> {
    Err(randflake_lease::unstable::tls::without_tls())
}
