//! A server in a folder of its own.

use core::time::Duration;
use std::fs::{self, File};
use std::io::{self, BufRead, BufReader, Read, Write};
use std::net::{Shutdown, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::Arc;
use std::thread;
use std::time::Instant;

use harness::server::{signal_process, spawn};
use tempfile::TempDir;

use crate::aged_store;

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
            fs::read_to_string(Path::new("/proc").join(process.to_string()).join("status"))
                .unwrap();
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

pub(crate) struct Client {
    stream: TcpStream,
    replies: BufReader<TcpStream>,
}

impl Client {
    pub(crate) fn connect(port: u16) -> Self {
        let stream = TcpStream::connect(("127.0.0.1", port)).unwrap();
        stream.set_read_timeout(Some(LIMIT)).unwrap();
        stream.set_nodelay(true).unwrap();
        let replies = BufReader::new(stream.try_clone().unwrap());
        Self { stream, replies }
    }

    pub(crate) fn send(&mut self, bytes: &[u8]) {
        self.stream.write_all(bytes).unwrap();
    }

    pub(crate) fn command(words: &[&str]) -> Vec<u8> {
        let mut bytes = format!("*{}\r\n", words.len()).into_bytes();
        for word in words {
            bytes.extend(format!("${}\r\n{word}\r\n", word.len()).into_bytes());
        }
        bytes
    }

    /// The reply to a command: `+OK`, `-ERR ...`, `:1`, a string as it is, `(null)`, or the parts
    /// of an array by spaces.
    pub(crate) fn ask(&mut self, words: &[&str]) -> String {
        self.send(&Self::command(words));
        self.reply()
    }

    pub(crate) fn reply(&mut self) -> String {
        let line = self.line();
        let length = || line[1..].parse::<i64>().unwrap();
        match line.as_bytes()[0] {
            b'+' | b'-' | b':' => line,
            b'$' if length() < 0 => "(null)".to_owned(),
            b'$' => {
                let mut bytes = vec![0; usize::try_from(length()).unwrap() + 2];
                self.replies.read_exact(&mut bytes).unwrap();
                assert!(bytes.ends_with(b"\r\n"));
                bytes.truncate(bytes.len() - 2);
                bytes.escape_ascii().to_string()
            }
            b'*' => {
                let parts = (0..length()).map(|_| self.reply());
                parts.collect::<Vec<_>>().join(" ")
            }
            _ => panic!("no reply: {line:?}"),
        }
    }

    /// The first line of a reply, such as the length of an array whose parts are replies.
    pub(crate) fn head(&mut self) -> String {
        self.line()
    }

    fn line(&mut self) -> String {
        let mut line = String::new();
        self.replies.read_line(&mut line).unwrap();
        assert!(line.ends_with("\r\n"), "the connection ended: {line:?}");
        line.truncate(line.len() - 2);
        line
    }

    pub(crate) fn into_stream(self) -> TcpStream {
        self.stream
    }

    /// Closes the sending direction.
    pub(crate) fn finish(&self) {
        self.stream.shutdown(Shutdown::Write).unwrap();
    }

    /// All that comes until the server closes.
    pub(crate) fn rest(&mut self) -> String {
        self.rest_or_reset().unwrap()
    }

    /// The same, of a server that may not have read what was sent.
    pub(crate) fn rest_or_reset(&mut self) -> io::Result<String> {
        let mut bytes = Vec::new();
        self.replies.read_to_end(&mut bytes)?;
        Ok(bytes.escape_ascii().to_string())
    }
}
