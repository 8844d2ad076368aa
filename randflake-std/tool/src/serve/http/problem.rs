//! Answers to requests that were refused: problem documents of RFC 9457.

use core::fmt::Display;

use axum::http::header::{CACHE_CONTROL, CONTENT_TYPE, RETRY_AFTER, WWW_AUTHENTICATE};
use axum::http::{HeaderValue, StatusCode};
use axum::response::{IntoResponse, Response};
use serde::Serialize;

use crate::output::visible;
use crate::serve::service::refusal::{Refusal, RefusalKind};

/// What HTTP itself refuses, beside the [`RefusalKind`]s of the service.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Defect {
    NotFound,
    MethodNotAllowed,
    NotAcceptable,
    TooSlow,
    TooLarge,
    UnsupportedMediaType,
}

impl Defect {
    const fn status(self) -> u16 {
        match self {
            Self::NotFound => 404,
            Self::MethodNotAllowed => 405,
            Self::NotAcceptable => 406,
            Self::TooSlow => 408,
            Self::TooLarge => 413,
            Self::UnsupportedMediaType => 415,
        }
    }

    const fn name(self) -> &'static str {
        match self {
            Self::NotFound => "not_found",
            Self::MethodNotAllowed => "method_not_allowed",
            Self::NotAcceptable => "not_acceptable",
            Self::TooSlow => "too_slow",
            Self::TooLarge => "too_large",
            Self::UnsupportedMediaType => "unsupported_media_type",
        }
    }
}

#[derive(Debug)]
pub(super) enum Problem {
    Http(Defect, String),
    Service(Refusal),
}

/// As it is written. `type` names what a program does about it; `detail` is one line for people.
#[derive(Serialize)]
struct ProblemDocument<'a> {
    r#type: String,
    title: String,
    status: u16,
    detail: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    retry_in_ms: Option<u64>,
}

impl Problem {
    pub(super) fn new(defect: Defect, detail: impl Display) -> Self {
        Self::Http(defect, detail.to_string())
    }

    pub(super) fn invalid(detail: impl Display) -> Self {
        Self::Service(Refusal::invalid(detail))
    }
}

impl From<Refusal> for Problem {
    fn from(refusal: Refusal) -> Self {
        Self::Service(refusal)
    }
}

impl IntoResponse for Problem {
    fn into_response(self) -> Response {
        let (status, name, detail, retry_in) = match &self {
            Self::Http(defect, detail) => (defect.status(), defect.name(), detail, None),
            Self::Service(refusal) => {
                let kind = refusal.kind;
                (kind.http(), kind.name(), &refusal.message, refusal.retry_in)
            }
        };
        let document = ProblemDocument {
            r#type: format!("urn:randflake:problem:{name}"),
            title: name.replace('_', " "),
            status,
            // It may have names of a client's document, as they stand there.
            detail: &visible(detail),
            retry_in_ms: retry_in.map(super::whole_ms),
        };
        // It has strings and numbers only.
        let body = serde_json::to_vec(&document).unwrap_or_default();
        let status = StatusCode::from_u16(status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
        let mut response = (status, body).into_response();
        let headers = response.headers_mut();
        let constant = HeaderValue::from_static;
        headers.insert(CONTENT_TYPE, constant("application/problem+json"));
        headers.insert(CACHE_CONTROL, constant("no-store"));
        if let Some(wait) = retry_in {
            let seconds = super::whole_ms(wait).div_ceil(1_000);
            headers.insert(RETRY_AFTER, HeaderValue::from(seconds));
        }
        if status == StatusCode::UNAUTHORIZED {
            let challenge = match self {
                Self::Service(Refusal {
                    kind: RefusalKind::WrongToken,
                    ..
                }) => r#"Bearer error="invalid_token""#,
                _ => "Bearer",
            };
            headers.insert(WWW_AUTHENTICATE, constant(challenge));
        }
        if let Self::Service(refusal) = self {
            // For who counts refusals.
            response.extensions_mut().insert(refusal.kind);
        }
        response
    }
}
