//! Bodies of requests and answers: the memory that they hold, and limits for clients that stall.

use core::convert::Infallible;
use core::pin::Pin;
use core::sync::atomic::{AtomicU64, Ordering};
use core::task::{Context, Poll};
use core::time::Duration;
use std::io::{self, ErrorKind, IoSlice};
use std::sync::Arc;

use axum::body::{Body, Bytes, HttpBody as _, to_bytes};
use axum::extract::{DefaultBodyLimit, FromRequest, FromRequestParts, Request};
use axum::http::header::{CACHE_CONTROL, CONTENT_TYPE, RETRY_AFTER, WWW_AUTHENTICATE};
use axum::http::request::Parts;
use axum::http::{HeaderMap, HeaderValue, StatusCode};
use axum::response::{IntoResponse, Response};
use randflake_common::date::whole_ms;
use randflake_common::failure::visible;
use serde::Serialize;
use serde::de::DeserializeOwned;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::time::{Sleep, sleep, timeout};

use crate::budget::{Account, Permit};
use crate::listen::Stream;
use crate::refusal::{Refusal, RefusalKind};

/// Longest time in which a client receives nothing.
const SEND_PATIENCE: Duration = Duration::from_secs(10);

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
        // Any progress begins the time anew: a slow client is served, one that has stopped is not
        // waited for.
        if outcome.is_ready() {
            self.sending.stop();
            return outcome;
        }
        self.sending.wait(context, SEND_PATIENCE)
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

/// Longest answer that is paid for with the connection, in bytes: HTTP's own buffers hold it.
const SHORT: usize = 16 << 10;
/// Longest body of a request: four times that of a thousand leases.
pub(super) const MAX_LEN: usize = 1 << 20;
// A client that sends slowly on purpose holds the memory of its body no longer than this.
const BODY_PATIENCE: Duration = Duration::from_secs(10);
/// What a document takes, with what is read of it, for each byte of its text.
const PARSED: usize = 4;

/// The memory of a request and its answer: the budgets of the connection, if there is one.
#[derive(Clone)]
pub(super) struct BodyMemory(Option<Arc<Account>>);

/// Marks an answer that has its memory, or needs none.
#[derive(Clone)]
pub(super) struct Paid;

/// Bytes of an answer. Their permit is held until the last of them is sent.
struct PaidBytes {
    bytes: Vec<u8>,
    _permit: Arc<Permit>,
}

impl AsRef<[u8]> for PaidBytes {
    fn as_ref(&self) -> &[u8] {
        &self.bytes
    }
}

/// Bytes of an answer under a permit.
pub(super) fn paid(bytes: Vec<u8>, permit: Option<Arc<Permit>>) -> Bytes {
    match permit {
        Some(permit) => Bytes::from_owner(PaidBytes {
            bytes,
            _permit: permit,
        }),
        None => bytes.into(),
    }
}

impl BodyMemory {
    pub(super) fn of(request: &Request) -> Self {
        Self(request.extensions().get().cloned())
    }

    /// Waits a moment for so many bytes. `None` without a connection, as in tests of the routes.
    pub(super) async fn take(&self, bytes: usize) -> Result<Option<Permit>, Refusal> {
        match &self.0 {
            Some(account) => account.hold(bytes).await.map(Some),
            None => Ok(None),
        }
    }

    /// Keeps the memory of an answer until the last byte of it is sent.
    pub(super) async fn keep(&self, response: Response) -> Response {
        let len = response.body().size_hint().lower();
        let len = usize::try_from(len).unwrap_or(usize::MAX);
        if len <= SHORT || response.extensions().get::<Paid>().is_some() {
            return response;
        }
        let permit = match self.take(len).await {
            Ok(permit) => permit.map(Arc::new),
            Err(refusal) => return refusal.into_response(),
        };
        let (parts, body) = response.into_parts();
        // It is in memory, in one piece.
        let bytes = to_bytes(body, usize::MAX).await.unwrap_or_default();
        Response::from_parts(parts, Body::from(paid(bytes.into(), permit)))
    }
}

impl<S: Sync> FromRequestParts<S> for BodyMemory {
    type Rejection = Infallible;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, Infallible> {
        Ok(Self(parts.extensions.get().cloned()))
    }
}

/// A JSON document as the body of an answer.
pub(super) struct Json<T>(pub(super) T);

