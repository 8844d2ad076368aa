//! Status for operators and their tools: `GET /v1/status` for the page; `/healthz` and `/readyz`,
//! which need no token, for service managers and load balancers.

use core::fmt::Display;
use std::collections::BTreeMap;
use std::sync::Arc;

use axum::extract::{Request, State};
use axum::http::StatusCode;
use randflake_common::date;
use randflake_common::date::whole_ms;
use randflake_common::failure::one_line;
use randflake_common::layout::described;
use randflake_std::date::span;
use randflake_std::randflake_core::LayoutSpec;
use randflake_std::{Health, Lease};
use serde::Serialize;

use super::body::Json;
use super::dashboard::Dashboard;
use super::request::{ApiRequest, App, Parameters, identify};
use crate::access::{Scope, Weight};
use crate::incidents::{REPAIR, remedy};
use crate::refusal::{Refusal, RefusalKind};
use crate::service::health::{NotReady, RecentCounts, Witness};
use crate::service::served_namespace::ServedNamespace;

#[derive(Serialize)]
pub(super) struct ServerStatus {
    version: &'static str,
    now_unix_ms: u64,
    uptime_ms: u64,
    /// Only for who administers all namespaces, as `requests`.
    store: Option<String>,
    ready: bool,
    requests: Option<Requests>,
    namespaces: Vec<NamespaceStatus>,
}

/// Counts since the server was started.
#[derive(Serialize)]
struct Requests {
    http: u64,
    resp: u64,
    open_connections: u64,
    refused: BTreeMap<&'static str, u64>,
}

#[derive(Serialize)]
struct NamespaceStatus {
    name: String,
    layout: String,
    fields: StatusFields,
    state: &'static str,
    detail: Option<String>,
    /// What an operator does about it.
    advice: Option<&'static str>,
    /// Since when something is wrong, by this server's clock.
    since_unix_ms: Option<u64>,
    node_ids: u64,
    /// Number of ids issued by this server.
    issued: u64,
    held_here: usize,
    /// Ids issued by this server in the last minutes.
    recent: RecentCounts,
    #[serde(flatten)]
    dashboard: Option<Dashboard>,
}

#[derive(Serialize)]
struct StatusFields {
    time_bits: u32,
    node_bits: u32,
    sequence_bits: u32,
    tick_ms: u64,
    epoch_unix_ms: u64,
    last_unix_ms: u64,
}

pub(super) async fn status(request: ApiRequest) -> Result<Json<ServerStatus>, Refusal> {
    request.begin(Weight::OVERVIEW, &[])?;
    request.must_have(Scope::Admin)?;
    let ApiRequest { app, principal, .. } = &request;
    // One, however many namespaces: their dashboards are cached, and shared by all who look.
    principal.take_reads(1)?;
    let service = &app.service;
    let mut namespaces = Vec::new();
    for space in service.spaces_of(principal) {
        let dashboard = app.dashboards.of(space).await;
        namespaces.push(NamespaceStatus::of(space, dashboard));
    }
    let is_of_all = service.is_admin_of_all(principal);
    let counters = &service.counters;
    let refused = counters.refusals().filter(|(_, count)| *count > 0);
    Ok(Json(ServerStatus {
        version: env!("CARGO_PKG_VERSION"),
        now_unix_ms: whole_ms(date::now()),
        uptime_ms: whole_ms(service.uptime()),
        store: is_of_all.then(|| app.store.clone()),
        ready: service.is_ready(),
        requests: is_of_all.then(|| Requests {
            http: counters.http_answers.total(),
            resp: counters.resp_answers.total(),
            open_connections: counters.http.open.get() + counters.resp.open.get(),
            refused: refused.collect(),
        }),
        namespaces,
    }))
}

impl NamespaceStatus {
    fn of(space: &ServedNamespace, mut dashboard: Result<Dashboard, String>) -> Self {
        let namespace = space.namespace();
        let spec = namespace.spec();
        let (state, detail, advice) = state_of(space.health(), &dashboard);
        space.recent.witness(Witness::Reading, dashboard.is_ok());
        let own: Vec<u32> = space
            .handle()
            .map(|handle| handle.lease().leases.iter().map(Lease::node_id).collect())
            .unwrap_or_default();
        for holder in dashboard
            .iter_mut()
            .flat_map(|dashboard| &mut dashboard.holders)
        {
            holder.is_this = own.contains(&holder.first_node_id);
        }
        Self {
            name: space.name().to_owned(),
            layout: described(namespace),
            fields: StatusFields::of(&spec),
            state,
            detail,
            advice,
            since_unix_ms: space.recent.since_unix_ms(),
            node_ids: namespace.node_ids(),
            issued: space.issued.get(),
            held_here: own.len(),
            recent: space.recent.counts(),
            dashboard: dashboard.ok(),
        }
    }
}

