//! The contracts of stores, in an etcd cluster whose clock is the test's; and what becomes of
//! leases when the cluster forgets them.

#![cfg(unix)]
#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

mod continuity;
mod copies;
mod full;
mod replies;
mod trouble;

use core::time::Duration;
use std::collections::BTreeSet;
use std::sync::{Arc, Mutex};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use harness::etcd::EtcdCluster;
use randflake_core::ManualClock;
use randflake_etcd::EtcdStore;
use randflake_lease::unstable::rules::{CounterRecord, NamespaceRecord, VERSION};
use randflake_lease::{LeaseStore, MAX_SKEW, Namespace, StoreError};

use randflake_lease::testkit::counters::{Counters, NewCounters};
use randflake_lease::testkit::leases::declared_new;
use randflake_lease::testkit::leases::{BEGIN_UNIX_MS, Backend, patiently};
use randflake_lease::testkit::server;

fn open(url: &str, namespace: &Namespace) -> Result<LeaseStore, StoreError> {
    server::open(&randflake_etcd::ENGINE, url, namespace)
}

struct Etcd {
    cluster: EtcdCluster,
    clock: Arc<ManualClock>,
    seen: Mutex<BTreeSet<String>>,
    counters: NewCounters,
}

impl Etcd {
    fn new() -> Self {
        Self {
            cluster: EtcdCluster::start(1),
            clock: Arc::new(ManualClock::at_unix_ms(BEGIN_UNIX_MS)),
            seen: Mutex::default(),
            counters: NewCounters::default(),
        }
    }
}

impl Backend for Etcd {
    fn open(&self, namespace: &Namespace) -> Result<LeaseStore, StoreError> {
        let clock = Arc::clone(&self.clock);
        self.seen
            .lock()
            .unwrap()
            .insert(namespace.name().to_owned());
        let url = self.cluster.url();
        let store = EtcdStore::open_with_clock(&url, namespace, clock)?;
        declared_new(&url, store)
    }

    fn names(&self) -> Vec<String> {
        server::names(&randflake_etcd::ENGINE, &self.cluster.url())
    }

    fn find(&self, name: &str) -> Option<Namespace> {
        server::find(&randflake_etcd::ENGINE, &self.cluster.url(), name)
    }

    fn step_clock(&self, _: usize, ms: i64) {
        self.clock.step_ms(ms);
    }

    /// As a snapshot from before the first lease that is restored into another cluster.
    fn lose_memory(&self) {
        for name in &*self.seen.lock().unwrap() {
            restore_empty(&self.cluster, name);
        }
    }

    /// etcd limits a transaction.
    fn at_once(&self) -> u32 {
        100
    }

    fn filled(&self) -> Namespace {
        server::filled()
    }

    fn history_steps(&self) -> usize {
        server::history_steps()
    }

    fn history_clock_steps(&self) -> Duration {
        MAX_SKEW
    }
}

/// Deletes the leases of a namespace, and lets it be of another cluster.
fn restore_empty(cluster: &EtcdCluster, name: &str) {
    let member = &cluster.members[0];
    let key = |part: &str| STANDARD.encode(format!("randflake/{name}/{part}"));
    let range = format!(
        r#"{{"key":"{}","range_end":"{}"}}"#,
        key("lease/"),
        key("lease0")
    );
    member.post("kv/deleterange", &range);
    let read = member.post("kv/range", &format!(r#"{{"key":"{}"}}"#, key("namespace")));
    let read: serde_json::Value = serde_json::from_str(&read).unwrap();
    // Before the first acquire there is none.
    let Some(stored) = read["kvs"][0]["value"].as_str() else {
        return;
    };
    let stored = String::from_utf8(STANDARD.decode(stored).unwrap()).unwrap();
    let record = NamespaceRecord {
        fingerprint: "another:0".to_owned(),
        ..NamespaceRecord::from_text(&stored, VERSION).unwrap()
    };
    let stored = STANDARD.encode(record.to_text());
    let put = serde_json::json!({"key": key("namespace"), "value": stored});
    member.post("kv/put", &put.to_string());
}

/// Lets the counter of a namespace be of another cluster, where nobody has used it.
fn restore_unused(cluster: &EtcdCluster, name: &str) {
    let member = &cluster.members[0];
    let key = STANDARD.encode(format!("randflake/{name}/counter"));
    let read = member.post("kv/range", &serde_json::json!({ "key": key }).to_string());
    let read: serde_json::Value = serde_json::from_str(&read).unwrap();
    // Of a namespace of leases alone there is none.
    let Some(stored) = read["kvs"][0]["value"].as_str() else {
        return;
    };
    let stored = String::from_utf8(STANDARD.decode(stored).unwrap()).unwrap();
    let record = CounterRecord::from_text(&stored, VERSION).unwrap();
    let record = CounterRecord {
        next: record.terms.first(),
        counter_nonce: 0,
        vouched: "another:0".to_owned(),
        nonce: 0,
        ..record
    };
    let put = serde_json::json!({"key": key, "value": STANDARD.encode(record.to_text())});
    member.post("kv/put", &put.to_string());
}

randflake_lease::lease_contract!(Etcd::new());
randflake_lease::counter_contract!(Etcd::new());

impl Counters for Etcd {
    fn open_counter(&self, namespace: &Namespace) -> LeaseStore {
        let store = patiently(|| EtcdStore::open(&self.cluster.url(), namespace)).unwrap();
        self.counters.declared(namespace.name(), store).unwrap()
    }

    /// As a snapshot from before the first reservation that is restored into another cluster.
    fn lose_counters(&self) {
        let declared = self.counters.lose();
        let opened = self.seen.lock().unwrap().clone();
        let names: BTreeSet<_> = opened.into_iter().chain(declared).collect();
        for name in names {
            restore_unused(&self.cluster, &name);
        }
    }

    fn counter_steps(&self) -> usize {
        600
    }

    fn has_url(&self) -> bool {
        true
    }
}
