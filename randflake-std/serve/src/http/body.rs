//! Bodies in JSON: of requests, within limits of length and time, and of answers.

use core::time::Duration;

use axum::body::{Bytes, HttpBody as _};
use axum::extract::{DefaultBodyLimit, FromRequest, Request};
use axum::http::header::CONTENT_TYPE;
use axum::http::{HeaderMap, StatusCode};
use axum::response::{IntoResponse, Response};
use serde::Serialize;
use serde::de::DeserializeOwned;
use tokio::time::timeout;

use super::held::BodyMemory;
use crate::memory::Share;
use crate::service::refusal::{Refusal, RefusalKind};

/// Longest body of a request: four times that of a thousand leases.
pub(super) const MAX_LEN: usize = 1 << 20;
// A client that sends slowly on purpose holds the memory of its body no longer than this.
const PATIENCE: Duration = Duration::from_secs(10);
/// What a document takes, with what is read of it, for each byte of its text.
const PARSED: usize = 4;

/// A JSON document as the body of an answer.
pub(super) struct Json<T>(pub(super) T);

/// Reads a JSON document of a request of at most so many bytes. The memory is held as long as the share.
pub(super) async fn json<T: DeserializeOwned>(
    mut request: Request,
    most: usize,
) -> Result<(T, Option<Share>), Refusal> {
    // A page of another site may send a form or plain text unasked, but asks (CORS) before it sends JSON.
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
    let len = size.upper().and_then(|len| usize::try_from(len).ok());
    let len = len.unwrap_or(most).min(most);
    // Before a byte of it is read, for the longest that it may become.
    let share = BodyMemory::of(&request).take(len * PARSED).await?;
    // A body whose length is not announced ends here, and not at the library's own limit.
    DefaultBodyLimit::max(most).apply(&mut request);
    let read = timeout(PATIENCE, Bytes::from_request(request, &())).await;
    let read = read.map_err(|_| {
        let message = format!("the body took over {} s", PATIENCE.as_secs());
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
    Ok((read?, share))
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

#[cfg(test)]
mod tests {
    use core::convert::Infallible;
    use core::pin::Pin;
    use core::sync::atomic::{AtomicUsize, Ordering};
    use core::task::{Context, Poll};
    use std::sync::Arc;

    use axum::body::{Body, HttpBody};
    use hyper::body::Frame;

    use super::*;

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
        let request = Request::post("/").header(CONTENT_TYPE, "application/json");
        let request = request
            .body(Body::new(Endless(Arc::clone(&taken))))
            .unwrap();
        let refusal = json::<serde_json::Value>(request, MOST).await.err();
        assert_eq!(refusal.unwrap().kind, RefusalKind::TooLarge);
        assert!(taken.load(Ordering::Relaxed) <= MOST + FRAME);
    }
}
