//! `GET /metrics`, in the text format of Prometheus.

use core::fmt::{Display, Write as _};
use core::time::Duration;
use std::sync::Arc;

use axum::extract::State;
use axum::http::header::CONTENT_TYPE;
use axum::response::{IntoResponse as _, Response};

use tokio::time::timeout;

use super::App;
use super::principal::Principal;
use super::problem::Problem;
use super::query::Query;
use super::recorder::Recorded;
use crate::serve::access::Weight;
use crate::serve::memory::MemoryBudget;
use crate::serve::service::Service;
use crate::serve::service::answers::AnswerTimes;
use crate::serve::service::counters::Connections;

/// How long the answer waits for the store of each namespace.
const PATIENCE: Duration = Duration::from_secs(1);

pub(super) async fn metrics(
    State(app): State<Arc<App>>,
    principal: Principal,
    query: Query,
) -> Result<Response, Problem> {
    query.only(&[])?;
    principal.must_be_admin()?;
    principal.0.take_request(Weight::OVERVIEW)?;
    for space in app
        .service
        .spaces()
        .filter(|space| principal.0.sees(space.name()))
    {
        // For how many node ids are leased. Metrics are wanted most when the store does not answer.
        _ = timeout(PATIENCE, app.boards.of(space)).await;
    }
    let mut text = String::new();
    Recorded::global().write(&mut text, |namespace| principal.0.sees(namespace));
    write(&app, &principal, &mut text);
    let kind = "text/plain; version=0.0.4; charset=utf-8";
    Ok(([(CONTENT_TYPE, kind)], text).into_response())
}

/// Formats labels, such as `{namespace="orders"}`; nothing without any.
pub(super) fn labels<'a>(pairs: impl IntoIterator<Item = (&'a str, &'a str)>) -> String {
    let escaped = |value: &str| {
        let value = value.replace('\\', r"\\").replace('"', r#"\""#);
        value.replace('\n', r"\n")
    };
    let pairs = pairs.into_iter();
    let pairs: Vec<_> = pairs
        .map(|(name, value)| format!("{name}=\"{}\"", escaped(value)))
        .collect();
    if pairs.is_empty() {
        return String::new();
    }
    format!("{{{}}}", pairs.join(","))
}

/// Writes metrics of one name.
struct Family<'a> {
    text: &'a mut String,
    name: &'static str,
}

impl<'a> Family<'a> {
    fn new(text: &'a mut String, kind: &str, name: &'static str, help: &str) -> Self {
        // A string takes all.
        _ = writeln!(text, "# HELP {name} {help}\n# TYPE {name} {kind}");
        Self { text, name }
    }

    fn histogram(&mut self, protocol: &str, times: &AnswerTimes) {
        let name = self.name;
        let mut count = 0;
        for (bound, below) in times.cumulative() {
            let labels = labels([("protocol", protocol), ("le", bound)]);
            _ = writeln!(self.text, "{name}_bucket{labels} {below}");
            count = below;
        }
        let (labels, sum) = (labels([("protocol", protocol)]), times.sum().as_secs_f64());
        _ = writeln!(
            self.text,
            "{name}_sum{labels} {sum}\n{name}_count{labels} {count}"
        );
    }

    fn value(&mut self, pairs: &[(&str, &str)], value: impl Display) {
        let labels = labels(pairs.iter().copied());
        _ = writeln!(self.text, "{}{labels} {value}", self.name);
    }
}

