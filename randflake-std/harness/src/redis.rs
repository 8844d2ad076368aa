//! A Redis server for tests.

use core::net::Ipv4Addr;
use core::time::Duration;
use std::fs;
use std::io::{self, Read, Write};
use std::net::TcpStream;
use std::path::{Path, PathBuf};
use std::process::Command;

use tempfile::TempDir;

#[cfg(target_os = "linux")]
use super::preloaded_clock::PreloadedClock;
use super::server::Server;
use super::{free_port, program};

const PROGRAM: &str = "RANDFLAKE_REDIS_SERVER";
const TIME_LIMIT: Duration = Duration::from_secs(30);

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
        let answers = move || TcpStream::connect((Ipv4Addr::LOCALHOST, port)).is_ok();
        Self {
            server: Server::start(TempDir::new().unwrap(), command, answers),
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
