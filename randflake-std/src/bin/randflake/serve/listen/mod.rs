//! Listeners: what is between a socket and a protocol, with limits on both.

pub(crate) mod address;
mod places;
mod stream;
pub(crate) mod tls;

use core::net::SocketAddr;
use core::time::Duration;
use std::io;
use std::sync::Arc;

use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;
use tokio::time::{sleep, timeout};

pub(crate) use self::places::Limits;
use self::places::{Full, Place, Places};
pub(crate) use self::stream::Stream;
use self::tls::Tls;
use super::service::counters::Connections;

/// How long a TLS handshake may take.
const HANDSHAKE: Duration = Duration::from_secs(10);
/// A system without file descriptors has some again after a while.
const ACCEPT_AGAIN: Duration = Duration::from_millis(100);

/// Turns true once, when the server is to stop.
pub(crate) type Stopping = watch::Receiver<bool>;

/// Returns when the server is to stop.
pub(crate) async fn stopped(stopping: &mut Stopping) {
    // Whoever says so lives as long as the process.
    _ = stopping.wait_for(|stopping| *stopping).await;
}

/// What speaks on connections. A clone for each.
pub(crate) trait Protocol: Clone + Send + Sync + 'static {
    /// What is sent to a connection too many.
    const TOO_MANY: &'static [u8];
    /// What is sent to one too many of its address.
    const TOO_MANY_OF_ADDRESS: &'static [u8];

    fn connections(&self) -> &Connections;

    /// Speaks until the client has gone, or the server is to stop and has answered what it received.
    fn speak(
        self,
        stream: Stream,
        peer: SocketAddr,
        stopping: Stopping,
    ) -> impl Future<Output = ()> + Send;
}

/// A bound socket.
pub(crate) struct Listener {
    socket: TcpListener,
    tls: Option<Arc<Tls>>,
    places: Arc<Places>,
}

impl Listener {
    pub(crate) fn new(
        socket: std::net::TcpListener,
        tls: Option<Arc<Tls>>,
        limits: Limits,
    ) -> io::Result<Self> {
        socket.set_nonblocking(true)?;
        Ok(Self {
            socket: TcpListener::from_std(socket)?,
            tls,
            places: Arc::new(Places::new(limits)),
        })
    }

    pub(crate) fn address(&self) -> io::Result<SocketAddr> {
        self.socket.local_addr()
    }

    /// Accepts connections until the server is to stop, and then waits for those that are open.
    pub(crate) async fn run(self, protocol: impl Protocol, mut stopping: Stopping) {
        loop {
            let accepted = tokio::select! {
                accepted = self.socket.accept() => accepted,
                () = stopped(&mut stopping) => break,
            };
            let Ok((socket, peer)) = accepted else {
                sleep(ACCEPT_AGAIN).await;
                continue;
            };
            let connections = protocol.connections();
            let place = match self.places.take(peer.ip()) {
                Ok(place) => place,
                Err(full) => {
                    connections.refused.add(1);
                    if self.tls.is_none() {
                        _ = socket.try_write(too_many(&protocol, full));
                    }
                    continue;
                }
            };
            connections.accepted.add(1);
            let (tls, protocol, stopping) = (self.tls.clone(), protocol.clone(), stopping.clone());
            tokio::spawn(async move {
                let _open = Open::new(&protocol, place);
                let Ok(stream) = secure(socket, tls).await else {
                    protocol.connections().failed_handshakes.add(1);
                    return;
                };
                protocol.clone().speak(stream, peer, stopping).await;
            });
        }
        // New connections are refused by the system from here on.
        drop(self.socket);
        self.places.all_free().await;
    }
}

fn too_many<P: Protocol>(_: &P, full: Full) -> &'static [u8] {
    match full {
        Full::All => P::TOO_MANY,
        Full::Address => P::TOO_MANY_OF_ADDRESS,
    }
}

/// Without Nagle's delay, and with TLS if that is asked for.
async fn secure(socket: TcpStream, tls: Option<Arc<Tls>>) -> io::Result<Stream> {
    socket.set_nodelay(true)?;
    let Some(tls) = tls else {
        return Ok(Stream::Plain(socket));
    };
    let accepting = tls.acceptor().accept(socket);
    let stream = timeout(HANDSHAKE, accepting)
        .await
        .map_err(io::Error::from)??;
    Ok(Stream::Tls(Box::new(stream)))
}

/// Counts a connection as long as it lives, and keeps its place.
struct Open<'a, P: Protocol> {
    protocol: &'a P,
    _place: Place,
}

impl<'a, P: Protocol> Open<'a, P> {
    fn new(protocol: &'a P, place: Place) -> Self {
        protocol.connections().open.add(1);
        Self {
            protocol,
            _place: place,
        }
    }
}

impl<P: Protocol> Drop for Open<'_, P> {
    fn drop(&mut self) {
        self.protocol.connections().open.sub(1);
    }
}
