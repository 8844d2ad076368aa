//! Events and metrics of a handle with the features `tracing` and `metrics`, to a real subscriber
//! and recorder. Both are the process's own, so there is one test.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use core::fmt::{Debug, Write};
use core::sync::atomic::{AtomicU64, Ordering};
use core::time::Duration;
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Instant;

use metrics_util::debugging::{DebugValue, DebuggingRecorder, Snapshotter};
use randflake_core::Clock;
use randflake_std::lease::{MemoryStore, Namespace, occupancy};
use randflake_std::{
    BuildError, Builder, DEFAULT_TTL, ExactSystemClock, Handle, Health, Id, Plain, Randflake,
    Secret, Snowflake,
};
use tracing::field::{Field, Visit};
use tracing::{Event, Subscriber};
use tracing_subscriber::layer::{Context, Layer, SubscriberExt};
use tracing_subscriber::registry::LookupSpan;

/// Its end is not waited for. So long that the machine may stand still for seconds.
const TTL: Duration = Duration::from_secs(6);
/// Far longer than what is waited for takes, on a busy machine too.
const PATIENCE: Duration = Duration::from_secs(60);

/// The real time, ahead by what the test says.
#[derive(Debug, Default)]
struct StoreClock {
    ahead_ms: AtomicU64,
}

impl StoreClock {
    fn step(&self, by: Duration) {
        let ms = by.as_millis().try_into().unwrap();
        self.ahead_ms.fetch_add(ms, Ordering::SeqCst);
    }
}

impl Clock for StoreClock {
    fn now(&self) -> Option<Duration> {
        let ahead = Duration::from_millis(self.ahead_ms.load(Ordering::SeqCst));
        Some(ExactSystemClock.now()? + ahead)
    }
}

/// Events as lines: the span, the message, the fields.
#[derive(Clone, Debug, Default)]
struct Lines(Arc<Mutex<Vec<String>>>);

impl<S: Subscriber + for<'a> LookupSpan<'a>> Layer<S> for Lines {
    fn on_event(&self, event: &Event<'_>, context: Context<'_, S>) {
        let span = context.lookup_current();
        let mut line = Line(span.map_or(String::new(), |span| format!("{}: ", span.name())));
        event.record(&mut line);
        self.0.lock().unwrap().push(line.0);
    }
}

struct Line(String);

impl Visit for Line {
    fn record_debug(&mut self, field: &Field, value: &dyn Debug) {
        write!(self.0, "{}={value:?} ", field.name()).unwrap();
    }
}

impl Lines {
    fn have(&self, wanted: &[&str]) -> bool {
        let lines = self.0.lock().unwrap();
        lines
            .iter()
            .any(|line| wanted.iter().all(|word| line.contains(word)))
    }

    /// Generous: a renewal comes after a third of the TTL.
    fn wait_for(&self, wanted: &[&str]) {
        let begin = Instant::now();
        while !self.have(wanted) {
            let in_time = begin.elapsed() < PATIENCE;
            assert!(in_time, "{wanted:?}: {:?}", self.0.lock().unwrap());
            thread::sleep(Duration::from_millis(20));
        }
    }
}

#[derive(Default)]
struct Metrics {
    /// What has been counted by all snapshots so far.
    counters: BTreeMap<String, u64>,
    gauges: BTreeMap<String, f64>,
}

impl Metrics {
    fn update(&mut self, snapshotter: &Snapshotter) {
        for (key, _, description, value) in snapshotter.snapshot().into_vec() {
            let key = key.key();
            assert!(description.is_some(), "{key} has no help");
            assert!(
                key.labels().any(|label| label.key() == "namespace"),
                "{key}"
            );
            let name = key.name().to_owned();
            match value {
                DebugValue::Counter(count) => *self.counters.entry(name).or_default() += count,
                DebugValue::Gauge(value) => {
                    self.gauges.insert(name, value.0);
                }
                DebugValue::Histogram(_) => {}
            }
        }
    }
}

