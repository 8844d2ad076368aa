//! Replies that are lost with their connection, after the server has written.

use core::net::Ipv4Addr;
use core::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::io::{self, Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::sync::Arc;
use std::thread;

use harness::redis::RedisServer;
use randflake_lease::CounterError;
use randflake_redis::RedisStore;

use crate::continuity::open_at_once;
use randflake_lease::testkit::leases::{TTL, acquire_one, eight};

/// What the script answers when it has written.
const WRITTEN: &[u8] = b"*2\r\n:1\r\n";

/// A way to a server on which the reply to a write may be lost.
struct Way {
    port: u16,
    loses: Arc<AtomicBool>,
    turns: Arc<Turns>,
}

/// How often a client asked after it had its answers: round trips.
#[derive(Default)]
struct Turns {
    count: AtomicUsize,
    is_asked: AtomicBool,
}

impl Way {
    fn to(server: u16) -> Self {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
        let port = listener.local_addr().unwrap().port();
        let loses = Arc::new(AtomicBool::new(false));
        let turns = Arc::<Turns>::default();
        let (flag, counted) = (Arc::clone(&loses), Arc::clone(&turns));
        thread::spawn(move || {
            for client in listener.incoming() {
                let server = TcpStream::connect((Ipv4Addr::LOCALHOST, server)).unwrap();
                let (flag, turns) = (Arc::clone(&flag), Arc::clone(&counted));
                thread::spawn(move || connect(&client.unwrap(), &server, &flag, &turns));
            }
        });
        Self { port, loses, turns }
    }

    fn lose_next(&self) {
        self.loses.store(true, Ordering::SeqCst);
    }

    fn has_lost(&self) -> bool {
        !self.loses.load(Ordering::SeqCst)
    }
}

fn connect(
    client: &TcpStream,
    server: &TcpStream,
    loses: &AtomicBool,
    turns: &Arc<Turns>,
) -> io::Result<()> {
    let (mut from, mut to) = (client.try_clone()?, server.try_clone()?);
    let asking = Arc::clone(turns);
    thread::spawn(move || {
        let mut request = [0; 1 << 14];
        while let Ok(length @ 1..) = from.read(&mut request) {
            if !asking.is_asked.swap(true, Ordering::SeqCst) {
                asking.count.fetch_add(1, Ordering::SeqCst);
            }
            to.write_all(&request[..length])?;
        }
        to.shutdown(Shutdown::Both)
    });
    let (mut server, mut client) = (server, client);
    let mut reply = [0; 1 << 12];
    loop {
        let length = server.read(&mut reply)?;
        turns.is_asked.store(false, Ordering::SeqCst);
        let is_lost = reply[..length].starts_with(WRITTEN) && loses.swap(false, Ordering::SeqCst);
        if length == 0 || is_lost {
            return client.shutdown(Shutdown::Both);
        }
        client.write_all(&reply[..length])?;
    }
}

#[test]
fn a_write_whose_reply_is_lost_is_made_once() {
    let redis = RedisServer::start();
    let way = Way::to(redis.port);
    open_at_once(&redis);
    let url = format!("redis://127.0.0.1:{}", way.port);
    let mut store = RedisStore::open(&url, &eight("orders")).unwrap();
    way.lose_next();
    let grant = acquire_one(&mut store, 1);
    assert!(way.has_lost());
    assert_eq!(store.list().unwrap().len(), 1);
    way.lose_next();
    let ends = store.renew(&[grant], TTL).unwrap().ends;
    assert!(way.has_lost());
    assert!(ends[0].is_ok_and(|end| end >= grant.end), "{ends:?}");
}

/// A connection's first question, all rights at once, a look at the namespace, and an acquire's
/// read and write.
#[test]
fn a_process_that_starts_waits_for_five_answers() {
    let redis = RedisServer::start();
    let way = Way::to(redis.port);
    open_at_once(&redis);
    let url = format!("redis://127.0.0.1:{}", way.port);
    let mut store = RedisStore::open(&url, &eight("orders")).unwrap();
    acquire_one(&mut store, 1);
    assert_eq!(way.turns.count.load(Ordering::SeqCst), 5);
}

/// Nothing tells one reservation from another of as many numbers.
#[test]
fn a_reservation_whose_reply_is_lost_is_nobodys() {
    let redis = RedisServer::start();
    let way = Way::to(redis.port);
    let url = format!("redis://127.0.0.1:{}", way.port);
    let mut store = RedisStore::open(&url, &eight("orders")).unwrap();
    store.counter().resume(1).unwrap();
    way.lose_next();
    let refused = store.counter().reserve(10).unwrap_err();
    assert!(way.has_lost());
    assert!(
        matches!(refused, CounterError::Unavailable(_)),
        "{refused:?}"
    );
    assert_eq!(store.counter().reserve(10).unwrap().first(), 11);
}
