//! Clients that make the server hold memory, each kind against a server of its own: its peak, and whether a health check
//! is answered.

use core::time::Duration;
use std::fs;
use std::io::{ErrorKind, Read as _, Write as _};
use std::net::TcpStream;
use std::path::Path;
use std::process::Command;
use std::time::Instant;

use super::memory::status_kb;
use super::servers::{Ours, Settings};
use crate::cargo::output_of;
use crate::scratch::Scratch;

/// The limit of the manifests for Kubernetes.
const LIMIT_KIB: u64 = 256 << 10;
/// How long a flood goes on with what the server takes of it.
const TIME: Duration = Duration::from_secs(5);
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

/// Prints the peak under each flood, and fails if one exceeds the manifests' limit.
pub(super) fn measure(program: &Path) -> Result<(), String> {
    for flood in &FLOODS {
        let peak = flood.run(program)?;
        println!("{}: at most {peak} KiB", flood.name);
        if peak > LIMIT_KIB {
            return Err(format!("a container has {LIMIT_KIB} KiB"));
        }
    }
    Ok(())
}

impl Flood {
    /// The peak of a server under it, in KiB.
    fn run(&self, program: &Path) -> Result<u64, String> {
        let scratch = Scratch::new("bench-flood").map_err(|error| error.to_string())?;
        let token = token(program, &scratch)?;
        let path = |name: &str| scratch.path().join(name).display().to_string();
        let mut arguments = vec!["--tokens".to_owned(), path("tokens")];
        if self.is_encrypted {
            certify(&scratch)?;
            arguments.extend(["--tls-cert".to_owned(), path("server.pem")]);
            arguments.extend(["--tls-key".to_owned(), path("server.key")]);
        }
        let settings = Settings {
            node_ids: "64",
            arguments: &arguments,
        };
        let ours = Ours::start_with(program, &scratch, &settings)?;
        let port = if self.is_http { ours.http } else { ours.resp };
        let bytes = (self.sends)(&token);
        let mut open = Vec::new();
        for _ in 0..self.connections {
            let stream = TcpStream::connect(("127.0.0.1", port)).map_err(failed)?;
            stream.set_nonblocking(true).map_err(failed)?;
            open.push((stream, &bytes[..]));
        }
        let begun = Instant::now();
        while begun.elapsed() < TIME {
            for (stream, rest) in &mut open {
                push(stream, rest);
            }
        }
        if !self.is_encrypted {
            health(ours.http)?;
        }
        status_kb(&ours, "VmHWM:")
    }
}

/// Sends what the server takes.
fn push(stream: &mut TcpStream, rest: &mut &[u8]) {
    match stream.write(rest) {
        Ok(sent) => *rest = &rest[sent..],
        Err(error) if error.kind() == ErrorKind::WouldBlock => {}
        // The server has closed it, which it may.
        Err(_) => *rest = &[],
    }
}

fn health(port: u16) -> Result<(), String> {
    let mut stream = TcpStream::connect(("127.0.0.1", port)).map_err(failed)?;
    stream.set_read_timeout(Some(TIME)).map_err(failed)?;
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
fn certify(scratch: &Scratch) -> Result<(), String> {
    let mut command = Command::new("openssl");
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
