//! A server in a folder of its own.

use core::time::Duration;
use std::fs::{self, File};
use std::io::{Read, Write};
use std::net::TcpStream;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::Arc;
use std::thread;
use std::time::Instant;

use harness::server::{signal_process, spawn};
use tempfile::TempDir;

use crate::aged_store;
use crate::client::Client;

/// How long it may take to start, on a busy machine.
pub(crate) const LIMIT: Duration = Duration::from_secs(60);

pub(crate) struct Server {
    child: Option<Child>,
    folder: Home,
    port: u16,
}

/// Where the tool keeps its files, and those of a test.
pub(crate) struct Home {
    folder: Arc<TempDir>,
    /// The file of what the server says.
    log: &'static str,
}

impl Home {
    /// With a default store that was made a while ago.
    pub(crate) fn new() -> Self {
        let home = Self::without_store();
        aged_store::in_state(&home.path("state"));
        home
    }

    /// As of a container without its volume.
    pub(crate) fn without_store() -> Self {
        Self {
            folder: Arc::new(TempDir::new().unwrap()),
            log: "log",
        }
    }

    /// The same, for a second server.
    pub(crate) fn beside(&self) -> Self {
        Self {
            folder: Arc::clone(&self.folder),
            log: "log-of-the-second",
        }
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    pub(crate) fn write(&self, name: &str, text: &str) -> String {
        let path = self.path(name);
        fs::write(&path, text).unwrap();
        path.to_str().unwrap().to_owned()
    }

    /// The tool, which keeps what it keeps in this folder.
    pub(crate) fn tool(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_randflake"));
        command
            .args(arguments)
            .current_dir(self.folder.path())
            .env("XDG_STATE_HOME", self.path("state"))
            .env_remove("RANDFLAKE_KEY")
            .env_remove("RANDFLAKE_STORE")
            .env_remove("RANDFLAKE_NAMESPACE")
            .stdin(Stdio::null());
        command
    }

    /// What the tool prints.
    pub(crate) fn ask(&self, arguments: &[&str]) -> String {
        let output = self.tool(arguments).output().unwrap();
        let told = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{arguments:?}: {told}");
        String::from_utf8(output.stdout).unwrap()
    }

    /// A token, whose line is added to the file `tokens`.
    pub(crate) fn token(
        &self,
        name: &str,
        scopes: &str,
        namespaces: &str,
        more: &[&str],
    ) -> String {
        let arguments = ["token", "new", "--file", "tokens", "--name", name];
        let rights = ["--scopes", scopes, "--namespaces", namespaces];
        let printed = self.ask(&[&arguments, &rights[..], more].concat());
        printed.trim().to_owned()
    }

    /// What the server has said.
    pub(crate) fn log(&self) -> String {
        fs::read_to_string(self.path(self.log)).unwrap_or_default()
    }

    /// Waits until the server has said that.
    pub(crate) fn wait_for(&self, text: &str) {
        wait_until(
            &format!("the server has not said {text:?}: {}", self.log()),
            || self.log().contains(text),
        );
    }
}

/// Waits until that is so, as long as a machine may be slow.
pub(crate) fn wait_until(otherwise: &str, mut is_so: impl FnMut() -> bool) {
    let begun = Instant::now();
    while !is_so() {
        assert!(begun.elapsed() < LIMIT, "{otherwise}");
        thread::sleep(Duration::from_millis(10));
    }
}

impl Server {
    pub(crate) fn start() -> Self {
        Self::start_with(Home::new(), &[])
    }

    /// With more arguments, where files are that they name.
    pub(crate) fn start_with(folder: Home, arguments: &[&str]) -> Self {
        let server = Self::begin(folder, arguments);
        server.folder.wait_for("randflake: ready");
        server
    }

    /// One that may have to wait for its store.
    pub(crate) fn begin(folder: Home, arguments: &[&str]) -> Self {
        let fixed = ["serve", "--resp", "127.0.0.1:0"];
        let mut command = folder.tool(&[&fixed, arguments].concat());
        let log = File::create(folder.path(folder.log)).unwrap();
        command.stdout(Stdio::null()).stderr(log);
        let child = Some(spawn(command).unwrap());
        // Addresses are said before this.
        folder.wait_for("resp at 127.0.0.1:");
        let log = folder.log();
        let (_, port) = log.split_once("resp at 127.0.0.1:").unwrap();
        let port = port.lines().next().unwrap().parse().unwrap();
        Self {
            child,
            folder,
            port,
        }
    }

    pub(crate) fn port(&self) -> u16 {
        self.port
    }

    pub(crate) fn home(&self) -> &Home {
        &self.folder
    }

    pub(crate) fn connect(&self) -> Client {
        Client::connect(self.port)
    }

    /// A client that has sent a token.
    pub(crate) fn connect_as(&self, token: &str) -> Client {
        let mut client = self.connect();
        assert_eq!(client.ask(&["AUTH", token]), "+OK");
        client
    }

    pub(crate) fn signal(&self, signal: libc::c_int) {
        signal_process(self.child.as_ref().unwrap(), signal);
    }

    /// Waits until it has ended by itself.
    pub(crate) fn ended(&mut self) -> ExitStatus {
        self.child.take().unwrap().wait().unwrap()
    }

    /// Where it speaks HTTP, if it was told to.
    pub(crate) fn http(&self) -> String {
        let log = self.folder.log();
        let (_, address) = log.split_once("http at ").unwrap();
        address.lines().next().unwrap().to_owned()
    }

    /// The answer to a request of HTTP that asks the server to close.
    pub(crate) fn ask_http(&self, request: &str) -> String {
        let mut stream = TcpStream::connect(self.http()).unwrap();
        stream.write_all(request.as_bytes()).unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).unwrap();
        answer
    }

    /// How much memory it has, in kB.
    pub(crate) fn memory_kb(&self) -> u64 {
        self.status_kb("VmRSS:")
    }

    /// How much memory it has had at most, in kB.
    pub(crate) fn peak_kb(&self) -> u64 {
        self.status_kb("VmHWM:")
    }

    fn status_kb(&self, name: &str) -> u64 {
        let process = self.child.as_ref().unwrap().id();
        let status =
            fs::read_to_string(Path::new("/proc").join(process.to_string()).join("status"));
        let status = status.unwrap();
        let line = status.lines().find(|line| line.starts_with(name)).unwrap();
        line.split_ascii_whitespace()
            .nth(1)
            .unwrap()
            .parse()
            .unwrap()
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        if let Some(mut child) = self.child.take() {
            child.kill().unwrap();
            child.wait().unwrap();
        }
    }
}
