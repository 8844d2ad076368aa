//! A connection that fails if its client stops receiving: otherwise it would hold a place, and an answer in memory.

use core::pin::Pin;
use core::task::{Context, Poll};
use core::time::Duration;
use std::io::{self, ErrorKind, IoSlice};

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::time::{Sleep, sleep};

use crate::serve::listen::Stream;

/// Longest time in which a client receives nothing.
const PATIENCE: Duration = Duration::from_secs(10);

pub(super) struct StallLimit {
    stream: Stream,
    /// Runs while something waits to be taken.
    limit: Option<Pin<Box<Sleep>>>,
}

impl StallLimit {
    pub(super) fn new(stream: Stream) -> Self {
        Self {
            stream,
            limit: None,
        }
    }

    fn within<T>(
        &mut self,
        context: &mut Context<'_>,
        outcome: Poll<io::Result<T>>,
    ) -> Poll<io::Result<T>> {
        // Any progress begins the time anew: a slow client is served, one that has stopped is not waited for.
        if outcome.is_ready() {
            self.limit = None;
            return outcome;
        }
        // Begun only now: a timer for each write would cost every answer, and most are taken at
        // once.
        let limit = self.limit.get_or_insert_with(|| Box::pin(sleep(PATIENCE)));
        let over = limit.as_mut().poll(context);
        over.map(|()| Err(ErrorKind::TimedOut.into()))
    }
}

impl AsyncRead for StallLimit {
    fn poll_read(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        // hyper limits how long it waits for a head, and the body has a limit of its own.
        Pin::new(&mut self.get_mut().stream).poll_read(context, buffer)
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