/// Reads a JSON document of a request of at most so many bytes. The memory is held as long as the
/// permit.
pub(super) async fn json<T: DeserializeOwned>(
    mut request: Request,
    most: usize,
) -> Result<(T, Option<Permit>), Refusal> {
    // A page of another site may send a form or plain text unasked, but asks (CORS) before it sends
    // JSON.
    if !is_json(request.headers()) {
        return Err(Refusal::new(
            RefusalKind::UnsupportedMediaType,
            "the body's Content-Type is not application/json, which alone is allowed",
        ));
    }
    // Also one that is only announced.
    let size = request.body().size_hint();
    if size.lower() > most as u64 {
        return Err(too_long(most));
    }
    let announced = size.upper().and_then(|len| usize::try_from(len).ok());
    let len = announced.unwrap_or(most).min(most);
    // Before a byte of it is read, for the longest that it may become.
    let permit = BodyMemory::of(&request).take(len * PARSED).await?;
    // A body whose length is not announced ends here, and not at the library's own limit.
    DefaultBodyLimit::max(most).apply(&mut request);
    let received = timeout(BODY_PATIENCE, Bytes::from_request(request, &())).await;
    let read = received.map_err(|_| {
        let message = format!("the body took over {} s", BODY_PATIENCE.as_secs());
        Refusal::new(RefusalKind::TooSlow, message)
    })?;
    let bytes = read.map_err(|error| {
        if error.status() == StatusCode::PAYLOAD_TOO_LARGE {
            too_long(most)
        } else {
            Refusal::invalid(format!("the body cannot be read: {}", error.body_text()))
        }
    })?;
    let wrong =
        |problem: &str| Refusal::invalid(format!("the body is not what is allowed: {problem}"));
    if !bytes.trim_ascii_start().starts_with(b"{") {
        // A list would be read as the members in order.
        return Err(wrong("an object, {...}"));
    }
    let read = serde_json::from_slice(&bytes).map_err(|error| wrong(&error.to_string()));
    Ok((read?, permit))
}

fn too_long(allowed: usize) -> Refusal {
    let message = format!("the body is too long: {allowed} bytes are allowed");
    Refusal::new(RefusalKind::TooLarge, message)
}

fn is_json(headers: &HeaderMap) -> bool {
    let kind = headers
        .get(CONTENT_TYPE)
        .and_then(|kind| kind.to_str().ok());
    let essence = kind.and_then(|kind| kind.split(';').next());
    essence.is_some_and(|kind| kind.trim().eq_ignore_ascii_case("application/json"))
}

impl<T: Serialize> IntoResponse for Json<T> {
    fn into_response(self) -> Response {
        // Its keys are strings, and its numbers are whole.
        let mut body = serde_json::to_vec(&self.0).unwrap_or_default();
        body.push(b'\n');
        ([(CONTENT_TYPE, "application/json")], body).into_response()
    }
}

/// Problem document as it is written. `type` names what a program does about it; `detail` is one
/// line for people.
#[derive(Serialize)]
struct ProblemDocument<'a> {
    r#type: String,
    title: String,
    status: u16,
    detail: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    retry_in_ms: Option<u64>,
}

impl IntoResponse for Refusal {
    fn into_response(self) -> Response {
        let (kind, retry_in) = (self.kind, self.retry_in);
        let document = ProblemDocument {
            r#type: format!("urn:randflake:problem:{}", kind.name()),
            title: kind.name().replace('_', " "),
            status: kind.http(),
            // It may have names of a client's document, as they stand there.
            detail: &visible(&self.message),
            retry_in_ms: retry_in.map(whole_ms),
        };
        // It has strings and numbers only.
        let body = serde_json::to_vec(&document).unwrap_or_default();
        let status = StatusCode::from_u16(kind.http()).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
        let mut response = (status, body).into_response();
        let headers = response.headers_mut();
        let constant = HeaderValue::from_static;
        headers.insert(CONTENT_TYPE, constant("application/problem+json"));
        headers.insert(CACHE_CONTROL, constant("no-store"));
        if let Some(wait) = retry_in {
            let seconds = whole_ms(wait).div_ceil(1_000);
            headers.insert(RETRY_AFTER, HeaderValue::from(seconds));
        }
        // RFC 6750: who has sent no token is not told that it was wrong.
        let challenge = match kind {
            RefusalKind::WrongToken => Some(r#"Bearer error="invalid_token""#),
            RefusalKind::Unauthenticated => Some("Bearer"),
            _ => None,
        };
        if let Some(challenge) = challenge {
            headers.insert(WWW_AUTHENTICATE, constant(challenge));
        }
        // For the counters and the log.
        response.extensions_mut().insert(kind);
        response
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use axum::body::{Body, HttpBody};
    use core::convert::Infallible;
    use core::pin::Pin;
    use core::sync::atomic::{AtomicUsize, Ordering};
    use core::task::{Context, Poll};
    use hyper::body::Frame;
    use std::sync::Arc;

    const FRAME: usize = 1 << 10;

    /// A body without an end, whose length is not announced; it counts what is taken of it.
    struct Endless(Arc<AtomicUsize>);

    impl HttpBody for Endless {
        type Data = Bytes;
        type Error = Infallible;

        fn poll_frame(
            self: Pin<&mut Self>,
            _: &mut Context<'_>,
        ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
            self.0.fetch_add(FRAME, Ordering::Relaxed);
            Poll::Ready(Some(Ok(Frame::data(Bytes::from_static(&[b' '; FRAME])))))
        }
    }

    #[tokio::test]
    async fn no_more_is_read_than_memory_was_taken_for() {
        const MOST: usize = 80 << 10;
        let taken = Arc::default();
        let request = Request::post("/")
            .header(CONTENT_TYPE, "application/json")
            .body(Body::new(Endless(Arc::clone(&taken))))
            .unwrap();
        let refusal = json::<serde_json::Value>(request, MOST).await.err();
        assert_eq!(refusal.unwrap().kind, RefusalKind::TooLarge);
        assert!(taken.load(Ordering::Relaxed) <= MOST + FRAME);
    }
}
