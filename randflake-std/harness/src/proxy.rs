//! A network that fails on demand, between clients and a server of this machine.

use core::sync::atomic::{AtomicBool, AtomicU8, AtomicU16, Ordering};
use core::time::Duration;
use std::io::{ErrorKind, Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::sync::Arc;
use std::thread;

/// How often a quiet connection looks whether the network has changed.
const LOOK: Duration = Duration::from_millis(10);

/// What the network does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Network {
    Works,
    /// Nothing gets through, and connections break.
    Cut,
    /// Everything takes a tenth of a second longer in each direction.
    Slow,
    /// Requests get through, replies do not.
    LosesReplies,
}

const NETWORKS: [Network; 4] = [
    Network::Works,
    Network::Cut,
    Network::Slow,
    Network::LosesReplies,
];
const DELAY: Duration = Duration::from_millis(100);

pub struct Proxy {
    pub port: u16,
    state: Arc<State>,
}

struct State {
    network: AtomicU8,
    /// Port that connections lead to.
    server: AtomicU16,
    ended: AtomicBool,
}

impl State {
    fn network(&self) -> Network {
        if self.ended.load(Ordering::Relaxed) {
            return Network::Cut;
        }
        NETWORKS[usize::from(self.network.load(Ordering::Relaxed))]
    }
}

impl Proxy {
    /// To a server on a port of this machine.
    pub fn to(server: u16) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        let state = Arc::new(State {
            network: AtomicU8::new(0),
            server: AtomicU16::new(server),
            ended: AtomicBool::new(false),
        });
        let shared = Arc::clone(&state);
        thread::spawn(move || accept(&listener, &shared));
        Self { port, state }
    }

    pub fn set(&self, network: Network) {
        let at = NETWORKS.iter().position(|other| *other == network).unwrap();
        self.state
            .network
            .store(u8::try_from(at).unwrap(), Ordering::Relaxed);
    }

    /// From now on it leads to another server; connections that are open break.
    pub fn lead_to(&self, server: u16) {
        self.set(Network::Cut);
        self.state.server.store(server, Ordering::Relaxed);
        thread::sleep(LOOK * 10);
        self.set(Network::Works);
    }
}

impl Drop for Proxy {
    fn drop(&mut self) {
        self.state.ended.store(true, Ordering::Relaxed);
        // The listener waits for one more.
        let _gone_already = TcpStream::connect(("127.0.0.1", self.port));
    }
}

fn accept(listener: &TcpListener, state: &Arc<State>) {
    for client in listener.incoming() {
        if state.ended.load(Ordering::Relaxed) {
            return;
        }
        let (Ok(client), Network::Works | Network::Slow | Network::LosesReplies) =
            (client, state.network())
        else {
            continue;
        };
        let Ok(server) = TcpStream::connect(("127.0.0.1", state.server.load(Ordering::Relaxed)))
        else {
            continue;
        };
        for (from, to, is_reply) in [(&client, &server, false), (&server, &client, true)] {
            let (from, to) = (from.try_clone().unwrap(), to.try_clone().unwrap());
            let state = Arc::clone(state);
            thread::spawn(move || {
                carry(&from, &to, &state, is_reply);
                let _gone_already = from.shutdown(Shutdown::Both);
                let _gone_already = to.shutdown(Shutdown::Both);
            });
        }
    }
}

/// Until either end closes, or the network is cut.
fn carry(mut from: &TcpStream, mut to: &TcpStream, state: &State, is_reply: bool) {
    let mut buffer = [0; 16_384];
    from.set_read_timeout(Some(LOOK)).unwrap();
    to.set_nodelay(true).unwrap();
    while state.network() != Network::Cut {
        let read = match from.read(&mut buffer) {
            Ok(0) => return,
            Ok(read) => read,
            Err(error) if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut) => {
                continue;
            }
            Err(_) => return,
        };
        match state.network() {
            Network::Cut => return,
            Network::LosesReplies if is_reply => continue,
            Network::Slow => thread::sleep(DELAY),
            Network::Works | Network::LosesReplies => {}
        }
        if to.write_all(&buffer[..read]).is_err() {
            return;
        }
    }
}
