//! A pooler in transaction mode: each of two connections is served by the other's session from then
//! on.

use core::sync::atomic::{AtomicBool, Ordering};
use std::io::{Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::sync::Arc;
use std::thread;

use randflake_mysql::MysqlStore;

use crate::database::{Database, TTL, acquire, assert_failed_precondition, namespace};

/// A proxy for two connections, which are exchanged once the flag is set.
fn proxy(server: u16) -> (u16, Arc<AtomicBool>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    let is_exchanged = Arc::new(AtomicBool::new(false));
    let flag = Arc::clone(&is_exchanged);
    thread::spawn(move || {
        let pair = || {
            let (client, _) = listener.accept().unwrap();
            (client, TcpStream::connect(("127.0.0.1", server)).unwrap())
        };
        // The first client talks to the server alone before the second one comes.
        let (first, second) = (pair(), pair());
        let clients = [first.0, second.0];
        let sessions = [first.1, second.1];
        for (from, to) in [
            (clients.each_ref(), sessions.each_ref()),
            (sessions.each_ref(), clients.each_ref()),
        ] {
            for place in 0..2 {
                let from = from[place].try_clone().unwrap();
                let to = to.map(|to| to.try_clone().unwrap());
                let flag = Arc::clone(&flag);
                thread::spawn(move || forward(from, to, place, &flag));
            }
        }
    });
    (port, is_exchanged)
}

fn forward(mut from: TcpStream, mut to: [TcpStream; 2], place: usize, flag: &AtomicBool) {
    let mut bytes = vec![0; 65_536];
    while let Ok(len @ 1..) = from.read(&mut bytes) {
        let place = place ^ usize::from(flag.load(Ordering::SeqCst));
        if to[place].write_all(&bytes[..len]).is_err() {
            break;
        }
    }
    for to in to {
        _ = to.shutdown(Shutdown::Both);
    }
}

#[test]
fn pooler_in_transaction_mode_is_refused() {
    let server = Database::new();
    server.open();
    let (port, is_exchanged) = proxy(server.server.port);
    let url = format!("mysql://root@127.0.0.1:{port}/{}", server.name);
    let open = || MysqlStore::open(&url, &namespace()).unwrap();
    let (mut store, other) = thread::scope(|scope| {
        let other = scope.spawn(open);
        (open(), other.join().unwrap())
    });
    let grants = acquire(&mut store, 1).unwrap();
    store.renew(&grants, TTL).unwrap();
    is_exchanged.store(true, Ordering::SeqCst);
    assert_failed_precondition(store.renew(&grants, TTL), "pooler in transaction mode");
    drop(other);
}
