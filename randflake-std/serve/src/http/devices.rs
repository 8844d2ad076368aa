//! `/v1/devices`: whose a device is, and the counter of its last ticket.

use std::sync::Arc;

use axum::extract::Request;
use randflake_std::lease::{Device, DeviceError, DeviceRequest, LeaseStore};
use serde::{Deserialize, Serialize};

use super::body::{Json, MAX_LEN, json};
use super::request::ApiRequest;
use super::tickets::device_of;
use crate::access::{Scope, Weight};
use crate::service::refusal::Refusal;
use crate::service::served_namespace::ServedNamespace;

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
    let register = move |store: &mut LeaseStore| {
        let register = DeviceRequest::Register {
            owner: asked.owner.as_deref(),
            reported: asked.counter,
        };
        store.device(device, &register)
    };
    work(&request, space, device, register).await
}

pub(super) async fn look(request: ApiRequest) -> Result<Json<DeviceAnswer>, Refusal> {
    request.begin(Weight::ONE, &["namespace", "device"])?;
    let space = space(&request)?;
    let device = device_of(request.query.text("device").unwrap_or_default())?;
    let look = move |store: &mut LeaseStore| store.device(device, &DeviceRequest::Look);
    work(&request, space, device, look).await
}

/// The namespace, for administrators: whoever sets a device's owner or counter decides who may make
/// its next ticket.
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
    let known = space.with_store(&request.principal, move |store| Ok(work(store)?));
    let known = known.await?;
    Ok(Json(DeviceAnswer {
        namespace: space.name().to_owned(),
        device: format!("{device:016x}"),
        owner: known.owner,
        counter: known.last_counter,
    }))
}
