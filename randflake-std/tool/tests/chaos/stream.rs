//! Issuers: processes that print ids, and clients of the servers. All that was received is kept.

use core::sync::atomic::{AtomicBool, Ordering};
use core::time::Duration;
use std::io::{BufRead, BufReader, ErrorKind, Read, Write};
use std::net::TcpStream;
use std::process::{Child, ChildStdout, Command, Stdio};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::Instant;

use harness::server::{signal_process, spawn};

/// Nobody may be stuck for longer, on a busy machine.
const LIMIT: Duration = Duration::from_secs(120);
/// Between what is read: who issues as fast as it can would keep all others from the processor.
const PAUSE: Duration = Duration::from_millis(50);

/// The ids that somebody issued.
#[derive(Clone, Default)]
pub(crate) struct Ids(Arc<Mutex<Vec<u64>>>);

impl Ids {
    pub(crate) fn all(&self) -> Vec<u64> {
        self.0
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .clone()
    }

    fn newest(&self) -> Option<u64> {
        let ids = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        ids.last().copied()
    }

    /// The number of a line, unless the line was cut short.
    fn take(&self, line: &[u8]) -> bool {
        let Some(number) = line.strip_suffix(b"\n") else {
            return false;
        };
        let number = str::from_utf8(number.trim_ascii()).unwrap();
        let number: i64 = number.parse().unwrap();
        let mut ids = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        ids.push(number.cast_unsigned());
        true
    }
}

/// A process that prints ids, started again whenever it ends.
pub(crate) struct Process {
    pub(crate) name: &'static str,
    command: Box<dyn Fn() -> Command>,
    child: Child,
    ids: Ids,
}

impl Process {
    pub(crate) fn start(
        name: &'static str,
        ids: &Ids,
        command: impl Fn() -> Command + 'static,
    ) -> Self {
        let child = launch(command(), ids);
        Self {
            name,
            command: Box::new(command),
            child,
            ids: ids.clone(),
        }
    }

    /// `kill -9`, and a new one.
    pub(crate) fn kill(&mut self) {
        self.end();
        self.child = launch((self.command)(), &self.ids);
    }

    pub(crate) fn suspend(&self) {
        signal_process(&self.child, libc::SIGSTOP);
    }

    pub(crate) fn resume(&self) {
        signal_process(&self.child, libc::SIGCONT);
    }

    fn end(&mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }

    /// Waits for an id that is later. Those from before may still be in the pipe.
    pub(crate) fn goes_on(&mut self, is_later: impl Fn(u64) -> bool) {
        let begun = Instant::now();
        while !self.ids.newest().is_some_and(&is_later) {
            if self.child.try_wait().unwrap().is_some() {
                // It gave up, as a process may when its store is away.
                self.child = launch((self.command)(), &self.ids);
            }
            assert!(begun.elapsed() < LIMIT, "{} does not go on", self.name);
            thread::sleep(PAUSE);
        }
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        self.end();
    }
}

fn launch(mut command: Command, ids: &Ids) -> Child {
    command.stdin(Stdio::null()).stdout(Stdio::piped());
    command.stderr(Stdio::null());
    let mut child = spawn(command).unwrap();
    let (stdout, ids) = (child.stdout.take().unwrap(), ids.clone());
    thread::spawn(move || read(stdout, &ids));
    child
}

fn read(stdout: ChildStdout, ids: &Ids) {
    let mut lines = BufReader::with_capacity(1 << 13, Slowly(stdout));
    let mut line = Vec::new();
    while lines.read_until(b'\n', &mut line).unwrap() > 0 && ids.take(&line) {
        line.clear();
    }
}

struct Slowly<R>(R);

impl<R: Read> Read for Slowly<R> {
    fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
        thread::sleep(PAUSE);
        self.0.read(buffer)
    }
}

/// A client of the Redis protocol, at one of the servers; at the next one when that fails.
pub(crate) struct Client {
    ids: Ids,
    is_over: Arc<AtomicBool>,
}

impl Client {
    pub(crate) fn start(ids: &Ids, ports: Vec<u16>) -> Self {
        let client = Self {
            ids: ids.clone(),
            is_over: Arc::default(),
        };
        let (ids, is_over) = (ids.clone(), Arc::clone(&client.is_over));
        thread::spawn(move || {
            for port in ports.iter().cycle() {
                if is_over.load(Ordering::Relaxed) {
                    return;
                }
                // The next one may do better.
                _ = ask(*port, &ids, &is_over);
                thread::sleep(PAUSE);
            }
        });
        client
    }

    pub(crate) fn goes_on(&self, is_later: impl Fn(u64) -> bool) {
        let begun = Instant::now();
        while !self.ids.newest().is_some_and(&is_later) {
            assert!(begun.elapsed() < LIMIT, "a client does not go on");
            thread::sleep(PAUSE);
        }
    }
}

impl Drop for Client {
    fn drop(&mut self) {
        self.is_over.store(true, Ordering::Relaxed);
    }
}

/// Asks until something fails.
fn ask(port: u16, ids: &Ids, is_over: &AtomicBool) -> std::io::Result<()> {
    let mut stream = TcpStream::connect(("127.0.0.1", port))?;
    stream.set_read_timeout(Some(Duration::from_secs(10)))?;
    let mut answers = BufReader::new(stream.try_clone()?);
    let mut line = Vec::new();
    while !is_over.load(Ordering::Relaxed) {
        stream.write_all(
            b"*2\r\n$4\r\nINCR\r\n$7\r\ndefault\r\n"
                .repeat(20)
                .as_slice(),
        )?;
        for _ in 0..20 {
            line.clear();
            answers.read_until(b'\n', &mut line)?;
            if line.first() != Some(&b':') || !ids.take(&line[1..]) {
                return Err(ErrorKind::ConnectionAborted.into());
            }
        }
        thread::sleep(PAUSE);
    }
    Ok(())
}
