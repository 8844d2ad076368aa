//! Clients that make the server hold memory: connections that send what takes much, and take or end
//! nothing.

use core::time::Duration;
use std::fs;
use std::io::{ErrorKind, Read as _, Write as _};
use std::net::TcpStream;
use std::path::Path;
use std::process::Command;
use std::thread;
use std::time::Instant;

use super::servers::{RandflakeServer, output};

/// So many connections, of 128 that a server's queue has: what is beyond waits for a second in
/// `connect`.
const AT_ONCE: usize = 100;
const BETWEEN: Duration = Duration::from_millis(20);
/// Files that the server may open meanwhile for itself, such as those of its store.
const STORE: usize = 32;
/// A connection that waits for memory does not see that its client has gone, for the 30 s that a
/// command may take to come in.
const CLOSING: Duration = Duration::from_secs(40);
const PATIENCE: Duration = Duration::from_secs(5);
const HEALTH: &[u8] = b"GET /healthz HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\r\n";

/// A flood: whether the server encrypts, and its connections with what each sends.
pub(crate) struct Flood {
    pub(crate) is_encrypted: bool,
    connections: usize,
    sends: fn(token: &str) -> Vec<u8>,
    is_http: bool,
}

pub(crate) const HANDSHAKES: Flood = Flood {
    is_encrypted: true,
    connections: 5_000,
    sends: |_| {
        let mut hello = b"\x16\x03\x01\x3f\xff\x01\x00\xff\x00".to_vec();
        hello.resize(5 + 0x3fff, 0);
        hello
    },
    is_http: true,
};

pub(crate) const COMMANDS: Flood = Flood {
    is_encrypted: false,
    connections: 331,
    sends: |token| {
        let head = format!("AUTH {token}\r\n*2\r\n$4\r\nECHO\r\n$1000000\r\n");
        let mut command = head.into_bytes();
        command.resize(command.len() + 999_990, b'x');
        command
    },
    is_http: false,
};

pub(crate) const ANSWERS: Flood = Flood {
    is_encrypted: false,
    connections: 60,
    sends: |token| {
        let head = "GET /v1/ids?count=100000 HTTP/1.1\r\nhost: localhost\r\nauthorization: Bearer";
        format!("{head} {token}\r\n\r\n").into_bytes()
    },
    is_http: true,
};

impl Flood {
    /// Goes on with what the server takes of it for some time, asks after its health, and closes
    /// all connections.
    pub(crate) fn run(&self, ours: &RandflakeServer, token: &str, time: Duration) {
        let port = if self.is_http { ours.http } else { ours.resp };
        let bytes = (self.sends)(token);
        let mut open = Vec::new();
        for number in 0..self.connections {
            if number % AT_ONCE == AT_ONCE - 1 {
                thread::sleep(BETWEEN);
            }
            let stream = TcpStream::connect(("127.0.0.1", port)).unwrap();
            stream.set_nonblocking(true).unwrap();
            let mut rest = &bytes[..];
            push(&stream, &mut rest);
            open.push((stream, rest));
        }
        let begun = Instant::now();
        while begun.elapsed() < time {
            for (stream, rest) in &mut open {
                push(stream, rest);
            }
        }
        if !self.is_encrypted {
            check_health(ours.http);
        }
    }

    /// Waits until the server has seen the end of a flood: what it keeps of connections is what is
    /// left then.
    pub(crate) fn wait_for_end(ours: &RandflakeServer, before: usize) {
        let closed = Instant::now();
        while open_files(ours) > before + STORE {
            let waits = closed.elapsed() < CLOSING;
            assert!(waits, "connections stay open whose clients have gone");
            thread::sleep(Duration::from_millis(10));
        }
    }
}

pub(crate) fn open_files(ours: &RandflakeServer) -> usize {
    let files = fs::read_dir(format!("/proc/{}/fd", ours.server.id()));
    files.unwrap().count()
}

/// Sends what the server takes.
fn push(mut stream: &TcpStream, rest: &mut &[u8]) {
    match stream.write(rest) {
        Ok(sent) => *rest = &rest[sent..],
        Err(error) if error.kind() == ErrorKind::WouldBlock => {}
        // The server has closed it, which it may.
        Err(_) => *rest = &[],
    }
}

fn check_health(port: u16) {
    let mut stream = TcpStream::connect(("127.0.0.1", port)).unwrap();
    stream.set_read_timeout(Some(PATIENCE)).unwrap();
    stream.write_all(HEALTH).unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    assert!(
        answer.starts_with("HTTP/1.1 200 "),
        "the health check got {answer:?}"
    );
}

/// A token, in the file `tokens` of that folder.
pub(crate) fn token(program: &Path, folder: &Path) -> String {
    let mut command = Command::new(program);
    command
        .current_dir(folder)
        .args(["token", "new", "--file", "tokens", "--name", "flood"])
        .args(["--scopes", "ids", "--namespaces", "*"]);
    output(&mut command).unwrap().trim().to_owned()
}
