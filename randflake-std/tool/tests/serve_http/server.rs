//! A server of the test's own, with a store in a temporary folder.

use core::time::Duration;
use std::fs;
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::TcpStream;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::sync::mpsc::channel;
use std::thread::{self, sleep};
use std::time::Instant;

use serde_json::Value;
use tempfile::TempDir;

use crate::aged_store;

/// Of the ids of namespace `default`.
pub(crate) const KEY: &str = "dffd6021bb2bd5b0af676290809ec3a5";
/// Of the ids of namespace `other`.
const OTHER_KEY: &str = "000102030405060708090a0b0c0d0e0f";
pub(crate) const TICKET_KEY: &str = "f0e0d0c0b0a090807060504030201000";

pub(crate) struct Server {
    pub(crate) process: Child,
    /// Address of the server, `127.0.0.1:PORT`.
    pub(crate) address: String,
    home: Arc<TempDir>,
    arguments: Vec<String>,
}

impl Server {
    /// Serves the namespace `default`.
    pub(crate) fn start() -> Self {
        Self::start_with(&[])
    }

    /// Serves the namespace `default`, with more arguments.
    pub(crate) fn start_with(arguments: &[&str]) -> Self {
        Self::run(home().into(), arguments)
    }

    /// Another server of the same store.
    pub(crate) fn replica(&self) -> Self {
        self.another("randflake: ready")
    }

    /// Another server of the same store, once it says this.
    pub(crate) fn another(&self, said: &str) -> Self {
        let arguments: Vec<_> = self.arguments.iter().map(|word| &**word).collect();
        Self::run_until(Arc::clone(&self.home), &arguments, said)
    }

    /// Serves the namespaces `default`, `other` and `events`, to the tokens that are made: for each
    /// a name, scopes and namespaces.
    pub(crate) fn with_tokens(tokens: &[[&str; 3]]) -> (Self, Vec<String>) {
        let tokens: Vec<_> = tokens.iter().map(|token| (*token, &[][..])).collect();
        Self::with_token_options(&tokens)
    }

    /// As [`with_tokens`](Self::with_tokens), with more options of each.
    pub(crate) fn with_token_options(tokens: &[([&str; 3], &[&str])]) -> (Self, Vec<String>) {
        let home = home();
        let path = |name: &str| home.path().join(name).to_str().unwrap().to_owned();
        private_file(&home.path().join("other.key"), OTHER_KEY);
        private_file(&home.path().join("default.key"), KEY);
        fs::write(
            path("namespaces"),
            "name=default key-file=default.key\nname=other key-file=other.key\nname=events layout=snowflake\n",
        )
        .unwrap();
        let made = tokens.iter().map(|([name, scopes, namespaces], options)| {
            let output = tool(home.path())
                .args(["token", "new", "--name", name, "--scopes", scopes])
                .args(["--namespaces", namespaces, "--file", &path("tokens")])
                .args(*options)
                .output()
                .unwrap();
            assert!(output.status.success(), "{output:?}");
            String::from_utf8(output.stdout).unwrap().trim().to_owned()
        });
        let made = made.collect();
        let arguments = [
            "--namespaces",
            &path("namespaces"),
            "--tokens",
            &path("tokens"),
        ]
        .map(str::to_owned);
        (
            Self::run(home.into(), &arguments.each_ref().map(|word| &**word)),
            made,
        )
    }

    /// Serves one token with all rights, while standard error is a full disk: the address cannot be
    /// read there.
    #[cfg(target_os = "linux")]
    pub(crate) fn on_full_disk(arguments: &[&str]) -> (Self, String) {
        let home = home();
        let new = ["token", "new", "--name", "all", "--scopes", "ids,admin"];
        let file = ["--namespaces", "*", "--file", "tokens"];
        let made = tool(home.path()).args(new).args(file).output().unwrap();
        let address = format!("127.0.0.1:{}", harness::free_port());
        let full = fs::File::options().write(true).open("/dev/full").unwrap();
        let mut command = tool(home.path());
        command
            .args(["serve", "--http", &address, "--tokens", "tokens"])
            .args(arguments)
            .env("RANDFLAKE_KEY", KEY)
            .stderr(full);
        let server = Self {
            process: command.spawn().unwrap(),
            address,
            home: home.into(),
            arguments: Vec::new(),
        };
        while TcpStream::connect(&server.address).is_err() {
            thread::yield_now();
        }
        (
            server,
            String::from_utf8(made.stdout).unwrap().trim().to_owned(),
        )
    }

