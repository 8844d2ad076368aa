//! A network that fails on demand, between clients and a server of this machine.

use core::sync::atomic::{AtomicBool, AtomicU8, AtomicU16, Ordering};
use core::time::Duration;
use std::io::{ErrorKind, Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Instant;

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

/// What becomes of a connection that was idle for too long.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum IdleEnd {
    /// Both sides see its end at once, as with a load balancer.
    Closes = 1,
    /// The next packet is refused, as with a firewall that has forgotten it.
    Forgets,
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
    /// How long connections may be idle, and how they end then.
    idle: Mutex<Option<(Duration, IdleEnd)>>,
}

impl State {
    /// How a connection ends that was used last at some time, if it was idle for too long since.
    fn idle_end(&self, used: Instant) -> Option<IdleEnd> {
        let (limit, end) = (*self.idle.lock().unwrap())?;
        (used.elapsed() > limit).then_some(end)
    }

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
            idle: Mutex::new(None),
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

    /// From now on connections end that are idle for longer than that.
    pub fn end_idle(&self, limit: Duration, end: IdleEnd) {
        *self.state.idle.lock().unwrap() = Some((limit, end));
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
        let used = Arc::new(Mutex::new(Instant::now()));
        for (from, to, is_reply) in [(&client, &server, false), (&server, &client, true)] {
            let (from, to) = (from.try_clone().unwrap(), to.try_clone().unwrap());
            let (state, used) = (Arc::clone(state), Arc::clone(&used));
            thread::spawn(move || {
                carry(&from, &to, &state, &used, is_reply);
                let _gone_already = from.shutdown(Shutdown::Both);
                let _gone_already = to.shutdown(Shutdown::Both);
            });
        }
    }
}

/// Until either end closes, or the network is cut.
fn carry(
    mut from: &TcpStream,
    mut to: &TcpStream,
    state: &State,
    used: &Mutex<Instant>,
    is_reply: bool,
) {
    let mut buffer = [0; 16_384];
    from.set_read_timeout(Some(LOOK)).unwrap();
    to.set_nodelay(true).unwrap();
    while state.network() != Network::Cut {
        let idle_end = state.idle_end(*used.lock().unwrap());
        if idle_end == Some(IdleEnd::Closes) {
            return;
        }
        let read = match from.read(&mut buffer) {
            Ok(0) => return,
            Ok(read) => read,
            Err(error) if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut) => {
                continue;
            }
            Err(_) => return,
        };
        if idle_end.is_some() {
            return;
        }
        *used.lock().unwrap() = Instant::now();
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
