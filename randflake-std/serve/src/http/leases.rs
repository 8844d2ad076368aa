//! `/v1/leases`, `/v1/devices` and `/v1/tickets`.

use core::fmt::Write as _;
use core::time::Duration;
use std::sync::Arc;

use axum::extract::Request;
use axum::http::StatusCode;
use axum::response::{IntoResponse as _, Response};
use randflake_common::date::whole_ms;
use randflake_common::leases::{LeaseDocument, LeaseRow, device_id};
use randflake_std::lease::{Device, DeviceError, DeviceLeaseError, DeviceRequest, LeaseStore};
use serde::{Deserialize, Serialize};

use super::body::{Json, MAX_LEN, json};
use super::dashboard::NodeIdState;
use super::request::ApiRequest;
use crate::access::{Scope, Weight};
use crate::refusal::{Refusal, RefusalKind};
use crate::service::served_namespace::ServedNamespace;
use crate::service::{AcquireParameters, LeaseQuery, MAX_LEASES};

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

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct DeviceParameters {
    /// Number of the device, up to 16 hex digits.
    device: String,
    /// Owner of the device: the name of a token.
    owner: Option<String>,
    /// The counter that the device reports as its last, 0 for a new device.
    counter: Option<u32>,
}

#[derive(Debug, Serialize)]
pub(super) struct DeviceAnswer {
    namespace: String,
    device: String,
    /// Owner of the device; empty if none.
    owner: String,
    /// Counter of its last ticket.
    counter: u32,
}

pub(super) async fn register(
    request: ApiRequest,
    body: Request,
) -> Result<Json<DeviceAnswer>, Refusal> {
    request.begin(Weight::ONE, &["namespace"])?;
    let space = space(&request)?;
    let (asked, _memory) = json::<DeviceParameters>(body, MAX_LEN).await?;
    let device = device_of(&asked.device)?;
    work(&request, space, device, move |store| {
        let register = DeviceRequest::Register {
            owner: asked.owner.as_deref(),
            reported: asked.counter,
        };
        store.devices().request(device, &register)
    })
    .await
}

pub(super) async fn look(request: ApiRequest) -> Result<Json<DeviceAnswer>, Refusal> {
    request.begin(Weight::ONE, &["namespace", "device"])?;
    let space = space(&request)?;
    let device = device_of(request.query.text("device").unwrap_or_default())?;
    work(&request, space, device, move |store| {
        store.devices().request(device, &DeviceRequest::Look)
    })
    .await
}

/// The namespace, for administrators: a device's owner and counter decide who may make its
/// next ticket.
fn space(request: &ApiRequest) -> Result<&Arc<ServedNamespace>, Refusal> {
    let ApiRequest { app, principal, .. } = request;
    app.service
        .space(principal, Scope::Admin, request.namespace()?)
}

async fn work(
    request: &ApiRequest,
    space: &Arc<ServedNamespace>,
    device: u64,
    work: impl FnOnce(&mut LeaseStore) -> Result<Device, DeviceError> + Send + 'static,
) -> Result<Json<DeviceAnswer>, Refusal> {
    let known = space
        .with_store(&request.principal, move |store| Ok(work(store)?))
        .await?;
    Ok(Json(DeviceAnswer {
        namespace: space.name().to_owned(),
        device: format!("{device:016x}"),
        owner: known.owner,
        counter: known.last_counter,
    }))
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct TicketParameters {
    /// Number of the device, up to 16 hex digits.
    device: String,
    /// Above that of the device's last ticket, by one unless given.
    counter: Option<u32>,
    ttl_ms: Option<u64>,
    /// The device's lease, instead of a new one.
    #[serde(default)]
    renew: bool,
}

#[derive(Debug, Serialize)]
pub(super) struct TicketAnswer {
    namespace: String,
    device: String,
    counter: u32,
    /// The ticket, 64 hex digits.
    ticket: String,
    node: u32,
    start_unix_ms: u64,
    end_unix_ms: u64,
}

pub(super) async fn tickets(
    request: ApiRequest,
    body: Request,
) -> Result<(StatusCode, Json<TicketAnswer>), Refusal> {
    request.begin(Weight::ONE, &["namespace"])?;
    let ApiRequest { app, principal, .. } = &request;
    let namespace = request.namespace()?;
    let space = app.service.space(principal, Scope::Leases, namespace)?;
    let (asked, _memory) = json::<TicketParameters>(body, MAX_LEN).await?;
    let device = device_of(&asked.device)?;
    let key = app.ticket_key.clone().ok_or_else(|| {
        let message =
            "this server has no key of tickets: it is started with --ticket-key-file FILE then";
        Refusal::new(RefusalKind::NotFound, message)
    })?;
    // The quota is of new leases, each of which adds to the store's history; a renewal adds none.
    if !asked.renew {
        principal.take_leases(1)?;
    }
    // Without tokens everybody operates the server.
    let owner = principal.has_token().then(|| principal.name().to_owned());
    let node_ids = space.leasable(principal)?;
    let answer = space.grant_within(principal, node_ids, move |store| {
        // First: a counter that was taken and not used does no harm.
        let next = DeviceRequest::NextTicket {
            owner: owner.as_deref(),
            counter: asked.counter,
        };
        let counter = store.devices().request(device, &next)?.last_counter;
        let longest = store.namespace().max_ttl();
        let ttl = asked.ttl_ms.map_or(longest, Duration::from_millis);
        let lease = if asked.renew {
            let mut lease = store.devices().find(device).map_err(refusal)?;
            lease.renew(store, ttl).map_err(refusal)?;
            lease
        } else {
            store.devices().acquire(device, ttl)?
        };
        let ticket = lease.ticket(counter, &key).map_err(Refusal::invalid)?;
        let mut digits = String::new();
        for byte in ticket {
            // A string takes all.
            _ = write!(digits, "{byte:02x}");
        }
        let spec = store.namespace().spec();
        let grant = lease.grant();
        Ok(TicketAnswer {
            namespace: store.namespace().name().to_owned(),
            device: format!("{device:016x}"),
            counter,
            ticket: digits,
            node: grant.node_id,
            start_unix_ms: spec.unix_ms(grant.start),
            end_unix_ms: spec.unix_ms(grant.end),
        })
    });
    Ok((StatusCode::CREATED, Json(answer.await?)))
}

/// Reads the number of a device, up to 16 hex digits.
pub(super) fn device_of(text: &str) -> Result<u64, Refusal> {
    device_id(text).map_err(|problem| Refusal::invalid(format!("device is {text:?}: {problem}")))
}

fn refusal(error: DeviceLeaseError) -> Refusal {
    match error {
        DeviceLeaseError::Store(error) => error.into(),
        // The device needs another lease.
        other => Refusal::new(RefusalKind::Conflict, other),
    }
}
