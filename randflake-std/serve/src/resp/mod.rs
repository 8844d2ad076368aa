//! The Redis protocol, RESP2 and RESP3: any language's Redis client is a client.
//!
//! A connection reads what is there, answers all of it with one write, and waits no longer than is
//! good. Each module uses those before it: `parse` and `reply` know the protocol, `session` has a
//! client's state and transaction, `general`, `ids` and `leases` execute commands, and `dispatch`
//! has their table.

mod dispatch;
mod general;
mod ids;
mod leases;
mod parse;
mod reply;
mod session;

use core::time::Duration;
use std::io;
use std::sync::Arc;

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::time::{Instant, timeout, timeout_at};

use self::parse::Parser;
use self::reply::Replies;
use self::session::{CommandArgs, RespSession};
use crate::access::Access;
use crate::budget::{Account, Permit};
use crate::counters::Connections;
use crate::listen::{Protocol, Stopping, Stream, stopped};
use crate::refusal::{Refusal, RefusalKind};
use crate::service::Service;

/// RESP on the connections of a listener.
#[derive(Clone)]
pub(crate) struct Resp {
    service: Arc<Service>,
    idle: Duration,
}

impl Resp {
    pub(crate) fn new(service: Arc<Service>, idle: Duration) -> Self {
        Self { service, idle }
    }
}

impl Protocol for Resp {
    const COST: usize = COST;

    fn connections(&self) -> &Connections {
        &self.service.counters.resp
    }

    fn access(&self) -> &Access {
        &self.service.access
    }

    async fn speak(self, stream: Stream, account: Arc<Account>, stopping: Stopping) {
        // Counted, it would tell a client how many others there were. Every client can read 53
        // bits.
        let number = getrandom::u64().map_or(0, |random| random >> 11);
        let spoken = match RespSession::new(self.service, number, account) {
            Ok(session) => {
                let connection = RespConnection::new(stream, session, self.idle);
                connection.run(stopping).await
            }
            Err(refusal) => refuse(stream, &refusal).await,
        };
        // A client that has gone wants no answer.
        drop(spoken);
    }
}

/// How long a command may take to come in, and a reply to be taken: 1 MiB in this time is 35 kB/s,
/// less than any line has that a service uses. A client that is slower on purpose holds its memory
/// no longer.
const TRANSFER: Duration = Duration::from_secs(30);
/// How long a client may take to say who it is. It is not begun anew by commands without a token,
/// which could go on for ever.
const GREETING: Duration = Duration::from_secs(10);
/// Once the server is to stop: how long it waits for what is on its way, and how much of it it
/// answers: more than a socket keeps, so that a client that never ends is not waited for.
const ON_ITS_WAY: Duration = Duration::from_millis(20);
const LAST_BYTES: usize = 16 << 20;
/// How long it waits for the client to close: a socket that is closed with something unread takes
/// back the replies.
const LINGER: Duration = Duration::from_secs(1);

/// What is read at once of a client that sends little, and answered before it is sent. Both grow to
/// the largest for one that sends much, if there is memory for it.
const LEAST_READ: usize = 4 << 10;
const MOST_READ: usize = 64 << 10;
/// What a connection needs that sends little: buffers for both directions, and its state.
const COST: usize = 3 * LEAST_READ;
/// How long a client keeps larger buffers while it asks for nothing.
const BUFFERS_KEPT: Duration = Duration::from_millis(100);

struct RespConnection {
    stream: Stream,
    session: RespSession,
    idle: Duration,
    parser: Parser,
    input: Vec<u8>,
    /// When the command that is half there, or the first token, must be complete.
    limit: Option<Instant>,
    read: usize,
    /// Memory of buffers that are longer than usual; `None` until there is a token.
    long_buffers: Option<Permit>,
}

