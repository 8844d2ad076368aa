//! `GET /metrics`, in the text format of Prometheus: the table of the server's own metrics, and
//! those of the handles, which the library records through the facade of the crate `metrics`.

use core::fmt::{Display, Write as _};
use core::sync::atomic::{AtomicU64, Ordering};
use core::time::Duration;
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, OnceLock};

use axum::http::header::CONTENT_TYPE;
use axum::response::{IntoResponse as _, Response};
use metrics::{Counter, Gauge, Histogram, Key, KeyName, Metadata, Recorder, SharedString, Unit};
use tokio::time::timeout;

use super::request::{ApiRequest, App};
use crate::access::{Principal, Scope, Weight};
use crate::counters::{AnswerTimes, Answers};
use crate::counters::{Connections, Counters};
use crate::lock::lock;
use crate::refusal::Refusal;
use crate::service::served_namespace::ServedNamespace;

/// How long the answer waits for the store of each namespace.
const PATIENCE: Duration = Duration::from_secs(1);

/// A metric of the server.
struct Metric {
    name: &'static str,
    kind: MetricKind,
    help: &'static str,
    seen_by: SeenBy,
    /// Writes its values, from where they are counted. Each that an alert may compare with is there
    /// from the start.
    write: fn(&Source<'_>, &mut Values<'_>),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum MetricKind {
    Counter,
    Gauge,
    Histogram,
}

/// Which tokens with the scope `admin` see a metric.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum SeenBy {
    /// Each, of the namespaces that it administers.
    Each,
    /// Those that administer all namespaces: what all clients do together tells about the others'.
    All,
}

static METRICS: [Metric; 14] = [
    Metric {
        name: "randflake_serve_info",
        kind: MetricKind::Gauge,
        help: "The server's version.",
        seen_by: SeenBy::Each,
        write: |_, out| out.value(&[("version", env!("CARGO_PKG_VERSION"))], 1),
    },
    Metric {
        name: "randflake_serve_uptime_seconds",
        kind: MetricKind::Gauge,
        help: "Since the server was started.",
        seen_by: SeenBy::Each,
        write: |source, out| out.value(&[], source.app.service.uptime().as_secs_f64()),
    },
    Metric {
        name: "randflake_serve_ready",
        kind: MetricKind::Gauge,
        help: "Whether a namespace issues ids.",
        seen_by: SeenBy::Each,
        write: |source, out| {
            for space in source.spaces() {
                let is_ready = space.health().is_some_and(|health| health.is_ready());
                out.value(&[("namespace", space.name())], u8::from(is_ready));
            }
        },
    },
    Metric {
        name: "randflake_serve_ids_total",
        kind: MetricKind::Counter,
        help: "Ids that were answered.",
        seen_by: SeenBy::Each,
        write: |source, out| {
            for space in source.spaces() {
                out.value(&[("namespace", space.name())], space.issued.get());
            }
        },
    },
    Metric {
        name: "randflake_serve_tokens",
        kind: MetricKind::Gauge,
        help: "Tokens of the file that have not expired.",
        seen_by: SeenBy::Each,
        write: |source, out| out.value(&[], source.app.service.access.valid()),
    },
    Metric {
        name: "randflake_serve_tokens_stale",
        kind: MetricKind::Gauge,
        help: "Whether the file of tokens cannot be used, so that revoked ones still count.",
        seen_by: SeenBy::Each,
        write: |source, out| out.value(&[], u8::from(source.app.service.access.is_stale())),
    },
    Metric {
        name: "randflake_serve_requests_total",
        kind: MetricKind::Counter,
        help: "Requests and commands.",
        seen_by: SeenBy::All,
        write: |source, out| {
            for (protocol, answers) in source.answers() {
                for (status, count) in answers.counts() {
                    out.value(&[("protocol", protocol), ("status", status.name())], count);
                }
            }
        },
    },
    Metric {
        name: "randflake_serve_request_duration_seconds",
        kind: MetricKind::Histogram,
        help: "How long a request took; in the Redis protocol, all commands that one read brought.",
        seen_by: SeenBy::All,
        write: |source, out| {
            for (protocol, answers) in source.answers() {
                out.times(protocol, &answers.times);
            }
        },
    },
    Metric {
        name: "randflake_serve_refusals_total",
        kind: MetricKind::Counter,
        help: "Requests that were refused.",
        seen_by: SeenBy::All,
        write: |source, out| {
            for (kind, count) in source.counters().refusals() {
                out.value(&[("kind", kind)], count);
            }
        },
    },
    Metric {
        name: "randflake_serve_connections",
        kind: MetricKind::Gauge,
        help: "Open connections.",
        seen_by: SeenBy::All,
        write: |source, out| {
            for (protocol, connections) in source.connections() {
                out.value(&[("protocol", protocol)], connections.open.get());
            }
        },
    },
    Metric {
        name: "randflake_serve_connections_total",
        kind: MetricKind::Counter,
        help: "Connections, by what became of them.",
        seen_by: SeenBy::All,
        write: |source, out| {
            for (protocol, connections) in source.connections() {
                let outcomes = [
                    ("accepted", &connections.accepted),
                    ("refused", &connections.refused),
                    ("failed_handshake", &connections.failed_handshakes),
                ];
                for (outcome, count) in outcomes {
                    out.value(&[("protocol", protocol), ("outcome", outcome)], count.get());
                }
            }
        },
    },
    Metric {
        name: "randflake_serve_memory_bytes",
        kind: MetricKind::Gauge,
        help: "What clients with a token, and guests without one, hold of the memory that --memory allows.",
        seen_by: SeenBy::All,
        write: |source, out| {
            for part in source.app.memory.parts() {
                out.value(&[("part", part.name)], part.used);
            }
        },
    },
    Metric {
        name: "randflake_serve_memory_limit_bytes",
        kind: MetricKind::Gauge,
        help: "What they may hold.",
        seen_by: SeenBy::All,
        write: |source, out| {
            for part in source.app.memory.parts() {
                out.value(&[("part", part.name)], part.limit);
            }
        },
    },
    Metric {
        name: "randflake_serve_memory_refusals_total",
        kind: MetricKind::Counter,
        help: "Requests refused for memory, and guests' connections closed to make room for others.",
        seen_by: SeenBy::All,
        write: |source, out| {
            let counts = source.app.memory.refused();
            out.value(&[("of", "request")], counts.requests);
            out.value(&[("of", "connection")], counts.connections);
        },
    },
];

