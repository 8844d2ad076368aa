//! The metrics of the handles, as they are recorded through the facade of the crate `metrics`.

use core::fmt::Write as _;
use core::sync::atomic::{AtomicU64, Ordering};
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, OnceLock};

use metrics::{Counter, Gauge, Histogram, Key, KeyName, Metadata, Recorder, SharedString, Unit};

use super::exposition::labels;
use crate::lock::lock;

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum MetricKind {
    Counter,
    Gauge,
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
        let namespace = pairs().find(|(name, _)| *name == "namespace");
        let namespace = namespace.map(|(_, value)| value.to_owned());
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
            let shown = match kind {
                MetricKind::Counter => "counter",
                MetricKind::Gauge => "gauge",
            };
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
                    MetricKind::Counter => writeln!(text, "{name}{labels} {bits}"),
                    MetricKind::Gauge => writeln!(text, "{name}{labels} {}", f64::from_bits(bits)),
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
