//! A limit on what a server may answer to one request.

use core::pin::Pin;
use core::task::{Context, Poll, ready};
use std::io;

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

use randflake_lease::unstable::net::{LARGEST_REPLY, too_long};

/// A connection that fails once the server has sent more than [`LARGEST_REPLY`] since the last request.
pub(crate) struct BoundedStream {
    inner: Box<dyn Socket>,
    /// Bytes that may still be read before the next request.
    left: usize,
}

/// A socket of any kind.
trait Socket: AsyncRead + AsyncWrite + Unpin + Send {}

impl<S: AsyncRead + AsyncWrite + Unpin + Send> Socket for S {}

impl BoundedStream {
    pub(crate) fn new(inner: impl AsyncRead + AsyncWrite + Unpin + Send + 'static) -> Self {
        Self {
            inner: Box::new(inner),
            left: LARGEST_REPLY,
        }
    }
}

impl AsyncRead for BoundedStream {
    fn poll_read(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let this = self.get_mut();
        let before = buffer.filled().len();
        ready!(Pin::new(&mut this.inner).poll_read(context, buffer))?;
        let read = buffer.filled().len() - before;
        match this.left.checked_sub(read) {
            Some(left) => this.left = left,
            None => return Poll::Ready(Err(too_long())),
        }
        Poll::Ready(Ok(()))
    }
}

impl AsyncWrite for BoundedStream {
    fn poll_write(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        let this = self.get_mut();
        this.left = LARGEST_REPLY;
        Pin::new(&mut this.inner).poll_write(context, bytes)
    }

    fn poll_flush(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.get_mut().inner).poll_flush(context)
    }

    fn poll_shutdown(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.get_mut().inner).poll_shutdown(context)
    }
}
