//! `GET /v1/explain`: who held an id's node id when it was made.

use randflake_std::lease::{Gap, LeaseStore};
use serde::Serialize;

use super::body::Json;
use super::inspect::read_one;
use super::request::ApiRequest;
use crate::access::Scope;
use crate::service::refusal::Refusal;
use randflake_common::explain::ExplainRow;

#[derive(Serialize)]
pub(super) struct ExplainAnswer {
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
    fn of(gap: &Gap) -> Self {
        Self {
            fencing_token: gap.fencing_token,
            is_changed: gap.is_changed,
        }
    }
}

pub(super) async fn explain(request: ApiRequest) -> Result<Json<ExplainAnswer>, Refusal> {
    let (namespace, id) = read_one(&request)?;
    let ApiRequest { app, principal, .. } = &request;
    let space = app.service.space(principal, Scope::Inspect, namespace)?;
    principal.take_reads(1)?;
    space.check(id)?;
    let parts = space.codec().inspect(id);
    let explain = move |store: &mut LeaseStore| Ok(store.explain(parts.node_id, parts.tick)?);
    let explained = space.read_store(Some(principal), explain).await?;
    let spec = space.namespace().spec();
    Ok(Json(ExplainAnswer {
        namespace: namespace.to_owned(),
        gaps: explained.gap.iter().map(GapDocument::of).collect(),
        row: ExplainRow::new(
            &id.into(),
            parts,
            spec,
            &explained.explanation,
            explained.now,
        ),
    }))
}
