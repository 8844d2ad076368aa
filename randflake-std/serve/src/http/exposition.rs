//! `GET /metrics`, in the text format of Prometheus.

use core::fmt::{Display, Write as _};
use core::time::Duration;

use axum::http::header::CONTENT_TYPE;
use axum::response::{IntoResponse as _, Response};
use tokio::time::timeout;

use super::App;
use super::recorder::Recorded;
use super::request::ApiRequest;
use crate::access::{Principal, Scope, Weight};
use crate::memory::MemoryBudget;
use crate::service::Service;
use crate::service::answers::AnswerTimes;
use crate::service::refusal::Refusal;

/// How long the answer waits for the store of each namespace.
const PATIENCE: Duration = Duration::from_secs(1);

pub(super) async fn metrics(request: ApiRequest) -> Result<Response, Refusal> {
    request.begin(Weight::OVERVIEW, &[])?;
    request.must_have(Scope::Admin)?;
    let ApiRequest { app, principal, .. } = &request;
    for space in app.service.spaces_of(principal) {
        // For how many node ids are leased. Metrics are wanted most when the store does not answer.
        _ = timeout(PATIENCE, app.boards.of(space)).await;
    }
    let mut text = String::new();
    Recorded::global().write(&mut text, |namespace| principal.sees(namespace));
    write(app, principal, &mut Exposition::new(&mut text));
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

/// Writes metrics: the head of one, then its values. A string takes all that is written.
struct Exposition<'a> {
    text: &'a mut String,
    /// Metric whose values follow.
    name: &'static str,
}

impl<'a> Exposition<'a> {
    fn new(text: &'a mut String) -> Self {
        Self { text, name: "" }
    }

    fn gauge(&mut self, name: &'static str, help: &str) {
        self.begin("gauge", name, help);
    }

    fn counter(&mut self, name: &'static str, help: &str) {
        self.begin("counter", name, help);
    }

    fn begin(&mut self, kind: &str, name: &'static str, help: &str) {
        _ = writeln!(self.text, "# HELP {name} {help}\n# TYPE {name} {kind}");
        self.name = name;
    }

    fn value(&mut self, pairs: &[(&str, &str)], value: impl Display) {
        let labels = labels(pairs.iter().copied());
        _ = writeln!(self.text, "{}{labels} {value}", self.name);
    }

    /// The values of a histogram.
    fn times(&mut self, protocol: &str, times: &AnswerTimes) {
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
}

/// What the server itself counts. The handles' own metrics are those of the library.
fn write(app: &App, principal: &Principal, out: &mut Exposition<'_>) {
    let service = &app.service;
    out.gauge("randflake_serve_info", "The server's version.");
    out.value(&[("version", env!("CARGO_PKG_VERSION"))], 1);
    out.gauge(
        "randflake_serve_uptime_seconds",
        "Since the server was started.",
    );
    out.value(&[], service.uptime().as_secs_f64());
    out.gauge("randflake_serve_ready", "Whether a namespace issues ids.");
    for space in service.spaces_of(principal) {
        let is_ready = space.health().is_some_and(|health| health.is_ready());
        out.value(&[("namespace", space.name())], u8::from(is_ready));
    }
    out.counter("randflake_serve_ids_total", "Ids that were answered.");
    for space in service.spaces_of(principal) {
        out.value(&[("namespace", space.name())], space.issued.get());
    }
    let help = "Tokens of the file that have not expired.";
    out.gauge("randflake_serve_tokens", help);
    out.value(&[], service.access.valid());
    let help = "Whether the file of tokens cannot be used, so that revoked ones still count.";
    out.gauge("randflake_serve_tokens_stale", help);
    out.value(&[], u8::from(service.access.is_stale()));
    // What all clients do together tells the administrator of one namespace about the others.
    if service.is_admin_of_all(principal) {
        write_totals(service, out);
        write_memory(&app.memory, out);
    }
}

/// What clients make the server hold.
fn write_memory(memory: &MemoryBudget, out: &mut Exposition<'_>) {
    let parts = memory.parts();
    let help = "What clients with a token, and guests without one, hold of the memory that --memory allows.";
    out.gauge("randflake_serve_memory_bytes", help);
    for part in parts {
        out.value(&[("part", part.name)], part.used);
    }
    out.gauge("randflake_serve_memory_limit_bytes", "What they may hold.");
    for part in parts {
        out.value(&[("part", part.name)], part.limit);
    }
    let help =
        "Requests refused for memory, and guests' connections closed to make room for others.";
    out.counter("randflake_serve_memory_refusals_total", help);
    let counts = memory.refused();
    out.value(&[("of", "request")], counts.requests);
    out.value(&[("of", "connection")], counts.connections);
}

/// What all clients do together.
fn write_totals(service: &Service, out: &mut Exposition<'_>) {
    let counters = &service.counters;
    let answers = [
        ("http", &counters.http_answers),
        ("resp", &counters.resp_answers),
    ];
    out.counter("randflake_serve_requests_total", "Requests and commands.");
    for (protocol, answers) in answers {
        for (status, count) in answers.counts() {
            out.value(&[("protocol", protocol), ("status", status.name())], count);
        }
    }
    let help =
        "How long a request took; in the Redis protocol, all commands that one read brought.";
    out.begin(
        "histogram",
        "randflake_serve_request_duration_seconds",
        help,
    );
    for (protocol, answers) in answers {
        out.times(protocol, &answers.times);
    }
    out.counter(
        "randflake_serve_refusals_total",
        "Requests that were refused.",
    );
    for (kind, count) in counters.refusals() {
        out.value(&[("kind", kind)], count);
    }
    let protocols = [("http", &counters.http), ("resp", &counters.resp)];
    out.gauge("randflake_serve_connections", "Open connections.");
    for (protocol, connections) in protocols {
        out.value(&[("protocol", protocol)], connections.open.get());
    }
    let help = "Connections, by what became of them.";
    out.counter("randflake_serve_connections_total", help);
    for (protocol, connections) in protocols {
        let outcomes = [
            ("accepted", &connections.accepted),
            ("refused", &connections.refused),
            ("failed_handshake", &connections.failed_handshakes),
        ];
        for (outcome, count) in outcomes {
            out.value(&[("protocol", protocol), ("outcome", outcome)], count.get());
        }
    }
}
