//! Counters and gauges of a handle. Without the feature `metrics` nothing is counted.

#[cfg(feature = "metrics")]
use core::sync::atomic::{AtomicU64, Ordering};
use core::time::Duration;

#[cfg(feature = "metrics")]
use ::metrics::{counter, describe_counter, describe_gauge, gauge};
use randflake_core::GenerateError;

/// How often the keeper reports what was issued.
#[cfg(feature = "metrics")]
pub(crate) const REPORT_EVERY: Option<Duration> = Some(Duration::from_secs(1));
#[cfg(not(feature = "metrics"))]
pub(crate) const REPORT_EVERY: Option<Duration> = None;

/// Functions with this body, or with an empty one without the feature.
macro_rules! metrics {
    ($(
        $(#[$attribute:meta])*
        fn $name:ident($(&$self:ident,)? $($argument:ident: $type:ty),*) $body:block
    )*) => {$(
        $(#[$attribute])*
        #[cfg(feature = "metrics")]
        pub(crate) fn $name($(&$self,)? $($argument: $type),*) $body
        #[cfg(not(feature = "metrics"))]
        #[inline]
        pub(crate) fn $name($(&$self,)? $(_: $type),*) {}
    )*};
}

/// Name and help of each counter; `observability` says more.
#[cfg(feature = "metrics")]
const COUNTERS: [(&str, &str); 6] = [
    (
        "randflake_acquires_total",
        "Calls of the store that granted leases.",
    ),
    (
        "randflake_renewals_total",
        "Renewals that the store answered.",
    ),
    (
        "randflake_store_failures_total",
        "Calls of the store that failed.",
    ),
    (
        "randflake_leases_lost_total",
        "Leases that were lost, by the reason.",
    ),
    (
        "randflake_ids_issued_total",
        "Ids, also those taken in advance.",
    ),
    (
        "randflake_exhaustions_total",
        "Refusals because a tick's sequences were exhausted.",
    ),
];

/// The same for gauges.
#[cfg(feature = "metrics")]
const GAUGES: [(&str, &str); 9] = [
    (
        "randflake_lease_expires_timestamp_seconds",
        "When the last lease expires, as Unix time; 0 once the handle is closed.",
    ),
    (
        "randflake_lease_ttl_seconds",
        "How long a lease lasts unless it is renewed.",
    ),
    (
        "randflake_quarantine_end_timestamp_seconds",
        "When the store's quarantine ends, as Unix time; 0 without one.",
    ),
    ("randflake_leases_held", "Node ids with a live lease."),
    (
        "randflake_node_ids_wanted",
        "Node ids that the load of an elastic handle needs.",
    ),
    (
        "randflake_capacity_ids_per_second",
        "Ids that the leases held allow.",
    ),
    (
        "randflake_layout_end_timestamp_seconds",
        "When the layout's last tick ends, as Unix time.",
    ),
    (
        "randflake_store_skew_seconds",
        "The store's clock minus this machine's.",
    ),
    (
        "randflake_occupancy_ratio",
        "Part of the namespace's node ids that are leased.",
    ),
];

/// Tells the recorder what each metric is.
#[cfg(feature = "metrics")]
fn describe() {
    for (name, help) in COUNTERS {
        describe_counter!(name, help);
    }
    for (name, help) in GAUGES {
        describe_gauge!(name, help);
    }
}

metrics! {
    /// Registers every counter at zero: an increase is noticed only from what was there before it.
    fn begin(namespace: &str, ttl: Duration, reasons: &[&'static str]) {
        describe();
        // Owned: a recorder keeps labels for as long as it lives.
        let label = || namespace.to_owned();
        for reason in reasons {
            counter!("randflake_leases_lost_total", "namespace" => label(), "reason" => *reason)
                .increment(0);
        }
        // The names that `failed` is called with.
        for operation in ["acquire", "renew", "release"] {
            counter!(
                "randflake_store_failures_total", "namespace" => label(), "operation" => operation
            )
            .increment(0);
        }
        let others = [
            counter!("randflake_acquires_total", "namespace" => label()),
            counter!("randflake_renewals_total", "namespace" => label()),
            counter!("randflake_ids_issued_total", "namespace" => label()),
            counter!("randflake_exhaustions_total", "namespace" => label()),
        ];
        for counter in others {
            counter.increment(0);
        }
        gauge!("randflake_lease_ttl_seconds", "namespace" => label()).set(ttl.as_secs_f64());
        gauge!("randflake_leases_held", "namespace" => label()).set(0.0);
        // None that is known of: a former handle of this process may have left one behind.
        quarantined(namespace, Duration::ZERO);
    }

    fn acquired(namespace: &str) {
        counter!("randflake_acquires_total", "namespace" => namespace.to_owned()).increment(1);
    }

    fn renewed(namespace: &str) {
        counter!("randflake_renewals_total", "namespace" => namespace.to_owned()).increment(1);
    }

    fn lost(namespace: &str, reason: &'static str) {
        let label = namespace.to_owned();
        counter!("randflake_leases_lost_total", "namespace" => label, "reason" => reason).increment(1);
    }

    fn failed(namespace: &str, operation: &'static str) {
        let label = namespace.to_owned();
        counter!(
            "randflake_store_failures_total", "namespace" => label, "operation" => operation
        )
        .increment(1);
    }

    #[expect(clippy::cast_precision_loss, reason = "node ids are 32 bits wide")]
    fn leases(namespace: &str, held: usize) {
        gauge!("randflake_leases_held", "namespace" => namespace.to_owned()).set(held as f64);
    }

    /// When the last lease expires, as Unix time: a time stays true until the next report. Zero
    /// when the handle is closed.
    fn expires(namespace: &str, at: Duration) {
        gauge!("randflake_lease_expires_timestamp_seconds", "namespace" => namespace.to_owned())
            .set(at.as_secs_f64());
    }

    /// End of the quarantine that the store last reported, as Unix time; zero once it has granted
    /// since.
    fn quarantined(namespace: &str, until: Duration) {
        gauge!("randflake_quarantine_end_timestamp_seconds", "namespace" => namespace.to_owned())
            .set(until.as_secs_f64());
    }

    /// What the layout allows: ids a second by the leases held, and until when, as Unix time.
    fn limits(namespace: &str, ids_per_second: f64, end: Duration) {
        let label = namespace.to_owned();
        gauge!("randflake_capacity_ids_per_second", "namespace" => label.clone()).set(ids_per_second);
        gauge!("randflake_layout_end_timestamp_seconds", "namespace" => label).set(end.as_secs_f64());
    }

    fn wanted(namespace: &str, wanted: u32) {
        gauge!("randflake_node_ids_wanted", "namespace" => namespace.to_owned()).set(f64::from(wanted));
    }

    fn skew(namespace: &str, store: Duration, here: Duration) {
        let skew = store.as_secs_f64() - here.as_secs_f64();
        gauge!("randflake_store_skew_seconds", "namespace" => namespace.to_owned()).set(skew);
    }

    #[expect(clippy::cast_precision_loss, reason = "node ids are 32 bits wide")]
    fn occupancy(namespace: &str, live: u64, total: u64) {
        // It may be called without a handle.
        describe();
        let ratio = live as f64 / total as f64;
        gauge!("randflake_occupancy_ratio", "namespace" => namespace.to_owned()).set(ratio);
    }
}

/// What was issued and refused since the last report.
#[derive(Debug, Default)]
pub(crate) struct UsageTally {
    #[cfg(feature = "metrics")]
    issued: AtomicU64,
    #[cfg(feature = "metrics")]
    exhausted: AtomicU64,
}

impl UsageTally {
    pub(crate) fn new() -> Self {
        Self::default()
    }

    metrics! {
        #[inline]
        fn issued(&self, count: u64) {
            // Relaxed: only the sum counts, and the keeper takes it a second later.
            self.issued.fetch_add(count, Ordering::Relaxed);
        }

        #[cold]
        fn refused(&self, error: GenerateError) {
            // Only this is a lack of ids, which more node ids help against; the others show in
            // leases and store failures.
            if let GenerateError::SequenceExhausted { .. } = error {
                self.exhausted.fetch_add(1, Ordering::Relaxed);
            }
        }

        fn report(&self, namespace: &str) {
            let label = || namespace.to_owned();
            // Relaxed: each count is taken once, and nothing else is read by it.
            let issued = self.issued.swap(0, Ordering::Relaxed);
            // An idle handle calls no recorder.
            if issued > 0 {
                counter!("randflake_ids_issued_total", "namespace" => label()).increment(issued);
            }
            let exhausted = self.exhausted.swap(0, Ordering::Relaxed);
            if exhausted > 0 {
                counter!("randflake_exhaustions_total", "namespace" => label()).increment(exhausted);
            }
        }
    }
}
