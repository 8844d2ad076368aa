//! Servers that are not what they seem: a reply without end must not fill a client's memory.

use core::net::Ipv4Addr;
use std::io::{self, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::thread::{self, JoinHandle};

use randflake_std::lease::{StoreError, open};

use randflake_lease::testkit::leases::eight;

/// What a client may read of one reply, and what is on its way to it then.
const MOST: u64 = (64 + 32) << 20;

/// A server of one connection: begins a reply and goes on with it, for as long as the client reads.
/// Returns how much it sent.
fn endless(
    begin: impl FnOnce(&mut TcpStream) -> io::Result<()> + Send + 'static,
) -> (u16, JoinHandle<u64>) {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
    let port = listener.local_addr().unwrap().port();
    let serving = thread::spawn(move || {
        let (mut client, _) = listener.accept().unwrap();
        if begin(&mut client).is_err() {
            return 0;
        }
        let (piece, mut sent) = (vec![b'a'; 1 << 20], 0);
        while sent < 4 * MOST && client.write_all(&piece).is_ok() {
            sent += piece.len() as u64;
        }
        sent
    });
    (port, serving)
}

/// Opens a store there, whose server may send that much and no more.
fn is_bounded(url: &str, serving: JoinHandle<u64>) -> StoreError {
    let refused = open(url, &eight("orders")).unwrap_err();
    let sent = serving.join().unwrap();
    assert!(sent < MOST, "{sent} bytes: {refused}");
    refused
}

/// Reads what a client sends first.
fn receive(client: &mut TcpStream) -> io::Result<()> {
    client.read(&mut [0; 4_096]).map(drop)
}

#[test]
fn an_endless_reply_of_postgresql_is_not_kept() {
    let (port, serving) = endless(|client| {
        receive(client)?;
        // A notice of nearly 2 GiB.
        client.write_all(b"N\x7f\xff\xff\xff")
    });
    is_bounded(&format!("postgres://ids@127.0.0.1:{port}/ids"), serving);
}

#[test]
fn an_endless_reply_of_redis_is_not_kept() {
    let (port, serving) = endless(|client| {
        receive(client)?;
        client.write_all(b"$2000000000\r\n")
    });
    is_bounded(&format!("redis://127.0.0.1:{port}"), serving);
}

#[test]
fn an_endless_reply_of_mysql_is_not_kept() {
    // The greeting: packets of the greatest length, each of which has another one behind it.
    let (port, serving) = endless(|client| {
        client.write_all(b"\xff\xff\xff\x00\x0a")?;
        client.write_all(&vec![b'a'; 0xff_fffe])?;
        (1..=u8::MAX).cycle().take(24).try_for_each(|number| {
            client.write_all(&[0xff, 0xff, 0xff, number])?;
            client.write_all(&vec![b'a'; 0xff_ffff])
        })
    });
    is_bounded(&format!("mysql://ids@127.0.0.1:{port}/ids"), serving);
}

#[test]
fn an_endless_reply_of_etcd_is_not_kept() {
    let (port, serving) = endless(|client| {
        receive(client)?;
        client.write_all(b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 4000000000\r\n\r\n")
    });
    is_bounded(&format!("etcd://127.0.0.1:{port}"), serving);
}
