//! `/v1/devices`: whose a device is, and the counter of its last ticket.

use std::sync::Arc;

use axum::extract::State;
use randflake_std::lease::{Device, DeviceError, DeviceRequest, LeaseStore};
use serde::{Deserialize, Serialize};

use super::App;
use super::body::{Json, Sent};
use super::problem::Problem;
use super::query::Query;
use super::tickets::device_of;
use super::who::Who;
use crate::serve::access::{Scope, Weight};

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Asked {
    /// Up to 16 hex digits.
    device: String,
    /// The name of a token.
    owner: Option<String>,
    /// The counter that the device reports as its last, 0 for a new device.
    counter: Option<u32>,
}

#[derive(Debug, Serialize)]
pub(super) struct Answer {
    namespace: String,
    device: String,
    /// Empty: nobody.
    owner: String,
    /// Of its last ticket.
    counter: u32,
}

pub(super) async fn register(
    State(app): State<Arc<App>>,
    who: Who,
    query: Query,
    Sent(asked, _): Sent<Asked>,
) -> Result<Json<Answer>, Problem> {
    let query = query.only(&["namespace"])?;
    let device = device_of(&asked.device)?;
    let Asked { owner, counter, .. } = asked;
    work(
        &app,
        &who,
        query.namespace(&app, &who)?,
        device,
        move |store| {
            store.device(
                device,
                &DeviceRequest::Register {
                    owner: owner.as_deref(),
                    reported: counter,
                },
            )
        },
    )
    .await
}

pub(super) async fn look(
    State(app): State<Arc<App>>,
    who: Who,
    query: Query,
) -> Result<Json<Answer>, Problem> {
    let query = query.only(&["namespace", "device"])?;
    let device = device_of(query.text("device").unwrap_or_default())?;
    work(
        &app,
        &who,
        query.namespace(&app, &who)?,
        device,
        move |store| store.device(device, &DeviceRequest::Look),
    )
    .await
}

async fn work(
    app: &App,
    who: &Who,
    namespace: &str,
    device: u64,
    work: impl FnOnce(&mut LeaseStore) -> Result<Device, DeviceError> + Send + 'static,
) -> Result<Json<Answer>, Problem> {
    let space = app.service.space(&who.0, Scope::Admin, namespace)?;
    who.0.take_request(Weight::ONE)?;
    let known = space.with_store(move |store| Ok(work(store)?)).await?;
    Ok(Json(Answer {
        namespace: namespace.to_owned(),
        device: format!("{device:016x}"),
        owner: known.owner,
        counter: known.last_counter,
    }))
}
