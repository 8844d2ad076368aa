//! The server that is loaded, and what loads it.

use core::time::Duration;
use std::net::TcpStream;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Instant;
use std::{env, thread};

use harness::server::Server;
use harness::{free_port, program};
use tempfile::TempDir;

use super::container::Container;

const BENCHMARK: &str = "RANDFLAKE_REDIS_BENCHMARK";
const WRK: &str = "RANDFLAKE_WRK";
/// How long the first leases may take.
const START: Duration = Duration::from_secs(60);
/// Columns of `redis-benchmark --csv`.
const RATE: usize = 1;

/// Programs that load servers.
pub(crate) struct Load {
    benchmark: PathBuf,
    wrk: PathBuf,
}

impl Load {
    pub(crate) fn is_told() -> bool {
        env::var_os(BENCHMARK).is_some() && env::var_os(WRK).is_some()
    }

    pub(crate) fn find() -> Self {
        Self {
            benchmark: program(BENCHMARK),
            wrk: program(WRK),
        }
    }

    /// How many `INCR` the server at a port answers in a second.
    pub(crate) fn incr(&self, port: u16, how: &[&str]) -> f64 {
        self.redis(port, how, &["INCR", "default"]).unwrap()
    }

    /// How many of a command the server at a port answers in a second; `None` if it refuses.
    pub(crate) fn redis(&self, port: u16, how: &[&str], words: &[&str]) -> Option<f64> {
        let mut command = Command::new(&self.benchmark);
        command.args(["-p", &port.to_string(), "--csv"]).args(how);
        let printed = output(command.args(words))?;
        let line = printed.lines().last()?;
        line.split(',').nth(RATE)?.trim_matches('"').parse().ok()
    }

    /// How many requests for ids the server at a port answers in a second.
    pub(crate) fn http(&self, port: u16, how: &[&str], query: &str) -> f64 {
        let url = format!("http://127.0.0.1:{port}/v1/ids?{query}");
        let printed = output(Command::new(&self.wrk).args(how).arg(&url)).unwrap();
        assert!(!printed.contains("Non-2xx"), "refused: {printed}");
        let (_, rest) = printed.split_once("Requests/sec:").unwrap();
        rest.split_whitespace().next().unwrap().parse().unwrap()
    }
}

/// What a program printed, if it succeeded.
pub(crate) fn output(command: &mut Command) -> Option<String> {
    let output = command.output().unwrap();
    let printed = String::from_utf8(output.stdout).unwrap();
    output.status.success().then_some(printed)
}

/// A running server of ids, with its ports.
pub(crate) struct RandflakeServer {
    pub(crate) server: Server,
    pub(crate) resp: u16,
    pub(crate) http: u16,
}

impl RandflakeServer {
    /// Starts the program in a folder, with further arguments, and waits until it accepts.
    pub(crate) fn start(
        program: &Path,
        folder: TempDir,
        arguments: Vec<String>,
        container: Option<Container>,
    ) -> Self {
        let program = program.to_owned();
        let [resp, http] = [free_port(), free_port()];
        let command = move |folder: &Path| {
            let container = container.as_ref();
            let mut command =
                container.map_or_else(|| Command::new(&program), |own| own.command(&program));
            command
                .arg("serve")
                .args(["--resp", &format!("127.0.0.1:{resp}")])
                .args(["--http", &format!("127.0.0.1:{http}")])
                .args(&arguments)
                .current_dir(folder)
                .env("XDG_STATE_HOME", folder);
            command
        };
        Self {
            server: Server::start(folder, command, move || {
                TcpStream::connect(("127.0.0.1", resp)).is_ok()
            }),
            resp,
            http,
        }
    }

    /// Waits until it issues ids without a token: the first leases take a moment.
    pub(crate) fn issuing(self, load: &Load) -> Self {
        let begun = Instant::now();
        while load
            .redis(self.resp, &["-n", "100"], &["INCR", "default"])
            .is_none()
        {
            assert!(begun.elapsed() < START, "the server has no ids");
            thread::sleep(Duration::from_millis(50));
        }
        self
    }
}
