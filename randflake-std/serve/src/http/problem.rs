//! Refusals as answers of HTTP: problem documents of RFC 9457.

use axum::http::header::{CACHE_CONTROL, CONTENT_TYPE, RETRY_AFTER, WWW_AUTHENTICATE};
use axum::http::{HeaderValue, StatusCode};
use axum::response::{IntoResponse, Response};
use serde::Serialize;

use crate::service::refusal::{Refusal, RefusalKind};
use randflake_common::date::whole_ms;
use randflake_common::failure::visible;

/// Problem document as it is written. `type` names what a program does about it; `detail` is one line for people.
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
        let status = StatusCode::from_u16(kind.http());
        let status = status.unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
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
