//! `/v1/devices`: whose a device is, and the counter of its last ticket.

use std::sync::Arc;

use axum::extract::State;
use randflake_std::lease::{Device, DeviceError, DeviceRequest, LeaseStore};
use serde::{Deserialize, Serialize};

use super::App;
use super::body::{Json, JsonBody};
use super::principal::Principal;
use super::problem::Problem;
use super::query::Query;
use super::tickets::device_of;
use crate::serve::access::{Scope, Weight};

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
    State(app): State<Arc<App>>,
    principal: Principal,
    query: Query,
    JsonBody(asked, _): JsonBody<DeviceParameters>,
) -> Result<Json<DeviceAnswer>, Problem> {
    let query = query.only(&["namespace"])?;
    let device = device_of(&asked.device)?;
    let DeviceParameters { owner, counter, .. } = asked;
    work(
        &app,
        &principal,
        query.namespace(&app, &principal)?,
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
    principal: Principal,
    query: Query,
) -> Result<Json<DeviceAnswer>, Problem> {
    let query = query.only(&["namespace", "device"])?;
    let device = device_of(query.text("device").unwrap_or_default())?;
    work(
        &app,
        &principal,
        query.namespace(&app, &principal)?,
        device,
        move |store| store.device(device, &DeviceRequest::Look),
    )
    .await
}

async fn work(
    app: &App,
    principal: &Principal,
    namespace: &str,
    device: u64,
    work: impl FnOnce(&mut LeaseStore) -> Result<Device, DeviceError> + Send + 'static,
) -> Result<Json<DeviceAnswer>, Problem> {
    let space = app.service.space(&principal.0, Scope::Admin, namespace)?;
    principal.0.take_request(Weight::ONE)?;
    let known = space.with_store(&principal.0, move |store| Ok(work(store)?));
    let known = known.await?;
    Ok(Json(DeviceAnswer {
        namespace: namespace.to_owned(),
        device: format!("{device:016x}"),
        owner: known.owner,
        counter: known.last_counter,
    }))
}
