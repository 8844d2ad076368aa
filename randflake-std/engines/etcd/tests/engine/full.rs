//! Many node ids: all of them leased, with gaps, and many at once.

use core::time::Duration;
use std::collections::BTreeSet;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use harness::etcd::EtcdCluster;
use randflake_core::{Layout, LayoutSpec, Snowflake};
use randflake_etcd::EtcdStore;
use randflake_lease::{
    AcquireRequest, Grant, LeaseStore, Loss, Namespace, NodeIds, StoreError, Token,
};

use randflake_lease::testkit::leases::declared_new;

fn open(cluster: &EtcdCluster, namespace: &Namespace) -> LeaseStore {
    let url = cluster.url();
    declared_new(&url, EtcdStore::open(&url, namespace).unwrap()).unwrap()
}

/// Asks for node ids for a minute.
fn ask(store: &mut LeaseStore, nodes: NodeIds<'_>) -> Result<Vec<Grant>, StoreError> {
    let ttl = store.namespace().ticks(Duration::from_secs(60));
    let acquired = store.acquire(&AcquireRequest {
        token: Token::random().unwrap(),
        holder: "holder",
        nodes,
        ttl,
    });
    acquired.map(|acquired| acquired.grants)
}

#[test]
fn a_full_namespace_is_noted_until_a_release() {
    let cluster = EtcdCluster::start(1);
    let namespace = Namespace::new("orders", Snowflake).unwrap();
    let mut store = open(&cluster, &namespace);
    let mut grants = Vec::new();
    for count in [[100; 10].as_slice(), &[24]].concat() {
        grants.extend(ask(&mut store, NodeIds::Any(count)).unwrap());
    }
    for _ in 0..3 {
        let refused = ask(&mut store, NodeIds::Any(1));
        assert!(
            matches!(refused, Err(StoreError::Exhausted { .. })),
            "{refused:?}"
        );
    }
    let unused = unused(&grants[700]);
    store.release(&[unused]).unwrap();
    let again = ask(&mut store, NodeIds::Any(1)).unwrap()[0];
    assert_eq!(again.node_id, unused.node_id);
    for too_many in [NodeIds::Any(101), NodeIds::These(&[7; 101])] {
        let refused = ask(&mut store, too_many).unwrap_err().to_string();
        assert!(
            refused.contains("101") && refused.contains("at most 100"),
            "{refused}"
        );
    }
    // Split by the store.
    let ends = store.renew(&grants[..250], 60_000).unwrap().ends;
    assert_eq!(ends.len(), 250);
    assert!(
        ends.iter()
            .all(|end| end.is_ok_and(|end| end > grants[0].end)),
        "{ends:?}"
    );
    store.release(&grants[..250]).unwrap();
    let released = store.renew(&grants[..250], 60_000).unwrap().ends;
    assert_eq!(released, [Err(Loss::Released); 250]);
}

/// As chosen node ids leave them.
#[test]
fn a_page_with_gaps_is_filled() {
    let cluster = EtcdCluster::start(1);
    let namespace = Namespace::new("orders", Snowflake).unwrap();
    let mut store = open(&cluster, &namespace);
    let mut taken = BTreeSet::new();
    let mut take = |nodes: NodeIds<'_>| {
        let grants = ask(&mut store, nodes).unwrap();
        taken.extend(grants.iter().map(|grant| grant.node_id));
    };
    for first in (0..1_024).step_by(64) {
        let chosen: Vec<_> = (first..first + 64).step_by(2).collect();
        take(NodeIds::These(&chosen));
    }
    for count in [1; 12].into_iter().chain([100; 5]) {
        take(NodeIds::Any(count));
    }
    assert!(taken.into_iter().eq(0..1_024));
}

/// With so many node ids.
fn namespace_of_bits(bits: u32) -> Namespace {
    let mut fields = Snowflake::SPEC.fields();
    fields.tick_ms = 1_000;
    (fields.node_id.bits, fields.sequence.bits) = (bits, 0);
    fields.node_id.shift = 0;
    (fields.timestamp.shift, fields.timestamp.bits) = (bits, 63 - bits);
    Namespace::new(&format!("bits-{bits}"), LayoutSpec::new(fields).unwrap()).unwrap()
}

/// How many keys there are from one on, up to another.
fn count_keys(cluster: &EtcdCluster, first: &str, end: &str) -> u64 {
    let (key, end) = (STANDARD.encode(first), STANDARD.encode(end));
    let range = serde_json::json!({"key": key, "range_end": end, "count_only": true});
    let found = cluster.members[0].post("kv/range", &range.to_string());
    let found: serde_json::Value = serde_json::from_str(&found).unwrap();
    found["count"]
        .as_str()
        .map_or(0, |count| count.parse().unwrap())
}

#[test]
fn namespaces_of_any_size_open_and_grant_alike() {
    let cluster = EtcdCluster::start(1);
    for bits in [22, 32] {
        let namespace = namespace_of_bits(bits);
        let mut store = open(&cluster, &namespace);
        let max = u32::try_from(namespace.node_ids() - 1).unwrap();
        ask(&mut store, NodeIds::These(&[max])).unwrap();
        ask(&mut store, NodeIds::Any(50)).unwrap();
        let records = store.list().unwrap();
        assert_eq!((records.len(), records[50].grant.node_id), (51, max));
        let name = namespace.name();
        let [first, end] = ["/", "0"].map(|last| format!("randflake/{name}{last}"));
        // Beside the leases: the namespace's record, and at most sixteen hints.
        assert!((52..=68).contains(&count_keys(&cluster, &first, &end)));
    }
}

/// Of far apart node ids too, a release writes no more than a transaction has place for.
#[test]
fn leases_that_are_far_apart_are_released_together() {
    let cluster = EtcdCluster::start(1);
    let mut store = open(&cluster, &namespace_of_bits(22));
    let chosen: Vec<_> = (0..100).map(|number| number * 64).collect();
    let grants = ask(&mut store, NodeIds::These(&chosen)).unwrap();
    store
        .release(&grants.iter().map(unused).collect::<Vec<_>>())
        .unwrap();
    let released = store.renew(&grants, 60).unwrap().ends;
    assert_eq!(released, [Err(Loss::Released); 100]);
}

#[test]
fn drop_removes_first_and_last_key_of_each_kind() {
    let cluster = EtcdCluster::start(1);
    let mut store = open(&cluster, &Namespace::new("orders", Snowflake).unwrap());
    ask(&mut store, NodeIds::Any(1)).unwrap();
    for (kind, digits) in [("hint", 8), ("past", 12), ("device", 16)] {
        for number in ["0", "f"].map(|digit| digit.repeat(digits)) {
            let key = STANDARD.encode(format!("randflake/orders/{kind}/{number}"));
            let put = serde_json::json!({"key": key, "value": STANDARD.encode("text")});
            cluster.members[0].post("kv/put", &put.to_string());
        }
    }
    let [first, end] = ["/", "0"].map(|last| format!("randflake/orders{last}"));
    assert!(count_keys(&cluster, &first, &end) >= 8);
    store.administration().drop_namespace().unwrap();
    // The namespace's record says that it was dropped.
    assert_eq!(count_keys(&cluster, &first, &end), 1);
}

fn unused(grant: &Grant) -> Grant {
    Grant {
        end: grant.start,
        ..*grant
    }
}
