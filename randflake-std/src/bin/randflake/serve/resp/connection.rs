//! A connection: reads what is there, answers all of it with one write, and waits no longer than is good.

use core::time::Duration;
use std::io;

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::time::{Instant, timeout, timeout_at};

use super::parse::Parser;
use super::reply::Replies;
use super::session::{Session, Words};
use crate::serve::listen::{Stopping, Stream, stopped};
use crate::serve::service::refusal::Kind;

/// How long a command may take to come in, and a reply to be taken.
const TRANSFER: Duration = Duration::from_secs(30);
/// How long a client may take to say who it is.
const GREETING: Duration = Duration::from_secs(10);
/// Once the server is to stop: how long it waits for what is on its way, and how much of it it answers: more than a socket
/// keeps, so that a client that never ends is not waited for.
const ON_ITS_WAY: Duration = Duration::from_millis(20);
const LAST_BYTES: usize = 16 << 20;
/// How long it waits for the client to close: a socket that is closed with something unread takes back the replies.
const LINGER: Duration = Duration::from_secs(1);

/// What is read at once by a client that sends little; it grows to the largest for one that sends much.
const LEAST_READ: usize = 4 << 10;
const MOST_READ: usize = 64 << 10;
/// What is answered before it is sent.
const SENT_AT: usize = 64 << 10;

pub(super) struct Connection {
    stream: Stream,
    session: Session,
    idle: Duration,
    parser: Parser,
    input: Vec<u8>,
    replies: Replies,
    /// When the command that is half there, or the first token, must be complete.
    limit: Option<Instant>,
    read: usize,
}

impl Connection {
    pub(super) fn new(stream: Stream, session: Session, idle: Duration) -> Self {
        let is_known = session.is_known();
        Self {
            stream,
            session,
            idle,
            parser: Parser::default(),
            input: Vec::new(),
            replies: Replies::default(),
            limit: (!is_known).then(|| Instant::now() + GREETING),
            read: LEAST_READ,
        }
    }

    pub(super) async fn run(mut self, mut stopping: Stopping) -> io::Result<()> {
        loop {
            let limit = self.limit.unwrap_or_else(|| Instant::now() + self.idle);
            tokio::select! {
                received = timeout_at(limit, receive(&mut self.stream, &mut self.input, &mut self.read)) => {
                    if received?? == 0 {
                        return Ok(());
                    }
                }
                () = stopped(&mut stopping) => break,
            }
            self.answer().await?;
            if self.session.is_over {
                return self.close().await;
            }
        }
        self.finish().await
    }

    /// Answers what was received before the server was to stop, and what is on its way.
    async fn finish(mut self) -> io::Result<()> {
        let mut left = LAST_BYTES;
        while left > 0 && !self.session.is_over {
            let receiving = receive(&mut self.stream, &mut self.input, &mut self.read);
            let received = timeout(ON_ITS_WAY, receiving).await.unwrap_or(Ok(0));
            match received? {
                0 => break,
                received => left = left.saturating_sub(received),
            }
            self.answer().await?;
        }
        self.close().await
    }

    /// Ends so that the client gets every reply.
    async fn close(mut self) -> io::Result<()> {
        timeout(TRANSFER, self.stream.shutdown()).await??;
        let end = Instant::now() + LINGER;
        while Instant::now() < end {
            self.input.clear();
            let receiving = receive(&mut self.stream, &mut self.input, &mut self.read);
            if timeout_at(end, receiving).await?? == 0 {
                break;
            }
        }
        Ok(())
    }

    /// Answers all whole commands that were received.
    async fn answer(&mut self) -> io::Result<()> {
        let started = Instant::now();
        self.session.begin_batch();
        let mut begin = 0;
        while !self.session.is_over {
            let rest = &self.input[begin..];
            let length = match self.parser.command(rest, self.session.limits()) {
                Ok(Some(length)) => length,
                Ok(None) => break,
                Err(violation) => {
                    self.session.service.counters.refused(Kind::Invalid);
                    self.replies.error("ERR", &violation.to_string());
                    self.session.is_over = true;
                    break;
                }
            };
            let words = Words::new(rest, self.parser.words());
            if is_of_http(words) {
                // A browser that was led here: what follows would be taken for commands.
                self.session.is_over = true;
                break;
            }
            if words.len() > 0 {
                self.session.answer(words, &mut self.replies).await;
            }
            begin += length;
            if self.replies.bytes().len() >= SENT_AT {
                send(&mut self.stream, &mut self.replies).await?;
            }
        }
        self.session.end_batch();
        if begin > 0 {
            let answers = &self.session.service.counters.resp_answers;
            answers.times.add(started.elapsed());
        }
        self.keep(begin);
        send(&mut self.stream, &mut self.replies).await
    }

    /// Keeps what is not answered yet.
    fn keep(&mut self, answered: usize) {
        if answered == self.input.len() {
            self.input.clear();
            self.input.shrink_to(MOST_READ);
        } else {
            self.input.drain(..answered);
        }
        let is_whole = self.input.is_empty();
        self.limit = match self.limit {
            // A client that is greeted may be idle.
            _ if is_whole && self.session.is_known() => None,
            Some(limit) if answered == 0 || !self.session.is_known() => Some(limit),
            _ => Some(Instant::now() + TRANSFER),
        };
    }
}

/// Reads what is there, and waits if that is nothing.
async fn receive(stream: &mut Stream, input: &mut Vec<u8>, most: &mut usize) -> io::Result<usize> {
    input.reserve(*most);
    let received = stream.read_buf(input).await?;
    if received >= *most {
        *most = (2 * *most).min(MOST_READ);
    }
    Ok(received)
}

async fn send(stream: &mut Stream, replies: &mut Replies) -> io::Result<()> {
    if !replies.bytes().is_empty() {
        timeout(TRANSFER, stream.write_all(replies.bytes())).await??;
        stream.flush().await?;
        replies.clear();
    }
    Ok(())
}

/// Whether it is a line of a request of HTTP, as Redis asks.
fn is_of_http(words: Words<'_>) -> bool {
    let first = words.get(0).unwrap_or_default();
    first.eq_ignore_ascii_case(b"POST") || first.eq_ignore_ascii_case(b"Host:")
}
