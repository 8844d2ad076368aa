//! `/healthz` and `/readyz`, for those who start and stop servers and send them requests. They need no token.

use std::sync::Arc;

use axum::extract::State;
use axum::http::StatusCode;

use super::App;

/// Whether the process answers.
pub(super) async fn alive() -> &'static str {
    "ok\n"
}

/// Whether every namespace issues ids. Which ones there are is not said.
pub(super) async fn ready(State(app): State<Arc<App>>) -> (StatusCode, &'static str) {
    if app.service.is_ready() {
        (StatusCode::OK, "ready\n")
    } else {
        (StatusCode::SERVICE_UNAVAILABLE, "not ready\n")
    }
}
