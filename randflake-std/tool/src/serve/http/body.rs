//! Bodies in JSON: of requests, within limits of length and time, and of answers.

use core::time::Duration;

use axum::body::{Bytes, HttpBody as _};
use axum::extract::{FromRequest, Request};
use axum::http::header::CONTENT_TYPE;
use axum::http::{HeaderMap, StatusCode};
use axum::response::{IntoResponse, Response};
use serde::Serialize;
use serde::de::DeserializeOwned;
use tokio::time::timeout;

use super::held::BodyMemory;
use crate::serve::memory::Share;
use crate::serve::service::refusal::{Refusal, RefusalKind};

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
    request: Request,
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
    if bytes.len() > most {
        return Err(too_long(most));
    }
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
