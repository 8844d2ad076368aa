//! `/v1/inspect`, the fields of ids, and `/v1/explain`, who held the lease of an id, for tokens that may see them.

use axum::extract::Request;
use randflake_common::explain::ExplainRow;
use randflake_common::form::TextForm;
use randflake_std::Id;
use randflake_std::lease::{Gap, LeaseStore};
use serde::{Deserialize, Serialize};

use super::body::{Json, json};
use super::request::ApiRequest;
use crate::access::{Scope, Weight};
use crate::refusal::Refusal;
use crate::service::{Inspected, read_id};

/// Ids of one request: what is shown of them is about 200 kB.
const MOST: usize = 1_000;
/// So many ids in their longest form, base2: what is read of shorter texts takes many times their length.
const MAX_LEN: usize = 80 << 10;

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct InspectRequest {
    ids: Vec<String>,
    form: Option<String>,
}

#[derive(Serialize)]
pub(super) struct InspectAnswer {
    namespace: String,
    ids: Vec<Inspected>,
}

pub(super) async fn one(request: ApiRequest) -> Result<Json<InspectAnswer>, Refusal> {
    let (namespace, id) = read_one(&request)?;
    let inspected = request
        .app
        .service
        .inspect(&request.principal, namespace, id)?;
    Ok(Json(InspectAnswer {
        namespace: namespace.to_owned(),
        ids: vec![inspected],
    }))
}

/// The namespace and the id of a request about one, for who may inspect ids there.
pub(super) fn read_one(request: &ApiRequest) -> Result<(&str, Id), Refusal> {
    let ApiRequest {
        app,
        principal,
        query,
    } = request;
    request.begin(Weight::ONE, &["namespace", "id", "form"])?;
    let namespace = request.namespace()?;
    // Before anything is said of what was sent.
    app.service.space(principal, Scope::Inspect, namespace)?;
    let text = query.text("id").ok_or_else(|| {
        Refusal::invalid("the parameter id is missing: one id is allowed, as in ?id=3vgoe12ccb8gh")
    })?;
    let form = form_of(query.text("form"))?;
    Ok((namespace, read_id(form, text)?))
}

pub(super) async fn many(
    request: ApiRequest,
    body: Request,
) -> Result<Json<InspectAnswer>, Refusal> {
    let (service, principal) = (&request.app.service, &request.principal);
    let asked = request.namespace();
    let allowed = asked.and_then(|name| service.space(principal, Scope::Inspect, name));
    if let Err(refusal) = allowed {
        // One request, before its body is read.
        request.begin(Weight::ONE, &["namespace"])?;
        return Err(refusal);
    }
    let read = json::<InspectRequest>(body, MAX_LEN).await;
    // As a request for each id, which only the body tells; what is wrong is one.
    let count = read.as_ref().map_or(1, |(asked, _)| asked.ids.len().max(1));
    request.begin(Weight::Each(count as u64), &["namespace"])?;
    let (asked, _memory) = read?;
    let count = asked.ids.len();
    if !(1..=MOST).contains(&count) {
        let message = format!("{count} ids were sent: 1 to {MOST} are allowed in one request");
        return Err(Refusal::invalid(message));
    }
    let namespace = request.namespace()?;
    let form = form_of(asked.form.as_deref())?;
    let read = asked.ids.iter();
    let read = read.map(|text| service.inspect(principal, namespace, read_id(form, text)?));
    let ids: Result<_, Refusal> = read.collect();
    Ok(Json(InspectAnswer {
        namespace: namespace.to_owned(),
        ids: ids?,
    }))
}

fn form_of(name: Option<&str>) -> Result<TextForm, Refusal> {
    let Some(name) = name else {
        return Ok(TextForm::Text);
    };
    TextForm::named(name).ok_or_else(|| {
        let names = TextForm::names().join(", ");
        Refusal::invalid(format!("form is {name:?}: {names} are allowed"))
    })
}

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
    let explain =
        move |store: &mut LeaseStore| Ok(store.history().explain(parts.node_id, parts.tick)?);
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