/// One word for how it is, why, and what an operator does about it.
fn state_of(
    health: Option<Health>,
    dashboard: &Result<Dashboard, String>,
) -> (&'static str, Option<String>, Option<&'static str>) {
    let ids_end = |remaining, why: &dyn Display| {
        Some(format!(
            "ids are issued for another {}: {why}",
            span(remaining)
        ))
    };
    let quarantine = dashboard
        .as_ref()
        .ok()
        .and_then(|dashboard| dashboard.quarantine.as_ref());
    // In the order of what an operator does first: a quarantine explains all that follows from it.
    match (health, quarantine, dashboard) {
        (_, Some(quarantine), _) => ("quarantine", Some(quarantine.text.clone()), None),
        (None, ..) => (
            "not_ready",
            Some("its store has not granted a lease yet".to_owned()),
            None,
        ),
        (Some(Health::Short { error, .. }), ..) => {
            ("short", Some(error.to_string()), Some(remedy(&error)))
        }
        (Some(Health::Degraded { remaining, error }), ..) => {
            ("degraded", ids_end(remaining, &error), Some(remedy(&error)))
        }
        // A reading fails sooner than a renewal, which is due three times in a TTL.
        (Some(Health::Ready { remaining }), _, Err(problem)) => {
            ("degraded", ids_end(remaining, problem), Some(REPAIR))
        }
        (Some(Health::Ready { .. }), ..) => ("ready", None, None),
        (Some(Health::NotReady { error }), ..) => (
            "not_ready",
            error
                .as_ref()
                .map(|error| format!("no ids are issued: {error}")),
            error.as_ref().map(|error| remedy(error)),
        ),
        (Some(_), ..) => ("not_ready", Some("the server is stopping".to_owned()), None),
    }
}

impl StatusFields {
    fn of(spec: &LayoutSpec) -> Self {
        let fields = spec.fields();
        Self {
            time_bits: fields.timestamp.bits,
            node_bits: fields.node_id.bits,
            sequence_bits: fields.sequence.bits,
            tick_ms: fields.tick_ms,
            epoch_unix_ms: fields.epoch_unix_ms,
            last_unix_ms: spec.unix_ms(spec.max_tick()),
        }
    }
}

/// Whether the process answers.
pub(super) async fn alive() -> &'static str {
    "ok\n"
}

/// Whether this server should get requests, and why a namespace issues no ids; of one namespace by
/// its name, whether it issues ids. Which namespaces there are is said to their administrators
/// alone.
pub(super) async fn ready(
    State(app): State<Arc<App>>,
    request: Request,
) -> Result<(StatusCode, String), Refusal> {
    let (parts, _) = request.into_parts();
    let principal = identify(&parts, &app).ok();
    let admin = principal.filter(|principal| principal.has(Scope::Admin));
    let query = Parameters::read(&parts)?;
    query.only(&["namespace"])?;
    let named = query.text("namespace");
    let mut lines = Vec::new();
    let spaces = app.service.spaces();
    for space in spaces.filter(|space| named.is_none_or(|named| named == space.name())) {
        let Some(NotReady { cause, detail, .. }) = space.not_ready() else {
            continue;
        };
        let is_theirs = admin.as_ref().is_some_and(|admin| admin.sees(space.name()));
        lines.push(if is_theirs {
            format!("{}: {}\n", space.name(), one_line(&detail))
        } else {
            format!("a namespace: {cause}\n")
        });
    }
    // Without names, equal lines would tell anybody how many namespaces there are.
    lines.dedup();
    let access = &app.service.access;
    if access.refuses_all() {
        // For anybody: nobody has a token to ask with.
        lines.push("no token is valid: every client is refused (--tokens)\n".to_owned());
    }
    if access.is_stale() && admin.is_some() {
        let line = "the file of tokens cannot be used: those of before count, also revoked ones\n";
        lines.push(line.to_owned());
    }
    let is_ready = match named {
        Some(named) => app.service.issues(named).ok_or_else(|| {
            let message = format!("no namespace {named:?} is served here");
            Refusal::new(RefusalKind::NotFound, message)
        })?,
        None => app.service.is_ready(),
    };
    let (status, word) = if is_ready {
        (StatusCode::OK, "ready")
    } else {
        (StatusCode::SERVICE_UNAVAILABLE, "not ready")
    };
    Ok((status, format!("{word}\n{}", lines.concat())))
}
