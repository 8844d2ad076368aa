//! `/v1/leases`: what one acquire grants is a document, which its renewal and its release take again.

use axum::extract::Request;
use axum::http::StatusCode;
use axum::response::{IntoResponse as _, Response};
use serde::Serialize;

use super::body::{Json, MAX_LEN, json};
use super::request::ApiRequest;
use super::status::NodeIdState;
use crate::access::{Scope, Weight};
use crate::refusal::Refusal;
use crate::service::{AcquireParameters, LeaseQuery, MAX_LEASES};
use randflake_common::date::whole_ms;
use randflake_common::leases::{LeaseDocument, LeaseRow};

pub(super) async fn acquire(
    request: ApiRequest,
    body: Request,
) -> Result<(StatusCode, Json<LeaseDocument>), Refusal> {
    request.begin(Weight::ONE, &["namespace"])?;
    let (service, namespace) = (&request.app.service, request.namespace()?);
    // Who has no right need not send the body first.
    service.space(&request.principal, Scope::Leases, namespace)?;
    let (asked, _memory) = json::<AcquireParameters>(body, MAX_LEN).await?;
    let document = service
        .acquire(&request.principal, namespace, asked)
        .await?;
    Ok((StatusCode::CREATED, Json(document)))
}

pub(super) async fn renew(
    request: ApiRequest,
    body: Request,
) -> Result<Json<LeaseDocument>, Refusal> {
    let ApiRequest {
        app,
        principal,
        query,
    } = &request;
    request.begin(Weight::ONE, &["request", "ttl_ms"])?;
    request.must_have(Scope::Leases)?;
    let (document, _memory) = json(body, MAX_LEN).await?;
    let (name, ttl) = (query.text("request"), query.ms("ttl_ms")?);
    let renewed = app.service.renew(principal, document, name, ttl);
    Ok(Json(renewed.await?))
}

pub(super) async fn release(request: ApiRequest, body: Request) -> Result<StatusCode, Refusal> {
    let ApiRequest {
        app,
        principal,
        query,
    } = &request;
    request.begin(Weight::ONE, &["request", "unused_from_unix_ms"])?;
    request.must_have(Scope::Leases)?;
    let (document, _memory) = json(body, MAX_LEN).await?;
    let unused_from = query.ms("unused_from_unix_ms")?;
    let name = query.text("request");
    let released = app.service.release(principal, document, name, unused_from);
    released.await?;
    Ok(StatusCode::NO_CONTENT)
}

/// A part of a namespace's leases, in the order of node ids.
#[derive(Serialize)]
struct LeasePage<'a> {
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
    state: NodeIdState,
}

pub(super) async fn list(request: ApiRequest) -> Result<Response, Refusal> {
    request.begin(Weight::ONE, &["namespace", "all", "from", "limit"])?;
    let number = |name, range| {
        let number = request.query.number(name, range)?;
        Ok::<_, Refusal>(number.and_then(|number| u32::try_from(number).ok()))
    };
    let first = LeaseQuery::default();
    let asked = LeaseQuery {
        from: number("from", 0..=u64::from(u32::MAX))?.unwrap_or(first.from),
        most: number("limit", 1..=u64::from(MAX_LEASES))?.unwrap_or(first.most),
        all: request.query.flag("all")?,
    };
    let (service, namespace) = (&request.app.service, request.namespace()?);
    let listed = service.list(&request.principal, namespace, asked).await?;
    let snapshot = &listed.snapshot;
    let leases = snapshot.records().iter().map(|record| LeaseEntry {
        row: LeaseRow::of(snapshot, record),
        state: NodeIdState::of(snapshot, record),
    });
    let page = LeasePage {
        namespace,
        now_unix_ms: whole_ms(snapshot.now()),
        leases: leases.collect(),
        next: listed.next,
    };
    Ok(Json(page).into_response())
}