/// An increase is seen only of what was there before: all counters, with each reason and operation.
fn counters_begin_at_zero(snapshotter: &Snapshotter) {
    let mut series: Vec<_> = snapshotter.snapshot().into_vec();
    series.retain(|(_, _, _, value)| matches!(value, DebugValue::Counter(0)));
    let series: Vec<_> = series
        .iter()
        .map(|(key, ..)| key.key().to_string())
        .collect();
    let losses = ["expired", "released", "contested", "forgotten"];
    let operations = ["acquire", "renew", "release"];
    for label in losses.iter().chain(&operations) {
        assert_eq!(
            series
                .iter()
                .filter(|series: &&String| series.contains(&format!("= {label}]")))
                .count(),
            1,
            "{label}: {series:?}"
        );
    }
    for name in ["renewals", "ids_issued", "exhaustions"] {
        let name = format!("randflake_{name}_total");
        assert!(
            series.iter().any(|series| series.contains(&name)),
            "{name}: {series:?}"
        );
    }
}

/// What was issued is reported long before the next renewal.
fn ids_are_counted_between_renewals(snapshotter: &Snapshotter) {
    let namespace = Namespace::new("counted", Snowflake).unwrap();
    let store = MemoryStore::new(namespace, Arc::new(ExactSystemClock));
    let handle = Builder::new(Snowflake, Plain, store).build().unwrap();
    counters_begin_at_zero(snapshotter);
    let mut metrics = Metrics::default();
    let begin = Instant::now();
    for issued in 1..=2 {
        handle.generate().unwrap();
        while metrics.counters.get("randflake_ids_issued_total") != Some(&issued) {
            assert!(begin.elapsed() < PATIENCE, "{:?}", metrics.counters);
            thread::sleep(Duration::from_millis(20));
            metrics.update(snapshotter);
        }
    }
    assert_eq!(metrics.counters["randflake_renewals_total"], 0);
    handle.close().unwrap();
}

/// An elastic handle in a namespace of which it can have two node ids. Gives how many ids were
/// issued.
fn short_of_node_ids(lines: &Lines) -> u64 {
    let namespace = Namespace::new("full", Snowflake).unwrap();
    let store = MemoryStore::new(namespace, Arc::new(ExactSystemClock));
    let builder = || Builder::new(Snowflake, Plain, store.clone());
    let others = builder().node_ids(1_022).build().unwrap();
    let handle = builder().node_ids(1..=4).build().unwrap();
    let mut ids = vec![Id::from_u64(0); 100_000];
    let mut issued = 0;
    let begin = Instant::now();
    while !lines.have(&["short of node ids", "held=2", "wanted=4", "too few"]) {
        assert!(begin.elapsed() < PATIENCE, "{lines:?}");
        issued += handle.fill(&mut ids).unwrap_or_default() as u64;
    }
    lines.wait_for(&["node ids held", "held=2", "wanted=2", "namespace=\"full\""]);
    assert!(matches!(handle.health(), Health::Short { .. }));
    let waiting = builder().wait(Duration::from_secs(1)).build();
    assert!(matches!(waiting, Err(BuildError::Waited { .. })));
    lines.wait_for(&["waiting for a lease", "limit_s=", "too few"]);
    handle.close().unwrap();
    others.close().unwrap();
    issued
}

