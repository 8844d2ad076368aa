//! `/healthz` and `/readyz`, for those who start and stop servers and send them requests. They need no token.

use std::sync::Arc;

use axum::extract::State;
use axum::http::StatusCode;

use super::App;
use super::principal::Principal;
use super::problem::{Defect, Problem};
use super::query::Query;
use crate::failure::one_line;
use crate::serve::access::Scope;
use crate::serve::service::readiness::NotReady;

/// Whether the process answers.
pub(super) async fn alive() -> &'static str {
    "ok\n"
}

/// Whether this server should get requests, and why a namespace issues no ids; of one namespace by its name, whether it
/// issues ids. Which namespaces there are is said to their administrators alone.
pub(super) async fn ready(
    State(app): State<Arc<App>>,
    principal: Result<Principal, Problem>,
    query: Query,
) -> Result<(StatusCode, String), Problem> {
    let query = query.only(&["namespace"])?;
    let named = query.text("namespace");
    let mut lines = Vec::new();
    for space in app.service.spaces() {
        let Some(NotReady { cause, detail, .. }) = space.not_ready() else {
            continue;
        };
        let is_theirs =
            |principal: &Principal| principal.0.has(Scope::Admin) && principal.0.sees(space.name());
        let is_named = named.is_none_or(|named| named == space.name());
        match &principal {
            _ if !is_named => {}
            Ok(principal) if is_theirs(principal) => {
                lines.push(format!("{}: {}\n", space.name(), one_line(&detail)));
            }
            _ => lines.push(format!("a namespace: {cause}\n")),
        }
    }
    lines.dedup();
    if app.service.access.refuses_all() {
        // For anybody: nobody has a token to ask with.
        lines.push("no token is valid: every client is refused (--tokens)\n".to_owned());
    }
    if app.service.access.is_stale()
        && principal.is_ok_and(|principal| principal.0.has(Scope::Admin))
    {
        lines.push(
            "the file of tokens cannot be used: those of before count, also revoked ones\n"
                .to_owned(),
        );
    }
    let is_ready = match named {
        Some(named) => app.service.issues(named).ok_or_else(|| {
            let told = format!("no namespace {named:?} is served here");
            Problem::new(Defect::NotFound, told)
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
