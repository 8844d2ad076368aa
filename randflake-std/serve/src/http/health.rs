//! `/healthz` and `/readyz`, for those who start and stop servers and send them requests. They need no token.

use std::sync::Arc;

use axum::extract::{Request, State};
use axum::http::StatusCode;

use super::App;
use super::request::{Parameters, identify};
use crate::access::Scope;
use crate::service::readiness::NotReady;
use crate::service::refusal::{Refusal, RefusalKind};
use randflake_common::failure::one_line;

/// Whether the process answers.
pub(super) async fn alive() -> &'static str {
    "ok\n"
}

/// Whether this server should get requests, and why a namespace issues no ids; of one namespace by its name, whether it
/// issues ids. Which namespaces there are is said to their administrators alone.
pub(super) async fn ready(
    State(app): State<Arc<App>>,
    request: Request,
) -> Result<(StatusCode, String), Refusal> {
    let (parts, _) = request.into_parts();
    let principal = identify(&parts, &app).ok();
    let admin = principal.filter(|principal| principal.has(Scope::Admin));
    let query = Parameters::read(&parts)?;
    query.only(&["namespace"])?;
    let named = query.text("namespace");
    let mut lines = Vec::new();
    let spaces = app.service.spaces();
    for space in spaces.filter(|space| named.is_none_or(|named| named == space.name())) {
        let Some(NotReady { cause, detail, .. }) = space.not_ready() else {
            continue;
        };
        let is_theirs = admin.as_ref().is_some_and(|admin| admin.sees(space.name()));
        lines.push(if is_theirs {
            format!("{}: {}\n", space.name(), one_line(&detail))
        } else {
            format!("a namespace: {cause}\n")
        });
    }
    // Without names, equal lines would tell anybody how many namespaces there are.
    lines.dedup();
    let access = &app.service.access;
    if access.refuses_all() {
        // For anybody: nobody has a token to ask with.
        lines.push("no token is valid: every client is refused (--tokens)\n".to_owned());
    }
    if access.is_stale() && admin.is_some() {
        let line = "the file of tokens cannot be used: those of before count, also revoked ones\n";
        lines.push(line.to_owned());
    }
    let is_ready = match named {
        Some(named) => app.service.issues(named).ok_or_else(|| {
            let message = format!("no namespace {named:?} is served here");
            Refusal::new(RefusalKind::NotFound, message)
        })?,
        None => app.service.is_ready(),
    };
    let (status, word) = if is_ready {
        (StatusCode::OK, "ready")
    } else {
        (StatusCode::SERVICE_UNAVAILABLE, "not ready")
    };
    Ok((status, format!("{word}\n{}", lines.concat())))
}
