//! `POST /v1/tickets`: a lease for a device that has no connection to the store.

use core::fmt::Write as _;
use core::time::Duration;
use std::sync::Arc;

use axum::extract::State;
use axum::http::StatusCode;
use randflake_std::lease::{DeviceLease, DeviceLeaseError};
use serde::{Deserialize, Serialize};

use super::App;
use super::body::{Json, Sent};
use super::problem::{Defect, Problem};
use super::query::Query;
use super::who::Who;
use crate::lease::device_id;
use crate::serve::access::{Scope, Weight};
use crate::serve::service::refusal::{Kind, Refusal};

const DEFAULT_TTL: Duration = Duration::from_secs(300);

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Asked {
    /// Up to 16 hex digits.
    device: String,
    /// Above that of the device's last ticket.
    counter: u32,
    ttl_ms: Option<u64>,
    /// The device's lease, instead of a new one.
    #[serde(default)]
    renew: bool,
}

#[derive(Debug, Serialize)]
pub(super) struct Answer {
    namespace: String,
    device: String,
    counter: u32,
    /// 64 hex digits.
    ticket: String,
    node: u32,
    start_unix_ms: u64,
    end_unix_ms: u64,
}

pub(super) async fn tickets(
    State(app): State<Arc<App>>,
    who: Who,
    query: Query,
    Sent(asked, _): Sent<Asked>,
) -> Result<(StatusCode, Json<Answer>), Problem> {
    let query = query.only(&["namespace"])?;
    let namespace = query.namespace(&app, &who)?;
    let space = app.service.space(&who.0, Scope::Leases, namespace)?;
    who.0.take_request(Weight::ONE)?;
    let wrong = |problem| Problem::invalid(format!("device is {:?}: {problem}", asked.device));
    let device = device_id(&asked.device).map_err(wrong)?;
    let Some(key) = app.ticket_key.clone() else {
        let told =
            "this server has no key of tickets: it is started with --ticket-key-file FILE then";
        return Err(Problem::new(Defect::NotFound, told));
    };
    if !asked.renew {
        who.0.take_leases(1)?;
    }
    let work = move |store: &mut dyn randflake_std::lease::LeaseStore| {
        let ttl = asked.ttl_ms.map_or(DEFAULT_TTL, Duration::from_millis);
        let lease = if asked.renew {
            let mut lease = DeviceLease::find(store, device).map_err(refusal)?;
            lease.renew(store, ttl).map_err(refusal)?;
            lease
        } else {
            DeviceLease::acquire(store, device, ttl)?
        };
        let ticket = lease
            .ticket(asked.counter, &key)
            .map_err(Refusal::invalid)?;
        let mut digits = String::new();
        for byte in ticket {
            // A string takes all.
            _ = write!(digits, "{byte:02x}");
        }
        let spec = store.namespace().spec();
        let grant = lease.grant();
        Ok(Answer {
            namespace: store.namespace().name().to_owned(),
            device: format!("{device:016x}"),
            counter: asked.counter,
            ticket: digits,
            node: grant.node_id,
            start_unix_ms: spec.unix_ms(grant.start),
            end_unix_ms: spec.unix_ms(grant.end),
        })
    };
    let answer = space.grant_within(space.leasable(&who.0)?, work).await?;
    Ok((StatusCode::CREATED, Json(answer)))
}

fn refusal(error: DeviceLeaseError) -> Refusal {
    match error {
        DeviceLeaseError::Store(error) => error.into(),
        // The device needs another lease.
        other => Refusal::new(Kind::Conflict, other),
    }
}
