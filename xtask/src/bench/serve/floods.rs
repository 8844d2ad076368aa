//! Clients that make the server hold memory: connections that send what takes much, and take or end nothing.

use core::time::Duration;
use std::fs;
use std::io::{ErrorKind, Read as _, Write as _};
use std::net::TcpStream;
use std::path::Path;
use std::process::Command;
use std::thread;
use std::time::Instant;

use super::servers::Ours;
use crate::cargo::output_of;
use crate::scratch::Scratch;

/// So many connections, of 128 that a server's queue has: what is beyond waits for a second in `connect`.
const AT_ONCE: usize = 100;
const BETWEEN: Duration = Duration::from_millis(20);
/// Files that the server may open meanwhile for itself, such as those of its store.
const STORE: usize = 32;
/// A connection that waits for memory does not see that its client has gone, for the 30 s that a command may take to come in.
const CLOSING: Duration = Duration::from_secs(40);
const PATIENCE: Duration = Duration::from_secs(5);
const HEALTH: &[u8] = b"GET /healthz HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\r\n";

/// A flood: whether the server encrypts, and its connections with what each sends.
pub(super) struct Flood {
    pub(super) is_encrypted: bool,
    connections: usize,
    sends: fn(token: &str) -> Vec<u8>,
    is_http: bool,
}

pub(super) const HANDSHAKES: Flood = Flood {
    is_encrypted: true,
    connections: 5_000,
    sends: |_| {
        let mut hello = b"\x16\x03\x01\x3f\xff\x01\x00\xff\x00".to_vec();
        hello.resize(5 + 0x3fff, 0);
        hello
    },
    is_http: true,
};

pub(super) const COMMANDS: Flood = Flood {
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

pub(super) const ANSWERS: Flood = Flood {
    is_encrypted: false,
    connections: 60,
    sends: |token| {
        let head = "GET /v1/ids?count=100000 HTTP/1.1\r\nhost: localhost\r\nauthorization: Bearer";
        format!("{head} {token}\r\n\r\n").into_bytes()
    },
    is_http: true,
};

impl Flood {
    /// Goes on with what the server takes of it for some time, asks after its health, and closes all connections.
    pub(super) fn run(&self, ours: &Ours, token: &str, time: Duration) -> Result<(), String> {
        let port = if self.is_http { ours.http } else { ours.resp };
        let bytes = (self.sends)(token);
        let mut open = Vec::new();
        for number in 0..self.connections {
            if number % AT_ONCE == AT_ONCE - 1 {
                thread::sleep(BETWEEN);
            }
            let stream = TcpStream::connect(("127.0.0.1", port)).map_err(failed)?;
            stream.set_nonblocking(true).map_err(failed)?;
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
            health(ours.http)?;
        }
        Ok(())
    }

    /// Waits until the server has seen the end of a flood: what it keeps of connections is what is left then.
    pub(super) fn is_over(ours: &Ours, before: usize) -> Result<(), String> {
        let closed = Instant::now();
        while open_files(ours)? > before + STORE {
            if closed.elapsed() > CLOSING {
                return Err("connections stay open whose clients have gone".to_owned());
            }
            thread::sleep(Duration::from_millis(10));
        }
        Ok(())
    }
}

pub(super) fn open_files(ours: &Ours) -> Result<usize, String> {
    let path = format!("/proc/{}/fd", ours.running.id());
    let files = fs::read_dir(&path).map_err(|error| format!("{path}: {error}"))?;
    Ok(files.count())
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

fn health(port: u16) -> Result<(), String> {
    let mut stream = TcpStream::connect(("127.0.0.1", port)).map_err(failed)?;
    stream.set_read_timeout(Some(PATIENCE)).map_err(failed)?;
    stream.write_all(HEALTH).map_err(failed)?;
    let mut answer = String::new();
    stream.read_to_string(&mut answer).map_err(failed)?;
    if answer.starts_with("HTTP/1.1 200 ") {
        return Ok(());
    }
    Err(format!("the health check got {answer:?}"))
}

/// A token, in the file `tokens` of that folder.
pub(super) fn token(program: &Path, scratch: &Scratch) -> Result<String, String> {
    let mut command = Command::new(program);
    command
        .current_dir(scratch.path())
        .args(["token", "new", "--file", "tokens", "--name", "flood"])
        .args(["--scopes", "ids", "--namespaces", "*"]);
    let printed = output_of(&mut command).ok_or("there is no token")?;
    Ok(printed.trim().to_owned())
}

/// A certificate of the server's own.
pub(super) fn certify(openssl: &Path, scratch: &Scratch) -> Result<(), String> {
    let mut command = Command::new(openssl);
    command
        .current_dir(scratch.path())
        .args([
            "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2",
        ])
        .args([
            "-subj",
            "/CN=localhost",
            "-keyout",
            "server.key",
            "-out",
            "server.pem",
        ]);
    output_of(&mut command).ok_or("openssl has made no certificate")?;
    fs::metadata(scratch.path().join("server.pem")).map_err(|error| error.to_string())?;
    Ok(())
}

#[expect(clippy::needless_pass_by_value, reason = "`map_err` passes it")]
fn failed(error: std::io::Error) -> String {
    error.to_string()
}