impl RespConnection {
    fn new(stream: Stream, session: RespSession, idle: Duration) -> Self {
        let is_known = session.is_known();
        Self {
            stream,
            session,
            idle,
            parser: Parser::default(),
            input: Vec::new(),
            limit: (!is_known).then(|| Instant::now() + GREETING),
            read: LEAST_READ,
            long_buffers: None,
        }
    }

    async fn run(mut self, mut stopping: Stopping) -> io::Result<()> {
        loop {
            let limit = self.limit.unwrap_or_else(|| Instant::now() + self.idle);
            let mut until = limit;
            if self.long_buffers.is_some() && self.input.is_empty() {
                until = limit.min(Instant::now() + BUFFERS_KEPT);
            }
            // Memory before bytes: what is not read stays in the socket, where the kernel makes the
            // client wait.
            if let Err(refusal) = self.make_room(limit).await {
                self.session.service.counters.refused(refusal.kind);
                self.session.out.refusal(&refusal);
                send(
                    &mut self.stream,
                    &mut self.session.out,
                    Instant::now() + TRANSFER,
                )
                .await?;
                return self.close().await;
            }
            // Both may be cancelled here: a read takes bytes and returns, or has taken none.
            let received = tokio::select! {
                received = timeout_at(until, receive(&mut self.stream, &mut self.input, &mut self.read)) => received,
                () = stopped(&mut stopping) => break,
            };
            match received {
                Ok(received) => {
                    // The client sends no more, and all whole commands that it has sent are
                    // answered.
                    if received? == 0 {
                        return Ok(());
                    }
                }
                Err(_) if until < limit => {
                    self.free_buffers();
                    continue;
                }
                Err(late) => return Err(late.into()),
            }
            self.answer().await?;
            if self.session.is_over {
                return self.close().await;
            }
        }
        self.finish().await
    }

    /// Takes the memory of what is read next, and of as much that is answered to it. A client that
    /// sends little needs none; one that sends many commands gets smaller buffers if there is none;
    /// one in the midst of a long command waits.
    async fn make_room(&mut self, limit: Instant) -> Result<(), Refusal> {
        let needed = |input: usize, read: usize| match input + read {
            // Paid for with the connection: `COST` has as much for each direction.
            0..=LEAST_READ => 0,
            more => 2 * more,
        };
        let begun = self.input.len();
        let bytes = needed(begun, self.read);
        // Input and replies together: 64 KiB of commands are answered by about as much.
        let held = self.long_buffers.as_ref().map_or(0, Permit::bytes);
        if bytes <= held {
            return Ok(());
        }
        if self.long_buffers.is_none() {
            self.long_buffers = self.session.account.long_permit();
        }
        let Some(share) = &mut self.long_buffers else {
            // Without a token no command is as long.
            self.read = LEAST_READ;
            return Ok(());
        };
        if share.try_grow(bytes).is_ok() {
            return Ok(());
        }
        // Until there is memory nobody looks whether the client has gone: one that has only ended
        // its own direction still wants its answers.
        self.read = LEAST_READ;
        share.grow(needed(begun, self.read), limit).await
    }

    /// Gives back what a client needs no more that asks for nothing.
    fn free_buffers(&mut self) {
        self.input = Vec::new();
        self.session.out.free();
        self.read = LEAST_READ;
        self.long_buffers = None;
    }

