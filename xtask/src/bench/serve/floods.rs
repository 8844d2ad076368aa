//! Clients that make the server hold memory, each kind against a server of its own in the memory of a container: its
//! peak, and whether a health check is answered.

use core::time::Duration;
use std::fs;
use std::io::{ErrorKind, Read as _, Write as _};
use std::net::TcpStream;
use std::path::Path;
use std::process::{self, Command};
use std::time::Instant;

use super::container::{Container, LIMIT};
use super::memory::status_kb;
use super::servers::{Ours, Settings};
use crate::cargo::output_of;
use crate::scratch::Scratch;

const PATIENCE: Duration = Duration::from_secs(5);
/// More than a flood has connections.
const FILES: &str = "--nofile=8192:";
const HEALTH: &[u8] = b"GET /healthz HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\r\n";

/// A flood: what it is, whether the server encrypts, and its connections with what each sends.
struct Flood {
    name: &'static str,
    is_encrypted: bool,
    connections: usize,
    sends: fn(token: &str) -> Vec<u8>,
    is_http: bool,
}

const FLOODS: [Flood; 3] = [
    Flood {
        name: "5,000 TLS handshakes of which 16 kB come",
        is_encrypted: true,
        connections: 5_000,
        sends: |_| {
            let mut hello = b"\x16\x03\x01\x3f\xff\x01\x00\xff\x00".to_vec();
            hello.resize(5 + 0x3fff, 0);
            hello
        },
        is_http: true,
    },
    Flood {
        name: "331 commands of 1 MB without their last bytes",
        is_encrypted: false,
        connections: 331,
        sends: |token| {
            let head = format!("AUTH {token}\r\n*2\r\n$4\r\nECHO\r\n$1000000\r\n");
            let mut command = head.into_bytes();
            command.resize(command.len() + 999_990, b'x');
            command
        },
        is_http: false,
    },
    Flood {
        name: "60 answers of 100,000 ids that nobody takes",
        is_encrypted: false,
        connections: 60,
        sends: |token| {
            let head =
                "GET /v1/ids?count=100000 HTTP/1.1\r\nhost: localhost\r\nauthorization: Bearer";
            format!("{head} {token}\r\n\r\n").into_bytes()
        },
        is_http: true,
    },
];

/// What the floods run, and for how long each goes on with what the server takes of it.
pub(super) struct Floods<'a> {
    pub(super) program: &'a Path,
    pub(super) openssl: &'a Path,
    pub(super) time: Duration,
}

impl Floods<'_> {
    /// Prints the peak under each, and fails if one exceeds the manifests' limit.
    pub(super) fn measure(&self) -> Result<(), String> {
        let own = process::id().to_string();
        output_of(Command::new("prlimit").args(["--pid", &own, FILES]))
            .ok_or("prlimit does not allow as many connections")?;
        for flood in &FLOODS {
            let container = Container::make();
            let peak = self.run(flood, container.as_ref())?;
            let place = match &container {
                Some(_) => "in a container's memory",
                None => "outside a container, which only root can make",
            };
            println!("{}: at most {} KiB, {place}", flood.name, peak >> 10);
            if peak > LIMIT {
                return Err(format!(
                    "{}: a container has {} KiB",
                    flood.name,
                    LIMIT >> 10
                ));
            }
        }
        Ok(())
    }

    /// The peak of a server under it.
    fn run(&self, flood: &Flood, container: Option<&Container>) -> Result<u64, String> {
        let scratch = Scratch::new("bench-flood").map_err(|error| error.to_string())?;
        let token = token(self.program, &scratch)?;
        let path = |name: &str| scratch.path().join(name).display().to_string();
        let mut arguments = vec!["--tokens".to_owned(), path("tokens")];
        if flood.is_encrypted {
            certify(self.openssl, &scratch)?;
            arguments.extend(["--tls-cert".to_owned(), path("server.pem")]);
            arguments.extend(["--tls-key".to_owned(), path("server.key")]);
        }
        let settings = Settings {
            node_ids: "64",
            arguments: &arguments,
            container,
        };
        let ours = Ours::start_with(self.program, &scratch, &settings)?;
        let port = if flood.is_http { ours.http } else { ours.resp };
        let bytes = (flood.sends)(&token);
        let mut open = Vec::new();
        for _ in 0..flood.connections {
            let stream = TcpStream::connect(("127.0.0.1", port)).map_err(failed)?;
            stream.set_nonblocking(true).map_err(failed)?;
            let mut rest = &bytes[..];
            push(&stream, &mut rest);
            open.push((stream, rest));
        }
        let begun = Instant::now();
        while begun.elapsed() < self.time {
            for (stream, rest) in &mut open {
                push(stream, rest);
            }
        }
        if !flood.is_encrypted {
            health(ours.http)?;
        }
        // A process that was killed has no memory.
        let peak =
            status_kb(&ours, "VmHWM:").map_err(|error| format!("{}: {error}", flood.name))?;
        Ok(peak << 10)
    }
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

fn token(program: &Path, scratch: &Scratch) -> Result<String, String> {
    let mut command = Command::new(program);
    command
        .current_dir(scratch.path())
        .args(["token", "new", "--file", "tokens", "--name", "flood"])
        .args(["--scopes", "ids", "--namespaces", "*"]);
    let printed = output_of(&mut command).ok_or("there is no token")?;
    Ok(printed.trim().to_owned())
}

/// A certificate of the server's own.
fn certify(openssl: &Path, scratch: &Scratch) -> Result<(), String> {
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