/// What the server itself counts. The handles' own metrics are those of the library.
fn write(
    App {
        service, memory, ..
    }: &App,
    principal: &Principal,
    text: &mut String,
) {
    let mut info = Family::new(
        text,
        "gauge",
        "randflake_serve_info",
        "The server's version.",
    );
    info.value(&[("version", env!("CARGO_PKG_VERSION"))], 1);
    let mut up = Family::new(
        text,
        "gauge",
        "randflake_serve_uptime_seconds",
        "Since the server was started.",
    );
    up.value(&[], service.uptime().as_secs_f64());
    let spaces = || {
        service
            .spaces()
            .filter(|space| principal.0.sees(space.name()))
    };
    let mut ready = Family::new(
        text,
        "gauge",
        "randflake_serve_ready",
        "Whether a namespace issues ids.",
    );
    for space in spaces() {
        let is_ready = space.health().is_some_and(|health| health.is_ready());
        ready.value(&[("namespace", space.name())], u8::from(is_ready));
    }
    let mut issued = Family::new(
        text,
        "counter",
        "randflake_serve_ids_total",
        "Ids that were answered.",
    );
    for space in spaces() {
        issued.value(&[("namespace", space.name())], space.issued.get());
    }
    let mut tokens = Family::new(
        text,
        "gauge",
        "randflake_serve_tokens",
        "Tokens of the file that have not expired.",
    );
    tokens.value(&[], service.access.valid());
    let mut stale = Family::new(
        text,
        "gauge",
        "randflake_serve_tokens_stale",
        "Whether the file of tokens cannot be used, so that revoked ones still count.",
    );
    stale.value(&[], u8::from(service.access.is_stale()));
    if service.is_admin_of_all(&principal.0) {
        write_totals(service, text);
        write_memory(memory, text);
    }
}

/// What clients make the server hold.
fn write_memory(memory: &MemoryBudget, text: &mut String) {
    let parts = memory.parts();
    let mut used = Family::new(
        text,
        "gauge",
        "randflake_serve_memory_bytes",
        "What clients with a token, and guests without one, hold of the memory that --memory allows.",
    );
    for part in parts {
        used.value(&[("part", part.name)], part.used);
    }
    let mut limits = Family::new(
        text,
        "gauge",
        "randflake_serve_memory_limit_bytes",
        "What they may hold.",
    );
    for part in parts {
        limits.value(&[("part", part.name)], part.limit);
    }
    let mut refused = Family::new(
        text,
        "counter",
        "randflake_serve_memory_refusals_total",
        "Requests refused for memory, and guests' connections closed to make room for others.",
    );
    let counts = memory.refused();
    refused.value(&[("of", "request")], counts.requests);
    refused.value(&[("of", "connection")], counts.connections);
}

/// What all clients do together.
fn write_totals(service: &Service, text: &mut String) {
    let counters = &service.counters;
    let mut requests = Family::new(
        text,
        "counter",
        "randflake_serve_requests_total",
        "Requests and commands.",
    );
    let answers = [
        ("http", &counters.http_answers),
        ("resp", &counters.resp_answers),
    ];
    for (protocol, answers) in answers {
        for (status, count) in answers.counts() {
            requests.value(&[("protocol", protocol), ("status", status.name())], count);
        }
    }
    let mut times = Family::new(
        text,
        "histogram",
        "randflake_serve_request_duration_seconds",
        "How long a request took; in the Redis protocol, all commands that one read brought.",
    );
    for (protocol, answers) in answers {
        times.histogram(protocol, &answers.times);
    }
    let mut refused = Family::new(
        text,
        "counter",
        "randflake_serve_refusals_total",
        "Requests that were refused.",
    );
    for (kind, count) in counters.refusals() {
        refused.value(&[("kind", kind.name())], count);
    }
    let protocols: [(&str, &Connections); 2] = [("http", &counters.http), ("resp", &counters.resp)];
    let mut open = Family::new(
        text,
        "gauge",
        "randflake_serve_connections",
        "Open connections.",
    );
    for (protocol, connections) in protocols {
        open.value(&[("protocol", protocol)], connections.open.get());
    }
    let mut all = Family::new(
        text,
        "counter",
        "randflake_serve_connections_total",
        "Connections, by what became of them.",
    );
    for (protocol, connections) in protocols {
        let outcomes = [
            ("accepted", &connections.accepted),
            ("refused", &connections.refused),
            ("failed_handshake", &connections.failed_handshakes),
        ];
        for (outcome, count) in outcomes {
            all.value(&[("protocol", protocol), ("outcome", outcome)], count.get());
        }
    }
}