    /// Answers what was received before the server was to stop, and what is on its way: a client
    /// that has sent a command may not know whether it was executed if the connection just ends.
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
                    // Answered once, then closed: behind a broken length nobody knows where a
                    // command begins.
                    self.session.service.counters.refused(RefusalKind::Invalid);
                    self.session.out.error("ERR", &violation.to_string());
                    self.session.is_over = true;
                    break;
                }
            };
            let words = CommandArgs::new(rest, self.parser.words());
            // Before it is answered: a page may send a POST whose body holds commands
            // (cross-protocol scripting).
            if is_of_http(words) {
                self.session.is_over = true;
                break;
            }
            if words.len() > 0 {
                self.session.answer(words).await;
                // A line of another protocol: commands may be in what follows. Programs send
                // arrays, people know the commands.
                let is_foreign = self.parser.is_line() && !dispatch::is_known(words);
                self.session.is_over |= is_foreign;
            }
            begin += length;
            self.send_if_long().await?;
            if let Some(transaction) = self.session.executing.take() {
                // The reply is an array whose length is written: each command is answered, also
                // after a refusal.
                for words in transaction.commands() {
                    self.session.answer(words).await;
                    self.send_if_long().await?;
                }
            }
        }
        self.session.end_batch();
        // A read that completed no command is none to count.
        if begin > 0 {
            let answers = &self.session.service.counters.resp_answers;
            answers.times.add(started.elapsed());
        }
        self.keep(begin);
        send(
            &mut self.stream,
            &mut self.session.out,
            Instant::now() + TRANSFER,
        )
        .await
    }

    /// Sends replies that take more memory than a connection has of its own.
    async fn send_if_long(&mut self) -> io::Result<()> {
        // For all chunks: a client that is slow on purpose holds its memory no longer.
        let mut until = None;
        loop {
            let is_more = self.session.write_ids();
            let is_long = self.session.out.bytes().len() >= self.read;
            if is_more || is_long || self.session.long_reply.is_some() {
                let until = *until.get_or_insert_with(|| Instant::now() + TRANSFER);
                send(&mut self.stream, &mut self.session.out, until).await?;
            }
            if !is_more {
                self.session.long_reply = None;
                return Ok(());
            }
        }
    }

    /// Keeps what is not answered yet.
    fn keep(&mut self, answered: usize) {
        if answered == self.input.len() {
            // A long command's buffer would be kept for as long as the connection lives.
            self.input.clear();
            self.input.shrink_to(self.read);
            if let Some(share) = &mut self.long_buffers {
                share.shrink(2 * self.read);
            }
        } else {
            self.input.drain(..answered);
        }
        let is_whole = self.input.is_empty();
        self.limit = match self.limit {
            // A client that is greeted may be idle.
            _ if is_whole && self.session.is_known() => None,
            // While no command becomes whole the time runs on, or a byte now and then would renew
            // it for ever.
            Some(limit) if answered == 0 || !self.session.is_known() => Some(limit),
            _ => Some(Instant::now() + TRANSFER),
        };
    }
}

/// Reads what is there, and waits if that is nothing.
async fn receive(stream: &mut Stream, input: &mut Vec<u8>, most: &mut usize) -> io::Result<usize> {
    // Not more than there is memory for.
    input.reserve_exact(*most);
    let received = stream.read_buf(input).await?;
    // The buffer was filled, so there is probably more: a client in a hurry needs fewer reads.
    if received >= *most {
        *most = (2 * *most).min(MOST_READ);
    }
    Ok(received)
}

/// Says that there are too many connections, in the words that clients of Redis know.
async fn refuse(mut stream: Stream, refusal: &Refusal) -> io::Result<()> {
    let mut replies = Replies::default();
    replies.error("ERR", &refusal.message);
    send(&mut stream, &mut replies, Instant::now() + TRANSFER).await?;
    timeout(TRANSFER, stream.shutdown()).await?
}

async fn send(stream: &mut Stream, replies: &mut Replies, until: Instant) -> io::Result<()> {
    if !replies.bytes().is_empty() {
        timeout_at(until, stream.write_all(replies.bytes())).await??;
        // With TLS, what was written may still be in the library's buffer.
        stream.flush().await?;
        replies.clear();
    }
    Ok(())
}

/// Whether it is a line of a request of HTTP, as Redis asks.
fn is_of_http(words: CommandArgs<'_>) -> bool {
    let first = words.get(0).unwrap_or_default();
    first.eq_ignore_ascii_case(b"POST") || first.eq_ignore_ascii_case(b"Host:")
}
