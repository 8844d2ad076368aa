//! The servers that are loaded, and what loads them.

use core::time::Duration;
use std::fs::File;
use std::net::{TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::Instant;

use super::container::Container;
use crate::cargo::output_of;
use crate::scratch::Scratch;

const START: Duration = Duration::from_secs(60);

/// Columns of `redis-benchmark --csv`.
const RATE: usize = 1;

/// A command for a process that ends with the thread that starts it, also where a signal ends that: then nothing is dropped.
pub(super) fn bound(program: &Path) -> Command {
    if !cfg!(target_os = "linux") {
        return Command::new(program);
    }
    let mut command = Command::new("setpriv");
    command.args(["--pdeathsig", "KILL", "--"]).arg(program);
    command
}

/// A process that ends with the benchmark.
pub(super) struct Running(Child);

impl Running {
    pub(super) fn id(&self) -> u32 {
        self.0.id()
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        _ = self.0.kill();
        _ = self.0.wait();
    }
}

/// Programs that load servers.
pub(super) struct Load {
    pub(super) benchmark: PathBuf,
    pub(super) wrk: PathBuf,
}

impl Load {
    /// How many `INCR` the server at a port answers in a second.
    pub(super) fn incr(&self, port: u16, how: &[&str]) -> Result<f64, String> {
        self.redis(port, how, &["INCR", "default"])
    }

    /// How many of a command the server at a port answers in a second.
    pub(super) fn redis(&self, port: u16, how: &[&str], words: &[&str]) -> Result<f64, String> {
        let mut command = Command::new(&self.benchmark);
        command.args(["-p", &port.to_string(), "--csv"]).args(how);
        let printed = output_of(command.args(words));
        let printed = printed.ok_or("redis-benchmark did not run to its end")?;
        let line = printed.lines().last().unwrap_or_default();
        let cell = line.split(',').nth(RATE).unwrap_or_default();
        let rate = cell.trim_matches('"').parse();
        rate.map_err(|_| format!("redis-benchmark printed {line}"))
    }

    /// How many requests for ids the server at a port answers in a second.
    pub(super) fn http(&self, port: u16, how: &[&str], query: &str) -> Result<f64, String> {
        let url = format!("http://127.0.0.1:{port}/v1/ids?{query}");
        let printed = output_of(Command::new(&self.wrk).args(how).arg(&url));
        let printed = printed.ok_or("wrk did not run to its end")?;
        if printed.contains("Non-2xx") {
            return Err(format!("requests were refused: {printed}"));
        }
        let (_, rest) = printed.split_once("Requests/sec:").unwrap_or_default();
        let requests = rest.split_whitespace().next();
        let requests = requests.and_then(|text| text.parse().ok());
        requests.ok_or_else(|| format!("wrk printed {printed}"))
    }
}

/// How the server is started.
pub(super) struct Settings<'a> {
    pub(super) node_ids: &'a str,
    /// Further arguments of the server.
    pub(super) arguments: &'a [String],
    /// What it runs in, if not as any process.
    pub(super) container: Option<&'a Container>,
}

/// A running server of ids, with its ports.
pub(super) struct Ours {
    pub(super) running: Running,
    pub(super) resp: u16,
    pub(super) http: u16,
}

impl Ours {
    /// Starts the program with so many node ids, and waits until it issues ids.
    pub(super) fn start(
        program: &Path,
        scratch: &Scratch,
        load: &Load,
        node_ids: &str,
    ) -> Result<Self, String> {
        let settings = Settings {
            node_ids,
            arguments: &[],
            container: None,
        };
        Self::start_issuing(program, scratch, load, &settings)
    }

    /// Starts the program, and waits until it issues ids without a token.
    pub(super) fn start_issuing(
        program: &Path,
        scratch: &Scratch,
        load: &Load,
        settings: &Settings<'_>,
    ) -> Result<Self, String> {
        let ours = Self::start_with(program, scratch, settings)?;
        // The first leases take a moment.
        until("the server has no ids", || {
            load.incr(ours.resp, &["-n", "100"]).is_ok()
        })?;
        Ok(ours)
    }

    /// Starts the program, and waits until it accepts.
    pub(super) fn start_with(
        program: &Path,
        scratch: &Scratch,
        settings: &Settings<'_>,
    ) -> Result<Self, String> {
        let [resp, http] = [free_port()?, free_port()?];
        let container = settings.container;
        let mut command = container.map_or_else(|| bound(program), |own| own.command(program));
        command
            .args(["serve", "--node-ids", settings.node_ids])
            .args(["--resp", &format!("127.0.0.1:{resp}")])
            .args(["--http", &format!("127.0.0.1:{http}")])
            .args(settings.arguments)
            .env("XDG_STATE_HOME", scratch.path());
        let running = start(&mut command, scratch.path(), "ours", resp)?;
        Ok(Self {
            running,
            resp,
            http,
        })
    }
}

/// Starts Redis, which keeps nothing on disk.
pub(super) fn redis(scratch: &Scratch, program: &Path) -> Result<(Running, u16), String> {
    let port = free_port()?;
    let mut command = bound(program);
    command
        .args(["--bind", "127.0.0.1", "--port", &port.to_string()])
        .args(["--save", "", "--appendonly", "no"]);
    let running = start(&mut command, scratch.path(), "redis", port)?;
    Ok((running, port))
}

fn free_port() -> Result<u16, String> {
    let listener = TcpListener::bind("127.0.0.1:0").and_then(|listener| listener.local_addr());
    listener
        .map(|address| address.port())
        .map_err(|error| error.to_string())
}

/// Starts a server, and waits until it accepts.
fn start(command: &mut Command, folder: &Path, name: &str, port: u16) -> Result<Running, String> {
    let log = File::create(folder.join(name)).map_err(|error| error.to_string())?;
    let quiet = command
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(log);
    let running = quiet.current_dir(folder).spawn().map(Running);
    let running = running.map_err(|error| format!("{name}: {error}"))?;
    until(&format!("{name} does not answer"), || {
        TcpStream::connect(("127.0.0.1", port)).is_ok()
    })?;
    Ok(running)
}

fn until(otherwise: &str, is_so: impl Fn() -> bool) -> Result<(), String> {
    let begun = Instant::now();
    while !is_so() {
        if begun.elapsed() > START {
            return Err(otherwise.to_owned());
        }
        thread::sleep(Duration::from_millis(50));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::io::{BufRead as _, BufReader};

    use super::*;

    /// As at a signal, which drops nothing: the child is waited for, and not ended.
    #[cfg(target_os = "linux")]
    #[test]
    fn a_server_ends_with_what_has_started_it() {
        let starting = thread::spawn(|| {
            let mut command = bound(Path::new("sh"));
            command.args(["-c", "echo; exec sleep 600"]);
            let mut child = command.stdout(Stdio::piped()).spawn().unwrap();
            let said = child.stdout.take().unwrap();
            // It runs, so that it knows with whom it ends.
            BufReader::new(said).read_line(&mut String::new()).unwrap();
            child
        });
        let ended = starting.join().unwrap().wait().unwrap();
        assert!(!ended.success());
    }
}
