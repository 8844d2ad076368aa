//! `GET /v1/explain`: who held an id's node id when it was made.

use std::sync::Arc;

use axum::extract::State;
use axum::response::{IntoResponse as _, Response};
use randflake_std::lease::{self, LeaseStore};
use serde::Serialize;

use super::App;
use super::body::Json;
use super::inspect::{ONE, read_one};
use super::principal::Principal;
use super::problem::Problem;
use super::query::Query;
use crate::command::explain::ExplainRow;
use crate::serve::access::{Scope, Weight};

#[derive(Serialize)]
struct ExplainAnswer {
    namespace: String,
    #[serde(flatten)]
    row: ExplainRow,
    /// Records of this node id's history that are missing or were changed, as far as the search has met them.
    gaps: Vec<GapDocument>,
}

#[derive(Serialize)]
struct GapDocument {
    fencing_token: u64,
    is_changed: bool,
}

impl GapDocument {
    fn of(gap: &lease::Gap) -> Self {
        Self {
            fencing_token: gap.fencing_token,
            is_changed: gap.is_changed,
        }
    }
}

pub(super) async fn explain(
    State(app): State<Arc<App>>,
    principal: Principal,
    query: Query,
) -> Result<Response, Problem> {
    let query = query.only(&ONE)?;
    let (namespace, id) = read_one(&query, &app, &principal, Weight::ONE)?;
    let space = app.service.space(&principal.0, Scope::Inspect, namespace)?;
    principal.0.take_reads(1)?;
    let parts = space.codec().inspect(id);
    let explain = move |store: &mut LeaseStore| Ok(store.explain(parts.node_id, parts.tick)?);
    let explained = space.read_store(Some(&principal.0), explain).await?;
    let spec = space.namespace().spec();
    let answer = ExplainAnswer {
        namespace: namespace.to_owned(),
        gaps: explained.gap.iter().map(GapDocument::of).collect(),
        row: ExplainRow::new(id, parts, spec, &explained.explanation, explained.now),
    };
    Ok(Json(answer).into_response())
}