    fn run(home: Arc<TempDir>, arguments: &[&str]) -> Self {
        Self::run_until(home, arguments, "randflake: ready")
    }

    fn run_until(home: Arc<TempDir>, arguments: &[&str], last: &str) -> Self {
        let mut command = tool(home.path());
        command
            .args(["serve", "--http", "127.0.0.1:0"])
            .args(arguments);
        if !arguments.contains(&"--namespaces") {
            command.env("RANDFLAKE_KEY", KEY);
        }
        let mut process = command.stderr(Stdio::piped()).spawn().unwrap();
        let (sender, lines) = channel();
        let stderr = BufReader::new(process.stderr.take().unwrap());
        // To its end: the server would wait for a reader.
        thread::spawn(move || {
            for line in stderr.lines().map_while(Result::ok) {
                // Nobody listens once it is ready.
                _ = sender.send(line);
            }
        });
        let mut said = Vec::new();
        let mut address = None;
        loop {
            let Ok(line) = lines.recv() else {
                panic!("the server has ended: {said:?}, {:?}", process.wait());
            };
            // The time is before it.
            let (_, said_now) = line.split_once(' ').unwrap_or_default();
            if let Some(at) = said_now.strip_prefix("randflake: http at ") {
                address = Some(at.to_owned());
            }
            if said_now.starts_with(last) {
                break;
            }
            said.push(line);
        }
        Self {
            process,
            address: address.unwrap(),
            home,
            arguments: arguments.iter().map(|&word| word.to_owned()).collect(),
        }
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.home.path().join(name)
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        _ = self.process.kill();
        _ = self.process.wait();
    }
}

/// A home whose default store was made a while ago.
fn home() -> TempDir {
    let home = TempDir::new().unwrap();
    aged_store::in_state(&home.path().join("state"));
    home
}

pub(crate) fn tool(home: &Path) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_randflake"));
    command
        .env_clear()
        .env("HOME", home)
        .env("XDG_STATE_HOME", home.join("state"))
        .env("RANDFLAKE_TICKET_KEY", TICKET_KEY)
        .current_dir(home)
        .stdin(Stdio::null());
    command
}

fn private_file(path: &Path, text: &str) {
    use std::os::unix::fs::OpenOptionsExt as _;

    let mut file = fs::OpenOptions::new();
    let mut file = file
        .create_new(true)
        .write(true)
        .mode(0o600)
        .open(path)
        .unwrap();
    writeln!(file, "{text}").unwrap();
}

/// Longer than a busy machine takes for anything: a server that never answers fails the test.
pub(crate) const FOREVER: Duration = Duration::from_secs(120);

/// Waits until that is so, as long as a machine may be slow.
#[track_caller]
pub(crate) fn wait_until(otherwise: &str, mut is_so: impl FnMut() -> bool) {
    let begun = Instant::now();
    while !is_so() {
        assert!(begun.elapsed() < FOREVER, "{otherwise}");
        sleep(Duration::from_millis(10));
    }
}

#[derive(Debug)]
pub(crate) struct Answer {
    pub(crate) status: u16,
    head: String,
    pub(crate) body: Vec<u8>,
}

