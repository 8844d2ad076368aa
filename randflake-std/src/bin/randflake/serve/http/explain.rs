//! `GET /v1/explain`: who held an id's node id when it was made.

use std::sync::Arc;

use axum::extract::State;
use axum::response::{IntoResponse as _, Response};
use serde::Serialize;

use super::App;
use super::body::Json;
use super::inspect::{ONE, read_one};
use super::problem::Problem;
use super::query::Query;
use super::who::Who;
use crate::explain::Row;
use crate::serve::access::Scope;

#[derive(Serialize)]
struct Answer {
    namespace: String,
    #[serde(flatten)]
    row: Row,
    /// Records of this node id's history that are missing or were changed.
    gaps: Vec<Gap>,
}

#[derive(Serialize)]
struct Gap {
    fencing_token: u64,
    is_changed: bool,
}

pub(super) async fn explain(
    State(app): State<Arc<App>>,
    who: Who,
    query: Query,
) -> Result<Response, Problem> {
    let query = query.only(&ONE)?;
    let (namespace, id) = read_one(&query, &app, &who)?;
    let space = app.service.space(&who.0, Scope::Inspect, namespace)?;
    let parts = space.codec().inspect(id);
    let taken = space.with_store(move |store| Ok(store.history(parts.node_id..=parts.node_id)?));
    let history = taken.await?;
    let gaps = history.gaps().iter().map(|gap| Gap {
        fencing_token: gap.fencing_token,
        is_changed: gap.is_changed,
    });
    let answer = Answer {
        namespace: namespace.to_owned(),
        gaps: gaps.collect(),
        row: Row::new(id, parts, space.namespace().spec(), &history),
    };
    Ok(Json(answer).into_response())
}
