//! `POST /v1/tickets`: a lease for a device that has no connection to the store.

use core::fmt::Write as _;
use core::time::Duration;
use std::sync::Arc;

use axum::extract::State;
use axum::http::StatusCode;
use randflake_std::lease::{DeviceLease, DeviceLeaseError, DeviceRequest};
use serde::{Deserialize, Serialize};

use super::App;
use super::body::{Json, JsonBody};
use super::principal::Principal;
use super::problem::{Defect, Problem};
use super::query::Query;
use crate::command::lease::device_id;
use crate::serve::access::{Scope, Weight};
use crate::serve::service::refusal::{Refusal, RefusalKind};

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
    State(app): State<Arc<App>>,
    principal: Principal,
    query: Query,
    JsonBody(asked, _): JsonBody<TicketParameters>,
) -> Result<(StatusCode, Json<TicketAnswer>), Problem> {
    let query = query.only(&["namespace"])?;
    let namespace = query.namespace(&app, &principal)?;
    let space = app.service.space(&principal.0, Scope::Leases, namespace)?;
    principal.0.take_request(Weight::ONE)?;
    let device = device_of(&asked.device)?;
    let Some(key) = app.ticket_key.clone() else {
        let told =
            "this server has no key of tickets: it is started with --ticket-key-file FILE then";
        return Err(Problem::new(Defect::NotFound, told));
    };
    if !asked.renew {
        principal.0.take_leases(1)?;
    }
    // Without tokens everybody operates the server.
    let owner = principal
        .0
        .has_token()
        .then(|| principal.0.name().to_owned());
    let work = move |store: &mut randflake_std::lease::LeaseStore| {
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
    let answer = space
        .grant_within(&principal.0, space.leasable(&principal.0)?, work)
        .await?;
    Ok((StatusCode::CREATED, Json(answer)))
}

/// Reads the number of a device, up to 16 hex digits.
pub(super) fn device_of(text: &str) -> Result<u64, Problem> {
    device_id(text).map_err(|problem| Problem::invalid(format!("device is {text:?}: {problem}")))
}

fn refusal(error: DeviceLeaseError) -> Refusal {
    match error {
        DeviceLeaseError::Store(error) => error.into(),
        // The device needs another lease.
        other => Refusal::new(RefusalKind::Conflict, other),
    }
}
