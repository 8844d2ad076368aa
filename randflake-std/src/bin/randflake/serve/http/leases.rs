//! `/v1/leases`: what one acquire grants is a document, which its renewal and its release take again.

use std::sync::Arc;

use axum::extract::State;
use axum::http::StatusCode;
use serde::Serialize;

use super::App;
use super::body::Json;
use super::problem::Problem;
use super::query::Query;
use super::status::State as NodeState;
use super::who::Who;
use crate::lease::{Document, Row};
use crate::serve::service::{Acquire, MAX_LEASES};

pub(super) async fn acquire(
    State(app): State<Arc<App>>,
    who: Who,
    query: Query,
    Json(asked): Json<Acquire>,
) -> Result<(StatusCode, Json<Document>), Problem> {
    let query = query.only(&["namespace"])?;
    let namespace = query.namespace(&app, &who)?;
    let document = app.service.acquire(&who.0, namespace, asked).await?;
    Ok((StatusCode::CREATED, Json(document)))
}

pub(super) async fn renew(
    State(app): State<Arc<App>>,
    who: Who,
    query: Query,
    Json(document): Json<Document>,
) -> Result<Json<Document>, Problem> {
    let query = query.only(&["ttl_ms"])?;
    let ttl = query.ms("ttl_ms")?;
    Ok(Json(app.service.renew(&who.0, document, ttl).await?))
}

pub(super) async fn release(
    State(app): State<Arc<App>>,
    who: Who,
    query: Query,
    Json(document): Json<Document>,
) -> Result<StatusCode, Problem> {
    let query = query.only(&["unused_from_unix_ms"])?;
    let unused_from = query.ms("unused_from_unix_ms")?;
    app.service.release(&who.0, document, unused_from).await?;
    Ok(StatusCode::NO_CONTENT)
}

/// A part of a namespace's leases, in the order of node ids.
#[derive(Serialize)]
struct Page<'a> {
    namespace: &'a str,
    now_unix_ms: u64,
    leases: Vec<Lease<'a>>,
    /// From where on there are more.
    next: Option<u32>,
}

#[derive(Serialize)]
struct Lease<'a> {
    #[serde(flatten)]
    row: Row<'a>,
    state: NodeState,
}

pub(super) async fn list(
    State(app): State<Arc<App>>,
    who: Who,
    query: Query,
) -> Result<axum::response::Response, Problem> {
    use axum::response::IntoResponse as _;

    let query = query.only(&["namespace", "all", "from", "limit"])?;
    let all = query.flag("all")?;
    let from = query.number("from", 0..=u64::from(u32::MAX))?.unwrap_or(0);
    let limit = query.number("limit", 1..=u64::from(MAX_LEASES))?;
    let limit = usize::try_from(limit.unwrap_or(100)).unwrap_or(usize::MAX);
    let namespace = query.namespace(&app, &who)?;
    let listed = app.service.list(&who.0, namespace).await?;
    let snapshot = listed.snapshot();
    let records = snapshot.records().iter();
    let kept = records.filter(|record| u64::from(record.grant.node_id) >= from);
    let mut kept = kept.filter(|record| all || snapshot.is_live(record));
    let leases = kept.by_ref().take(limit).map(|record| Lease {
        row: Row::of(snapshot, record),
        state: NodeState::of(snapshot, record),
    });
    let page = Page {
        namespace,
        now_unix_ms: super::whole_ms(snapshot.now()),
        leases: leases.collect(),
        next: kept.next().map(|record| record.grant.node_id),
    };
    Ok(Json(page).into_response())
}
