//! `/healthz` and `/readyz`, for those who start and stop servers and send them requests. They need no token.

use std::sync::Arc;

use axum::extract::State;
use axum::http::StatusCode;

use super::App;
use super::problem::Problem;
use super::who::Who;
use crate::failure::one_line;
use crate::serve::access::Scope;
use crate::serve::service::readiness::NotReady;

/// Whether the process answers.
pub(super) async fn alive() -> &'static str {
    "ok\n"
}

/// Whether every namespace issues ids, and if not, why. Which namespaces there are is said to their administrators alone.
pub(super) async fn ready(
    State(app): State<Arc<App>>,
    who: Result<Who, Problem>,
) -> (StatusCode, String) {
    let mut lines = Vec::new();
    for space in app.service.spaces() {
        let Some(NotReady { cause, detail }) = space.not_ready() else {
            continue;
        };
        let is_theirs = |who: &Who| who.0.has(Scope::Admin) && who.0.sees(space.name());
        lines.push(match &who {
            Ok(who) if is_theirs(who) => format!("{}: {}\n", space.name(), one_line(&detail)),
            _ => format!("a namespace: {cause}\n"),
        });
    }
    lines.dedup();
    if lines.is_empty() {
        (StatusCode::OK, "ready\n".to_owned())
    } else {
        let text = format!("not ready\n{}", lines.concat());
        (StatusCode::SERVICE_UNAVAILABLE, text)
    }
}
