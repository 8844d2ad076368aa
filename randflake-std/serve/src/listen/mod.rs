//! Listeners: what is between a socket and a protocol, with limits on both.

pub(crate) mod address;
pub(crate) mod tls;

use core::future::pending;
use core::net::SocketAddr;
use core::time::Duration;
use std::io;
use std::sync::Arc;

use rustls::pki_types::CertificateDer;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;
use tokio::task::JoinSet;
use tokio::time::{sleep, timeout};
use tokio_rustls::server::TlsStream;
use tokio_util::either::Either;

use self::tls::Tls;
use super::access::Access;
use super::budget::{Account, ConnectionCost, MemoryBudget};
use crate::counters::Connections;
use crate::places::{ConnectionLimits, Places};

/// How long a TLS handshake may take: some round trips of a slow link. A half-open one holds a
/// guest's memory as long.
const HANDSHAKE: Duration = Duration::from_secs(10);
/// A system without file descriptors has some again after a while.
const ACCEPT_AGAIN: Duration = Duration::from_millis(100);
/// What the TLS library keeps of a connection, in bytes. During a handshake it joins the parts of a
/// message of up to 64 KiB (`MAX_HANDSHAKE_SIZE` in rustls' `msgs/deframer`); afterwards it has a
/// record of 16 KiB in each direction.
const TLS_HANDSHAKE: usize = 72 << 10;
const TLS: usize = 40 << 10;
/// What it may keep of an answer that the client does not take.
const TLS_UNSENT: usize = 16 << 10;

/// Turns true once, when the server is to stop.
pub(crate) type Stopping = watch::Receiver<bool>;

/// Returns when the server is to stop.
pub(crate) async fn stopped(stopping: &mut Stopping) {
    // The sender lives as long as the process.
    _ = stopping.wait_for(|stopping| *stopping).await;
}

/// What speaks on connections. A clone for each.
pub(crate) trait Protocol: Clone + Send + Sync + 'static {
    /// What a connection holds before it asks for more memory, in bytes.
    const COST: usize;

    fn connections(&self) -> &Connections;

    /// By which the tokens of its clients are valid.
    fn access(&self) -> &Access;

    /// Speaks until the client has gone, or the server is to stop and has answered what it
    /// received.
    fn speak(
        self,
        stream: Stream,
        account: Arc<Account>,
        stopping: Stopping,
    ) -> impl Future<Output = ()> + Send;
}

/// A listener: a bound socket with its limits.
pub(crate) struct Listener {
    socket: TcpListener,
    tls: Option<Arc<Tls>>,
    places: Arc<Places>,
    memory: Arc<MemoryBudget>,
}

impl Listener {
    pub(crate) fn new(
        socket: std::net::TcpListener,
        tls: Option<Arc<Tls>>,
        limits: ConnectionLimits,
        memory: Arc<MemoryBudget>,
    ) -> io::Result<Self> {
        // Not `listen` once more for a longer queue than the standard library's 128: with TLS there
        // is room for some 180 guests, and a burst of more would push out every client that is in
        // the midst of its handshake.
        socket.set_nonblocking(true)?;
        Ok(Self {
            socket: TcpListener::from_std(socket)?,
            tls,
            places: Arc::new(Places::new(limits)),
            memory,
        })
    }

    pub(crate) fn address(&self) -> io::Result<SocketAddr> {
        self.socket.local_addr()
    }

