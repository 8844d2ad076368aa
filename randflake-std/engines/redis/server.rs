//! A Redis server for tests.

use core::net::Ipv4Addr;
use core::time::Duration;
use std::fs;
use std::io::{self, Read, Write};
use std::net::TcpStream;
use std::path::{Path, PathBuf};
use std::process::Command;

use tempfile::TempDir;

use crate::certificates::Authority;
use crate::engine::{EngineServer, ServerEngine};
#[cfg(target_os = "linux")]
use crate::preloaded_clock::PreloadedClock;
use crate::server::Server;
use crate::{free_port, program};

const PROGRAM: &str = "RANDFLAKE_REDIS_SERVER";
const TIME_LIMIT: Duration = Duration::from_secs(30);

/// The engine in tests and benchmarks of all engines.
pub const ENGINE: EngineServer = EngineServer {
    name: "redis",
    title: "Redis",
    start: || Box::new(RedisServer::start()),
    start_large: || Box::new(RedisServer::start()),
    most_at_once: 8_192,
    most_clients: 1_000,
    filling: Duration::from_secs(30),
};

pub struct RedisServer {
    pub server: Server,
    pub port: u16,
}

impl RedisServer {
    /// One that writes its log to the disk before it answers.
    pub fn start() -> Self {
        Self::start_with(&[])
    }

    /// With further settings, as on the command line: `["--replicaof", "127.0.0.1 6379"]`.
    pub fn start_with(settings: &[&str]) -> Self {
        let port = free_port();
        Self::start_on(port, settings, &[], answers(port))
    }

    /// One whose wall clock is another.
    #[cfg(target_os = "linux")]
    pub fn start_by(clock: &PreloadedClock) -> Self {
        let port = free_port();
        Self::start_on(port, &[], &clock.variables(), answers(port))
    }

    /// A Sentinel, which watches nothing yet.
    pub fn start_sentinel() -> Self {
        let port = free_port();
        let command = move |folder: &Path| {
            // It writes its state there.
            let file = folder.join("sentinel.conf");
            fs::write(&file, format!("bind 127.0.0.1\nport {port}\n")).unwrap();
            let mut command = Command::new(program(PROGRAM));
            command.arg(file).arg("--sentinel");
            command
        };
        // It knows no `QUIT`, by which `ask` ends.
        Self {
            server: Server::start(TempDir::new().unwrap(), command, move || {
                TcpStream::connect((Ipv4Addr::LOCALHOST, port)).is_ok()
            }),
            port,
        }
    }

    pub(crate) fn start_on(
        port: u16,
        settings: &[&str],
        variables: &[(&'static str, PathBuf)],
        answers: impl Fn() -> bool + Send + Sync + 'static,
    ) -> Self {
        let settings: Vec<String> = settings.iter().map(|&word| word.to_owned()).collect();
        let variables = variables.to_vec();
        let command = move |folder: &Path| {
            let mut command = Command::new(program(PROGRAM));
            command
                .args(["--bind", "127.0.0.1", "--port", &port.to_string()])
                .args([
                    "--save",
                    "",
                    "--appendonly",
                    "yes",
                    "--appendfsync",
                    "always",
                ])
                .arg("--dir")
                .arg(folder)
                .args(&settings)
                .envs(variables.clone());
            command
        };
        Self {
            server: Server::start(TempDir::new().unwrap(), command, answers),
            port,
        }
    }

    pub fn url(&self) -> String {
        format!("redis://127.0.0.1:{}", self.port)
    }

    /// The reply to a command without arguments of more than a word, as it comes.
    pub fn ask(&self, command: &str) -> String {
        ask(self.port, command).unwrap()
    }
}

fn answers(port: u16) -> impl Fn() -> bool + Send + Sync + 'static {
    move || ask(port, "PING").is_ok_and(|reply| is_pong(&reply))
}

/// Also one that asks for a password is there.
fn is_pong(reply: &str) -> bool {
    reply.starts_with("+PONG") || reply.starts_with("-NOAUTH")
}

fn ask(port: u16, command: &str) -> io::Result<String> {
    let mut stream = TcpStream::connect((Ipv4Addr::LOCALHOST, port))?;
    stream.set_read_timeout(Some(TIME_LIMIT))?;
    // The server closes the connection behind the reply.
    stream.write_all(format!("{command}\r\nQUIT\r\n").as_bytes())?;
    let mut reply = String::new();
    stream.read_to_string(&mut reply)?;
    Ok(reply.strip_suffix("+OK\r\n").unwrap_or(&reply).to_owned())
}

impl RedisServer {
    /// One that takes encrypted connections alone, of clients with a certificate of the authority;
    /// with further settings.
    pub fn start_encrypted(authority: &Authority, settings: &[&str]) -> Self {
        let (port, own) = (free_port(), authority.server());
        let port_word = port.to_string();
        let files = [authority.file(), own.certificate, own.key];
        let [ca, certificate, key] = files.each_ref().map(|file| file.to_str().unwrap());
        let encrypted = [
            ["--port", "0"],
            ["--tls-port", &port_word],
            ["--tls-ca-cert-file", ca],
            ["--tls-cert-file", certificate],
            ["--tls-key-file", key],
        ]
        .concat();
        Self::start_on(port, &[&encrypted, settings].concat(), &[], move || {
            TcpStream::connect((Ipv4Addr::LOCALHOST, port)).is_ok()
        })
    }
}

impl ServerEngine for RedisServer {
    fn port(&self) -> u16 {
        self.port
    }

    fn url_at(&self, port: u16) -> String {
        format!("redis://127.0.0.1:{port}")
    }

    fn process(&self) -> &Server {
        &self.server
    }

    fn server(&mut self) -> &mut Server {
        &mut self.server
    }

    fn stored_bytes(&self) -> u64 {
        let memory = self.ask("INFO memory");
        let used = memory.split_once("used_memory:").unwrap().1;
        used.split_once('\r').unwrap().0.parse().unwrap()
    }
}
