//! `POST /v1/tickets`: a lease for a device that has no connection to the store.

use core::fmt::Write as _;
use core::time::Duration;

use axum::extract::Request;
use axum::http::StatusCode;
use randflake_std::lease::{DeviceLease, DeviceLeaseError, DeviceRequest, LeaseStore};
use serde::{Deserialize, Serialize};

use super::body::{Json, MAX_LEN, json};
use super::request::ApiRequest;
use crate::access::{Scope, Weight};
use crate::service::refusal::{Refusal, RefusalKind};
use randflake_common::leases::device_id;

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
    let work = move |store: &mut LeaseStore| {
        // First: a counter that was taken and not used does no harm.
        let next = DeviceRequest::NextTicket {
            owner: owner.as_deref(),
            counter: asked.counter,
        };
        let counter = store.device(device, &next)?.last_counter;
        let longest = store.namespace().max_ttl();
        let ttl = asked.ttl_ms.map_or(longest, Duration::from_millis);
        let lease = if asked.renew {
            let mut lease = DeviceLease::find(store, device).map_err(refusal)?;
            lease.renew(store, ttl).map_err(refusal)?;
            lease
        } else {
            DeviceLease::acquire(store, device, ttl)?
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
    };
    let answer = space.grant_within(principal, space.leasable(principal)?, work);
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
