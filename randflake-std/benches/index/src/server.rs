//! A PostgreSQL server of its own, with all settings at their defaults, gone at the end.

use core::time::Duration;
use std::fs::{self, File};
use std::net::TcpListener;
use std::os::unix::fs::chown;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::Instant;

use postgres::{Client, NoTls};
use rustix::process::{Pid, Signal, geteuid, kill_process};
use tempfile::TempDir;

const PATIENCE: Duration = Duration::from_secs(60);

pub(crate) struct Server {
    process: Child,
    port: u16,
    _folder: TempDir,
}

impl Server {
    /// Starts the programs of a folder.
    pub(crate) fn start(programs: &Path) -> Self {
        let folder = TempDir::new().expect("a temporary folder");
        if let Some((uid, gid)) = account() {
            chown(folder.path(), Some(uid), Some(gid)).expect("root may do that");
        }
        let data = folder.path().join("data");
        let created = as_account(&programs.join("initdb"))
            .args([
                "--username=postgres",
                "--auth=trust",
                "--encoding=UTF8",
                "--pgdata",
            ])
            .arg(&data)
            .stdout(Stdio::null())
            .status();
        assert!(
            created.is_ok_and(|status| status.success()),
            "initdb failed"
        );
        let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
        let port = listener.local_addr().expect("it has one").port();
        drop(listener);
        let log = File::create(folder.path().join("log")).expect("a log");
        let process = as_account(&programs.join("postgres"))
            .arg("-D")
            .arg(&data)
            .args(["-p", &port.to_string()])
            .args([
                "-c",
                "listen_addresses=127.0.0.1",
                "-c",
                "unix_socket_directories=",
            ])
            .stdout(Stdio::null())
            .stderr(log)
            .spawn()
            .expect("postgres starts");
        Self {
            process,
            port,
            _folder: folder,
        }
    }

    pub(crate) fn connect(&self) -> Client {
        let url = format!("postgres://postgres@127.0.0.1:{}/postgres", self.port);
        let started = Instant::now();
        loop {
            match Client::connect(&url, NoTls) {
                Ok(client) => return client,
                Err(error) => assert!(started.elapsed() < PATIENCE, "{error}"),
            }
            thread::sleep(Duration::from_millis(50));
        }
    }
}

impl Drop for Server {
    /// A fast shutdown, so that nothing is left of its processes and memory.
    fn drop(&mut self) {
        let id = i32::try_from(self.process.id())
            .ok()
            .and_then(Pid::from_raw);
        let _gone_already = id.map(|id| kill_process(id, Signal::INT));
        let _gone_already = self.process.wait();
    }
}

/// Whom to run as, if this is root, which the server refuses.
fn account() -> Option<(u32, u32)> {
    if !geteuid().is_root() {
        return None;
    }
    let accounts = fs::read_to_string("/etc/passwd").expect("there are accounts");
    let line = accounts.lines().find(|line| line.starts_with("postgres:"));
    let mut fields = line
        .expect("there is an account postgres")
        .split(':')
        .skip(2);
    let mut id = || fields.next()?.parse().ok();
    Some((id()?, id()?))
}

fn as_account(program: &PathBuf) -> Command {
    let Some((uid, gid)) = account() else {
        return Command::new(program);
    };
    let mut command = Command::new("setpriv");
    command
        .args([format!("--reuid={uid}"), format!("--regid={gid}")])
        .args(["--clear-groups", "--pdeathsig=INT"])
        .arg(program);
    command
}