/// Where values come from.
struct Source<'a> {
    app: &'a App,
    principal: &'a Principal,
}

impl Source<'_> {
    /// Namespaces that the administrator sees.
    fn spaces(&self) -> impl Iterator<Item = &Arc<ServedNamespace>> {
        self.app.service.spaces_of(self.principal)
    }

    fn counters(&self) -> &Counters {
        &self.app.service.counters
    }

    fn answers(&self) -> [(&'static str, &Answers); 2] {
        let counters = self.counters();
        [
            ("http", &counters.http_answers),
            ("resp", &counters.resp_answers),
        ]
    }

    fn connections(&self) -> [(&'static str, &Connections); 2] {
        let counters = self.counters();
        [("http", &counters.http), ("resp", &counters.resp)]
    }

    fn write(&self, text: &mut String) {
        let sees_all = self.app.service.is_admin_of_all(self.principal);
        for metric in &METRICS {
            if metric.seen_by == SeenBy::Each || sees_all {
                let (name, kind) = (metric.name, metric.kind.name());
                // A string takes all that is written, here and below.
                _ = writeln!(text, "# HELP {name} {}\n# TYPE {name} {kind}", metric.help);
                (metric.write)(self, &mut Values { text, name });
            }
        }
    }
}

/// Values of one metric.
struct Values<'a> {
    text: &'a mut String,
    name: &'static str,
}

impl Values<'_> {
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

impl MetricKind {
    const fn name(self) -> &'static str {
        match self {
            Self::Counter => "counter",
            Self::Gauge => "gauge",
            Self::Histogram => "histogram",
        }
    }
}

pub(super) async fn metrics(request: ApiRequest) -> Result<Response, Refusal> {
    request.begin(Weight::OVERVIEW, &[])?;
    request.must_have(Scope::Admin)?;
    let ApiRequest { app, principal, .. } = &request;
    for space in app.service.spaces_of(principal) {
        // For how many node ids are leased. Metrics are wanted most when the store does not answer.
        _ = timeout(PATIENCE, app.dashboards.of(space)).await;
    }
    let mut text = String::new();
    Recorded::global().write(&mut text, |namespace| principal.sees(namespace));
    Source { app, principal }.write(&mut text);
    let kind = "text/plain; version=0.0.4; charset=utf-8";
    Ok(([(CONTENT_TYPE, kind)], text).into_response())
}

/// Formats labels, such as `{namespace="orders"}`; nothing without any.
fn labels<'a>(pairs: impl IntoIterator<Item = (&'a str, &'a str)>) -> String {
    let written: Vec<_> = pairs
        .into_iter()
        .map(|(name, value)| {
            let slashes = value.replace('\\', r"\\");
            let escaped = slashes.replace('"', r#"\""#).replace('\n', r"\n");
            format!("{name}=\"{escaped}\"")
        })
        .collect();
    if written.is_empty() {
        return String::new();
    }
    format!("{{{}}}", written.join(","))
}

/// By name, then by labels as they are written, and whose namespace it is.
type MetricValues =
    BTreeMap<(String, MetricKind), BTreeMap<(String, Option<String>), Arc<AtomicU64>>>;

#[derive(Default)]
struct Metrics {
    values: MetricValues,
    /// What each metric is, by its name.
    help: BTreeMap<String, SharedString>,
}

/// Keeps the last value of each counter and gauge.
#[derive(Clone, Default)]
pub(super) struct Recorded(Arc<Mutex<Metrics>>);