#[test]
fn a_handle_tells_what_befalls_it() {
    let lines = Lines::default();
    let subscriber = tracing_subscriber::registry().with(lines.clone());
    tracing::subscriber::set_global_default(subscriber).unwrap();
    let recorder = DebuggingRecorder::new();
    let snapshotter = recorder.snapshotter();
    recorder.install().unwrap();

    ids_are_counted_between_renewals(&snapshotter);
    let clock = Arc::new(StoreClock::default());
    let namespace = Namespace::new("orders", Snowflake).unwrap();
    let mut store = MemoryStore::new(namespace, Arc::clone(&clock));
    let handle = Builder::new(Snowflake, Plain, store.clone())
        .node_ids(2)
        .ttl(TTL)
        .build()
        .unwrap();
    lines.wait_for(&[
        "acquire: ",
        "lease acquired",
        "node_id=1",
        "namespace=\"orders\"",
    ]);
    assert!(matches!(handle.health(), Health::Ready { .. }));

    // More than the two node ids have for a millisecond.
    let mut ids = vec![Id::from_u64(0); 100_000];
    let mut issued = 0;
    let begin = Instant::now();
    loop {
        assert!(begin.elapsed() < PATIENCE, "{issued}, none refused");
        issued += handle.fill(&mut ids).unwrap_or_default() as u64;
        // In the same millisecond, unless the machine stood still.
        match handle.generate() {
            Ok(_) => issued += 1,
            Err(_) => break,
        }
    }
    let occupied = occupancy(&mut store).unwrap();
    assert_eq!((occupied.live, occupied.total), (2, 1_024));

    // A copy of the process renews.
    let records = store.list().unwrap();
    let grants: Vec<_> = records.iter().map(|record| record.grant).collect();
    store.renew(&grants[..1], 1_000).unwrap();
    lines.wait_for(&["lease lost", "node_id=0", "reason=\"contested\""]);
    lines.wait_for(&["lease acquired", "node_id=2"]);
    assert_eq!(handle.lease().losses.contested, 1);

    clock.step(TTL * 2);
    lines.wait_for(&["renew: ", "store clock stepped", "by_ms="]);
    lines.wait_for(&["lease lost", "reason=\"expired\""]);
    store.fail_next(1);
    lines.wait_for(&["store call failed", "told to fail"]);
    lines.wait_for(&["leases renewed", "count=2"]);

    handle.close().unwrap();
    assert!(matches!(handle.health(), Health::Closed));
    issued += short_of_node_ids(&lines);
    let mut metrics = Metrics::default();
    metrics.update(&snapshotter);
    let Metrics { counters, gauges } = metrics;
    assert_eq!(counters["randflake_ids_issued_total"], issued);
    assert!(counters["randflake_exhaustions_total"] > 0);
    assert!(counters["randflake_acquires_total"] >= 2, "{counters:?}");
    // Three times in a TTL, and not whenever the keeper wakes.
    let renewals = counters["randflake_renewals_total"];
    assert!((1..1_000).contains(&renewals), "{counters:?}");
    assert!(counters["randflake_leases_lost_total"] >= 2, "{counters:?}");
    assert!(
        counters["randflake_store_failures_total"] >= 1,
        "{counters:?}"
    );
    assert_eq!(gauges["randflake_leases_held"].to_bits(), 0.0_f64.to_bits());
    assert!(
        gauges["randflake_store_skew_seconds"].abs() < 60.0,
        "{gauges:?}"
    );
    assert!((gauges["randflake_occupancy_ratio"] - 2.0 / 1_024.0).abs() < 1e-9);
    let zero = 0.0_f64.to_bits();
    assert_eq!(
        gauges["randflake_lease_expires_timestamp_seconds"].to_bits(),
        zero
    );
    assert_eq!(
        gauges["randflake_quarantine_end_timestamp_seconds"].to_bits(),
        zero
    );
    let ttls = [TTL, DEFAULT_TTL].map(|ttl| ttl.as_secs_f64().to_bits());
    assert!(ttls.contains(&gauges["randflake_lease_ttl_seconds"].to_bits()));
    assert!(gauges["randflake_capacity_ids_per_second"].abs() < 1e-9); // It is closed.
    let end = 3_487_866_752.0; // 2080-07-10
    assert!((gauges["randflake_layout_end_timestamp_seconds"] - end).abs() < 86_400.0);
    assert_eq!(
        gauges["randflake_node_ids_wanted"].to_bits(),
        4.0_f64.to_bits()
    );
    leases_of_a_secret_are_local(&lines);
}

/// Plain ids have no secret that another machine could have.
fn leases_of_a_secret_are_local(lines: &Lines) {
    assert!(!lines.have(&["leases are local"]), "{lines:?}");
    let namespace = Namespace::new("given", Randflake).unwrap();
    let store = MemoryStore::new(namespace, Arc::new(ExactSystemClock));
    let secret = Secret::generate().unwrap();
    let handle = Handle::builder(&secret, store).build().unwrap();
    let event = [
        "leases are local",
        "namespace=\"given\"",
        "place=\"the store in memory\"",
    ];
    assert!(lines.have(&event), "{lines:?}");
    handle.close().unwrap();
}