    /// Accepts connections until the server is to stop, and then waits for those that are open.
    pub(crate) async fn run<P: Protocol>(self, protocol: P, mut stopping: Stopping) {
        let mut open = JoinSet::new();
        loop {
            let accepted = tokio::select! {
                accepted = self.socket.accept() => accepted,
                // The set keeps each task that has ended until it is taken out.
                Some(_) = open.join_next() => continue,
                () = stopped(&mut stopping) => break,
            };
            let Ok((socket, peer)) = accepted else {
                // Without the pause this would spin, since the connection still waits to be
                // accepted.
                sleep(ACCEPT_AGAIN).await;
                continue;
            };
            protocol.connections().accepted.add(1);
            // Before the handshake: that is where a client without a token makes the server hold
            // most.
            let cost = self.cost(P::COST);
            let (account, closed) = Account::open(&self.memory, &self.places, peer, cost);
            let (protocol, tls, stopping) = (protocol.clone(), self.tls.clone(), stopping.clone());
            open.spawn(async move {
                tokio::select! {
                    // Made here: a future that is moved takes its room twice.
                    () = speak(protocol, socket, tls, Arc::new(account), stopping) => {}
                    // A guest that makes room for another one.
                    Ok(()) = closed => {}
                }
            });
        }
        // New connections are refused by the system from here on.
        drop(self.socket);
        while open.join_next().await.is_some() {}
    }

    /// What a connection of a protocol holds.
    fn cost(&self, protocol: usize) -> ConnectionCost {
        let (handshake, tls) = match self.tls {
            Some(_) => (TLS_HANDSHAKE, TLS),
            None => (0, 0),
        };
        ConnectionCost {
            guest: protocol + handshake,
            known: protocol + tls,
        }
    }
}

/// Speaks a protocol on a connection, until either side ends it. It may be dropped at any await.
async fn speak<P: Protocol>(
    protocol: P,
    socket: TcpStream,
    tls: Option<Arc<Tls>>,
    account: Arc<Account>,
    stopping: Stopping,
) {
    let _open = OpenConnection::new(&protocol);
    let stream = match secure(socket, tls.as_deref()).await {
        Ok(stream) => stream,
        Err(error) => {
            protocol.connections().failed_handshakes.add(1);
            if let Some(tls) = tls {
                tls.tell(account.peer(), &error);
            }
            return;
        }
    };
    let chain = client_certificates(&stream);
    // A handshake looks at a certificate once, and a command at its token; authorities and tokens
    // may be removed while a connection is idle.
    let distrusted = async {
        match (&tls, &chain) {
            (Some(tls), Some(chain)) => tls.refused(chain).await,
            _ => pending().await,
        }
    };
    tokio::select! {
        // Whichever is first drops the others, and with this one the connection.
        () = protocol.clone().speak(stream, Arc::clone(&account), stopping) => {}
        () = distrusted => {}
        () = protocol.access().revoked(|| account.token()) => {}
    }
}

/// Without Nagle's delay, and with TLS if that is asked for.
async fn secure(socket: TcpStream, tls: Option<&Tls>) -> io::Result<Stream> {
    // Every write is all that is to be said: to wait for more would only delay it.
    socket.set_nodelay(true)?;
    let Some(tls) = tls else {
        return Ok(Stream::Left(socket));
    };
    let accepting = tls.acceptor().accept_with(socket, |connection| {
        // The library's own limit, 64 KiB, is more than a connection pays for.
        connection.set_buffer_limit(Some(TLS_UNSENT));
    });
    let stream = timeout(HANDSHAKE, accepting)
        .await
        .map_err(io::Error::from)??;
    Ok(Stream::Right(Box::new(stream)))
}

/// Counts a connection as long as it lives.
struct OpenConnection<'a, P: Protocol>(&'a P);

impl<'a, P: Protocol> OpenConnection<'a, P> {
    fn new(protocol: &'a P) -> Self {
        protocol.connections().open.add(1);
        Self(protocol)
    }
}

impl<P: Protocol> Drop for OpenConnection<'_, P> {
    fn drop(&mut self) {
        self.0.connections().open.sub(1);
    }
}

/// One type for both, so that protocols are compiled once.
pub(crate) type Stream = Either<TcpStream, Box<TlsStream<TcpStream>>>;

/// The certificate that the client has shown, and those above it.
pub(super) fn client_certificates(stream: &Stream) -> Option<Vec<CertificateDer<'static>>> {
    let Either::Right(stream) = stream else {
        return None;
    };
    let (_, connection) = stream.get_ref();
    connection.peer_certificates().map(<[_]>::to_vec)
}