impl Recorded {
    /// That of this process. The facade has one place for it.
    pub(super) fn global() -> &'static Self {
        static RECORDED: OnceLock<Recorded> = OnceLock::new();
        RECORDED.get_or_init(|| {
            let recorded = Self::default();
            // Nobody else sets one: it is a program.
            _ = metrics::set_global_recorder(recorded.clone());
            recorded
        })
    }

    fn value(&self, kind: MetricKind, key: &Key) -> Arc<AtomicU64> {
        let pairs = || key.labels().map(|label| (label.key(), label.value()));
        let namespace = pairs()
            .find(|(name, _)| *name == "namespace")
            .map(|(_, value)| value.to_owned());
        // Taken when a metric is registered, not when it counts: handles keep what they get.
        let mut kept = lock(&self.0);
        let family = kept
            .values
            .entry((key.name().to_owned(), kind))
            .or_default();
        Arc::clone(family.entry((labels(pairs()), namespace)).or_default())
    }

    fn describe(&self, name: &KeyName, help: SharedString) {
        // The library's own, which have nothing to escape.
        lock(&self.0).help.insert(name.as_str().to_owned(), help);
    }

    /// Those of the namespaces that may be seen, in the text format of Prometheus.
    pub(super) fn write(&self, text: &mut String, sees: impl Fn(&str) -> bool) {
        let kept = lock(&self.0);
        for ((name, kind), family) in &kept.values {
            let shown = kind.name();
            if let Some(help) = kept.help.get(name) {
                _ = writeln!(text, "# HELP {name} {help}");
            }
            _ = writeln!(text, "# TYPE {name} {shown}");
            for ((labels, namespace), value) in family {
                // Without the label it is of no namespace, and everybody who may ask for metrics
                // sees it.
                if !namespace.as_deref().is_none_or(&sees) {
                    continue;
                }
                let bits = value.load(Ordering::Relaxed);
                _ = match kind {
                    MetricKind::Gauge => writeln!(text, "{name}{labels} {}", f64::from_bits(bits)),
                    MetricKind::Counter | MetricKind::Histogram => {
                        writeln!(text, "{name}{labels} {bits}")
                    }
                };
            }
        }
    }
}

impl Recorder for Recorded {
    fn describe_counter(&self, name: KeyName, _: Option<Unit>, help: SharedString) {
        self.describe(&name, help);
    }

    fn describe_gauge(&self, name: KeyName, _: Option<Unit>, help: SharedString) {
        self.describe(&name, help);
    }

    fn describe_histogram(&self, _: KeyName, _: Option<Unit>, _: SharedString) {}

    fn register_counter(&self, key: &Key, _: &Metadata<'_>) -> Counter {
        Counter::from_arc(self.value(MetricKind::Counter, key))
    }

    fn register_gauge(&self, key: &Key, _: &Metadata<'_>) -> Gauge {
        Gauge::from_arc(self.value(MetricKind::Gauge, key))
    }

    /// The library has none.
    fn register_histogram(&self, _: &Key, _: &Metadata<'_>) -> Histogram {
        Histogram::noop()
    }
}

#[cfg(test)]
mod tests {
    use core::iter::once;

    use randflake_std::lease::{MemoryStore, Namespace};
    use randflake_std::randflake_core::Layout as _;
    use randflake_std::{Randflake, SystemClock};

    use super::super::dashboard::Dashboards;
    use super::*;
    use crate::access::Access;
    use crate::budget::{MemoryBudget, MemoryLimits};
    use crate::log::RequestLog;
    use crate::service::Service;

    /// What an alert compares with is there before anything has happened.
    #[test]
    fn every_metric_has_values_from_the_start() {
        let namespace = Namespace::new("orders", Randflake::SPEC).unwrap();
        let store = MemoryStore::new(namespace.clone(), Arc::new(SystemClock));
        let open = Box::new(move || Ok(store.clone().into()));
        let space = ServedNamespace::new(namespace, None, open);
        let service = Arc::new(Service::new([space], Access::open(), RequestLog::default()));
        let app = App {
            dashboards: Dashboards::of_all(&service),
            service,
            memory: Arc::new(MemoryBudget::new(MemoryLimits::default())),
            store: String::new(),
            ticket_key: None,
        };
        let (mut text, principal) = (String::new(), Principal::anybody());
        let (app, principal) = (&app, &principal);
        Source { app, principal }.write(&mut text);
        for Metric { name, kind, .. } in &METRICS {
            let (_, after) = text
                .split_once(&format!("# TYPE {name} {}\n", kind.name()))
                .unwrap();
            assert!(after.starts_with(name), "{name} has no values:\n{text}");
        }
    }

    #[test]
    fn the_guide_lists_every_metric() {
        let guide = include_str!("../../../../docs/operations.md");
        let head = "| metric of the server | kind | meaning | seen by the administrators |\n|---|---|---|---|\n";
        let rows = METRICS.iter().map(|metric| {
            let seen_by = match metric.seen_by {
                SeenBy::Each => "of each namespace",
                SeenBy::All => "of all namespaces",
            };
            let (name, kind) = (metric.name, metric.kind.name());
            format!("| `{name}` | {kind} | {} | {seen_by} |\n", metric.help)
        });
        let table: String = once(head.to_owned()).chain(rows).collect();
        assert!(guide.contains(&table), "docs/operations.md lacks:\n{table}");
    }
}