impl Answer {
    /// `None` if it is no HTTP, such as nothing.
    pub(crate) fn read(bytes: &[u8]) -> Option<Self> {
        let end = bytes.windows(4).position(|four| four == b"\r\n\r\n")?;
        let head = String::from_utf8(bytes[..end].to_vec()).ok()?;
        let status = head.strip_prefix("HTTP/1.1 ")?.get(..3)?.parse().ok()?;
        let body = bytes[end + 4..].to_vec();
        Some(Self { status, head, body })
    }

    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        let mut lines = self.head.lines().filter_map(|line| line.split_once(": "));
        let found = lines.find(|(own, _)| own.eq_ignore_ascii_case(name));
        found.map(|(_, value)| value)
    }

    pub(crate) fn text(&self) -> &str {
        core::str::from_utf8(&self.body).unwrap()
    }

    /// Of an answer with this status.
    #[track_caller]
    pub(crate) fn json(&self, status: u16) -> Value {
        assert_eq!(self.status, status, "{}", self.text());
        serde_json::from_slice(&self.body).unwrap()
    }

    /// The detail of a problem of this kind.
    #[track_caller]
    pub(crate) fn problem(&self, status: u16, kind: &str) -> String {
        let problem = self.json(status);
        assert_eq!(
            self.header("content-type"),
            Some("application/problem+json")
        );
        assert_eq!(problem["type"], format!("urn:randflake:problem:{kind}"));
        assert_eq!(problem["status"], status);
        problem["detail"].as_str().unwrap().to_owned()
    }
}

impl Server {
    /// Sends bytes, and reads until the server closes the connection.
    pub(crate) fn send(&self, request: &[u8]) -> Vec<u8> {
        let mut stream = self.connect();
        // It may answer and close before it has all.
        _ = stream.write_all(request);
        let mut answer = Vec::new();
        _ = stream.read_to_end(&mut answer);
        answer
    }

    pub(crate) fn connect(&self) -> TcpStream {
        let stream = TcpStream::connect(&self.address).unwrap();
        stream.set_read_timeout(Some(FOREVER)).unwrap();
        stream
    }

    #[track_caller]
    pub(crate) fn request(
        &self,
        method: &str,
        path: &str,
        headers: &[(&str, &str)],
        body: &str,
    ) -> Answer {
        let request = self.bytes(method, path, headers, body);
        let answer = self.send(request.as_bytes());
        Answer::read(&answer).unwrap_or_else(|| panic!("{}", String::from_utf8_lossy(&answer)))
    }

    fn bytes(&self, method: &str, path: &str, headers: &[(&str, &str)], body: &str) -> String {
        let mut request = format!(
            "{method} {path} HTTP/1.1\r\nhost: {}\r\nconnection: close\r\ncontent-length: {}\r\n",
            self.address,
            body.len()
        );
        for (name, value) in headers {
            request.extend([name, ": ", value, "\r\n"]);
        }
        request.extend(["\r\n", body]);
        request
    }

    /// Asks, and does not read the answer.
    pub(crate) fn post_unread(&self, path: &str, body: &str) -> TcpStream {
        let json = [("content-type", "application/json")];
        let request = self.bytes("POST", path, &json, body);
        let mut stream = self.connect();
        stream.write_all(request.as_bytes()).unwrap();
        stream
    }

    #[track_caller]
    pub(crate) fn get(&self, path: &str) -> Answer {
        self.request("GET", path, &[], "")
    }

    #[track_caller]
    pub(crate) fn get_as(&self, token: &str, path: &str) -> Answer {
        self.request(
            "GET",
            path,
            &[("authorization", &format!("Bearer {token}"))],
            "",
        )
    }

    #[track_caller]
    pub(crate) fn post(&self, path: &str, body: &str) -> Answer {
        self.request("POST", path, &[("content-type", "application/json")], body)
    }

    /// A request with JSON, and a token.
    #[track_caller]
    pub(crate) fn post_as(&self, token: &str, path: &str, body: &str) -> Answer {
        let headers = [
            ("authorization", &*format!("Bearer {token}")),
            ("content-type", "application/json"),
        ];
        self.request("POST", path, &headers, body)
    }

    /// How many threads it has.
    #[cfg(target_os = "linux")]
    pub(crate) fn threads(&self) -> usize {
        let status = format!("/proc/{}/status", self.process.id());
        let status = fs::read_to_string(status).unwrap();
        let threads = status
            .lines()
            .find_map(|line| line.strip_prefix("Threads:"));
        threads.unwrap().trim().parse().unwrap()
    }

    /// A number of its metrics.
    pub(crate) fn metric(&self, name: &str) -> u64 {
        let metrics = self.get("/metrics");
        let mut lines = metrics.text().lines();
        let value = lines
            .find_map(|line| line.strip_prefix(name))
            .unwrap_or_else(|| panic!("no {name}: {}", metrics.text()));
        value.trim().parse().unwrap()
    }
}
