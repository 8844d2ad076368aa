//! A connection that fails if its client stops receiving, is slow with the head of a request, or
//! asks nothing for long: otherwise it would hold a place, and an answer in memory.

use core::pin::Pin;
use core::sync::atomic::{AtomicU64, Ordering};
use core::task::{Context, Poll};
use core::time::Duration;
use std::io::{self, ErrorKind, IoSlice};
use std::sync::Arc;

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::time::{Sleep, sleep};

use crate::budget::Account;
use crate::listen::Stream;

/// Longest time in which a client receives nothing.
const PATIENCE: Duration = Duration::from_secs(10);

/// How long the head of a request may take: half a head (slowloris) holds its place no longer. A
/// client that has sent no token waits no longer with a request either.
const HEAD: Duration = Duration::from_secs(10);

/// A connection with its time limits.
pub(super) struct StallLimit {
    stream: Stream,
    /// Runs while something waits to be taken.
    sending: Timer,
    /// Runs while a head is waited for.
    receiving: Timer,
    idle: Arc<IdleLimit>,
    /// The turn of `idle` in which the last bytes were received.
    turn: u64,
    /// Whether a byte of the next head was received.
    has_begun: bool,
}

/// How long a connection may be idle, and whether it is. The stream asks, the service answers.
pub(super) struct IdleLimit {
    /// Of a client with a token, or of anybody where none is needed.
    known: Duration,
    account: Arc<Account>,
    /// Odd while a request is answered: both its beginning and its end count.
    turn: AtomicU64,
}

/// A time limit. It is begun by the first wait, not by each try: a timer for each would cost every
/// answer, and most are done at once.
#[derive(Default)]
struct Timer(Option<Pin<Box<Sleep>>>);

impl IdleLimit {
    pub(super) fn new(known: Duration, account: Arc<Account>) -> Self {
        Self {
            known,
            account,
            turn: AtomicU64::new(0),
        }
    }

    pub(super) fn account(&self) -> &Arc<Account> {
        &self.account
    }

    /// How long the next request is waited for.
    pub(super) fn time(&self) -> Duration {
        if self.account.is_known() {
            self.known
        } else {
            HEAD.min(self.known)
        }
    }

    /// Called when a request is handed to the service, and when it is answered.
    pub(super) fn next_turn(&self) {
        // Relaxed: stream and service are polled by one task.
        self.turn.fetch_add(1, Ordering::Relaxed);
    }
}

impl Timer {
    /// Fails once the time is over.
    fn wait<T>(&mut self, context: &mut Context<'_>, time: Duration) -> Poll<io::Result<T>> {
        let limit = self.0.get_or_insert_with(|| Box::pin(sleep(time)));
        let over = limit.as_mut().poll(context);
        over.map(|()| Err(ErrorKind::TimedOut.into()))
    }

    fn stop(&mut self) {
        self.0 = None;
    }
}

impl StallLimit {
    pub(super) fn new(stream: Stream, idle: Arc<IdleLimit>) -> Self {
        Self {
            stream,
            sending: Timer::default(),
            receiving: Timer::default(),
            idle,
            turn: 0,
            has_begun: false,
        }
    }

    /// The connection without its limits.
    pub(super) fn into_stream(self) -> Stream {
        self.stream
    }

    fn within<T>(
        &mut self,
        context: &mut Context<'_>,
        outcome: Poll<io::Result<T>>,
    ) -> Poll<io::Result<T>> {
        // Any progress begins the time anew: a slow client is served, one that has stopped is not waited for.
        if outcome.is_ready() {
            self.sending.stop();
            return outcome;
        }
        self.sending.wait(context, PATIENCE)
    }
}

impl AsyncRead for StallLimit {
    fn poll_read(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let this = self.get_mut();
        let outcome = Pin::new(&mut this.stream).poll_read(context, buffer);
        let turn = this.idle.turn.load(Ordering::Relaxed);
        if turn != this.turn {
            this.turn = turn;
            this.has_begun = false;
            this.receiving.stop();
        }
        if turn % 2 == 1 {
            // A body, which has a limit of its own.
            return outcome;
        }
        if outcome.is_ready() {
            if !this.has_begun {
                // From here on its own time runs, which no further byte begins anew.
                this.has_begun = true;
                this.receiving.stop();
            }
            return outcome;
        }
        // The beginning of a head that came together with the request before is not seen, and so
        // has the longer time of an idle connection: it holds no more than one.
        let time = if this.has_begun {
            HEAD
        } else {
            this.idle.time()
        };
        this.receiving.wait(context, time)
    }
}

impl AsyncWrite for StallLimit {
    fn poll_write(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        let this = self.get_mut();
        let outcome = Pin::new(&mut this.stream).poll_write(context, bytes);
        this.within(context, outcome)
    }

    fn poll_write_vectored(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let this = self.get_mut();
        let outcome = Pin::new(&mut this.stream).poll_write_vectored(context, bytes);
        this.within(context, outcome)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    fn poll_flush(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        let this = self.get_mut();
        let outcome = Pin::new(&mut this.stream).poll_flush(context);
        this.within(context, outcome)
    }

    fn poll_shutdown(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        let this = self.get_mut();
        let outcome = Pin::new(&mut this.stream).poll_shutdown(context);
        this.within(context, outcome)
    }
}
