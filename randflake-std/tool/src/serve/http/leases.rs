//! `/v1/leases`: what one acquire grants is a document, which its renewal and its release take again.

use std::sync::Arc;

use axum::extract::State;
use axum::http::StatusCode;
use serde::Serialize;

use super::App;
use super::body::{Json, JsonBody};
use super::principal::Principal;
use super::problem::Problem;
use super::query::Query;
use super::status::NodeIdState as NodeState;
use crate::command::lease::{LeaseDocument, LeaseRow};
use crate::serve::service::{AcquireParameters, LeaseQuery, MAX_LEASES};

pub(super) async fn acquire(
    State(app): State<Arc<App>>,
    principal: Principal,
    query: Query,
    JsonBody(asked, _): JsonBody<AcquireParameters>,
) -> Result<(StatusCode, Json<LeaseDocument>), Problem> {
    let query = query.only(&["namespace"])?;
    let namespace = query.namespace(&app, &principal)?;
    let document = app.service.acquire(&principal.0, namespace, asked).await?;
    Ok((StatusCode::CREATED, Json(document)))
}

pub(super) async fn renew(
    State(app): State<Arc<App>>,
    principal: Principal,
    query: Query,
    JsonBody(document, _): JsonBody<LeaseDocument>,
) -> Result<Json<LeaseDocument>, Problem> {
    let query = query.only(&["request", "ttl_ms"])?;
    let (request, ttl) = (query.text("request"), query.ms("ttl_ms")?);
    let renewed = app
        .service
        .renew(&principal.0, document, request, ttl)
        .await?;
    Ok(Json(renewed))
}

pub(super) async fn release(
    State(app): State<Arc<App>>,
    principal: Principal,
    query: Query,
    JsonBody(document, _): JsonBody<LeaseDocument>,
) -> Result<StatusCode, Problem> {
    let query = query.only(&["request", "unused_from_unix_ms"])?;
    let unused_from = query.ms("unused_from_unix_ms")?;
    let request = query.text("request");
    let released = app
        .service
        .release(&principal.0, document, request, unused_from);
    released.await?;
    Ok(StatusCode::NO_CONTENT)
}

/// A part of a namespace's leases, in the order of node ids.
#[derive(Serialize)]
struct Page<'a> {
    namespace: &'a str,
    now_unix_ms: u64,
    leases: Vec<LeaseEntry<'a>>,
    /// From where on there are more.
    next: Option<u32>,
}

#[derive(Serialize)]
struct LeaseEntry<'a> {
    #[serde(flatten)]
    row: LeaseRow<'a>,
    state: NodeState,
}

pub(super) async fn list(
    State(app): State<Arc<App>>,
    principal: Principal,
    query: Query,
) -> Result<axum::response::Response, Problem> {
    use axum::response::IntoResponse as _;

    let query = query.only(&["namespace", "all", "from", "limit"])?;
    let number = |name, range| {
        let number = query.number(name, range)?;
        Ok::<_, Problem>(number.and_then(|number| u32::try_from(number).ok()))
    };
    let first = LeaseQuery::default();
    let asked = LeaseQuery {
        from: number("from", 0..=u64::from(u32::MAX))?.unwrap_or(first.from),
        most: number("limit", 1..=u64::from(MAX_LEASES))?.unwrap_or(first.most),
        all: query.flag("all")?,
    };
    let namespace = query.namespace(&app, &principal)?;
    let listed = app.service.list(&principal.0, namespace, asked).await?;
    let snapshot = &listed.snapshot;
    let leases = snapshot.records().iter().map(|record| LeaseEntry {
        row: LeaseRow::of(snapshot, record),
        state: NodeState::of(snapshot, record),
    });
    let page = Page {
        namespace,
        now_unix_ms: super::whole_ms(snapshot.now()),
        leases: leases.collect(),
        next: listed.next,
    };
    Ok(Json(page).into_response())
}
