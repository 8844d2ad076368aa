//! Clients of `randflake serve`: by `INCR`, within `MULTI`, and over HTTP.

use core::sync::atomic::{AtomicBool, Ordering};
use core::time::Duration;
use std::io::{self, BufRead, BufReader, Error, ErrorKind, Read as _, Write as _};
use std::net::TcpStream;
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;

use crate::runs::{Entries, Issued, append};
use crate::spaces::{NAMESPACE, Source};

const PAUSE: Duration = Duration::from_millis(20);
/// For an answer.
const PATIENCE: Duration = Duration::from_secs(10);

/// What one has received so far. Its thread adds to it, so nothing is lost with that.
pub(crate) type Received = Arc<Mutex<Issued>>;

/// Asks a server for ids by many commands at once, until the end.
pub(crate) struct Client {
    pub(crate) port: u16,
    pub(crate) source: Source,
    /// Ids that are asked for at once.
    pub(crate) batch: usize,
    pub(crate) received: Received,
}

/// Ids, which stay if the connection breaks, and refusals.
#[derive(Default)]
struct Answers {
    ids: Vec<u64>,
    calls: u64,
    refusals: u64,
}

impl Client {
    pub(crate) fn run(&self, end: &AtomicBool) {
        while !end.load(Ordering::Relaxed) {
            // A server that is down or has broken off is asked again.
            if self.connected(end).is_err() {
                thread::sleep(PAUSE);
            }
        }
    }

    fn connected(&self, end: &AtomicBool) -> io::Result<()> {
        let mut stream = TcpStream::connect(("127.0.0.1", self.port))?;
        stream.set_read_timeout(Some(PATIENCE))?;
        let mut input = BufReader::new(stream.try_clone()?);
        let request = self.request();
        while !end.load(Ordering::Relaxed) {
            stream.write_all(&request)?;
            let mut answers = Answers::default();
            let answered = match self.source {
                Source::Multi => answers.of_transaction(&mut input, self.batch),
                Source::Http => answers.of_http(&mut input),
                _ => answers.of_commands(&mut input, self.batch),
            };
            self.keep(answers);
            answered?;
            thread::sleep(PAUSE);
        }
        Ok(())
    }

    fn request(&self) -> Vec<u8> {
        let incr = format!("INCR {NAMESPACE}\r\n").repeat(self.batch);
        let text = match self.source {
            Source::Multi => format!("MULTI\r\n{incr}EXEC\r\n"),
            Source::Http => format!(
                "GET /v1/ids?namespace={NAMESPACE}&count={}&format=int HTTP/1.1\r\nHost: 127.0.0.1:{}\r\n\r\n",
                self.batch, self.port
            ),
            _ => incr,
        };
        text.into_bytes()
    }

    fn keep(&self, mut answers: Answers) {
        let space = self.source.space();
        space.raw(&mut answers.ids);
        // Threads of the server have blocks of their own; what repeats stays twice.
        answers.ids.sort_unstable();
        let mut received = self.received.lock().unwrap_or_else(PoisonError::into_inner);
        let Entries {
            runs,
            calls,
            refusals,
            ..
        } = &mut received.entries;
        append(runs, space, &answers.ids);
        *calls += answers.calls;
        *refusals += answers.refusals;
    }
}

impl Answers {
    fn of_commands(&mut self, input: &mut impl BufRead, count: usize) -> io::Result<()> {
        for _ in 0..count {
            self.calls += 1;
            let answer = line(input)?;
            match answer.strip_prefix(':') {
                Some(id) => self.ids.push(id_of(id)?),
                None => self.refusals += 1,
            }
        }
        Ok(())
    }

    /// `OK`, `QUEUED` for each command, and an array of the answers.
    fn of_transaction(&mut self, input: &mut impl BufRead, count: usize) -> io::Result<()> {
        for _ in 0..=count {
            line(input)?;
        }
        let answer = line(input)?;
        let Some(answers) = answer.strip_prefix('*') else {
            self.calls += 1;
            self.refusals += 1;
            return Ok(());
        };
        self.of_commands(input, answers.parse().map_err(Error::other)?)
    }

    fn of_http(&mut self, input: &mut impl BufRead) -> io::Result<()> {
        self.calls += 1;
        let status = line(input)?;
        let mut length = 0;
        loop {
            let header = line(input)?.to_ascii_lowercase();
            if header.is_empty() {
                break;
            }
            if let Some(text) = header.strip_prefix("content-length:") {
                length = text.trim().parse().map_err(Error::other)?;
            }
        }
        let mut body = input.take(length);
        if !status.starts_with("HTTP/1.1 200") {
            self.refusals += 1;
            return io::copy(&mut body, &mut io::sink()).map(|_| ());
        }
        while body.limit() > 0 {
            self.ids.push(id_of(&line(&mut body)?)?);
        }
        Ok(())
    }
}

/// A whole line, without its end.
fn line(input: &mut impl BufRead) -> io::Result<String> {
    let mut line = Vec::new();
    input.read_until(b'\n', &mut line)?;
    let Some(text) = line.strip_suffix(b"\n") else {
        return Err(ErrorKind::UnexpectedEof.into());
    };
    String::from_utf8(text.trim_ascii().to_vec()).map_err(Error::other)
}

fn id_of(text: &str) -> io::Result<u64> {
    let id = text.parse::<i64>();
    id.map(i64::cast_unsigned).map_err(Error::other)
}
