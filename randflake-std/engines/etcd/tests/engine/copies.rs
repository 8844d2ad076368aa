//! Keys of one cluster in another: refused, because the original may be in use.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use harness::etcd::EtcdCluster;
use randflake_etcd::EtcdStore;
use randflake_lease::{LeaseStore, StoreError};

use super::continuity::{assert_quarantined, open_store};
use randflake_lease::testkit::leases::{TTL, acquire, acquire_one, eight};

/// As `etcdctl make-mirror` does it; a snapshot that is restored with another token is the same to
/// the store.
fn mirror(from: &EtcdCluster, to: &EtcdCluster) {
    let [first, behind] = ["randflake/", "randflake0"].map(|key| STANDARD.encode(key));
    let range = format!(r#"{{"key":"{first}","range_end":"{behind}"}}"#);
    let read = from.members[0].post("kv/range", &range);
    let read: serde_json::Value = serde_json::from_str(&read).unwrap();
    for kv in read["kvs"].as_array().unwrap() {
        let put = serde_json::json!({"key": kv["key"], "value": kv["value"]});
        to.members[0].post("kv/put", &put.to_string());
    }
}

#[test]
fn keys_in_another_cluster_must_be_declared_moved() {
    let [original, copy] = [EtcdCluster::start(1), EtcdCluster::start(1)];
    let mut holder = open_store(&original);
    let grant = acquire_one(&mut holder, 1);
    mirror(&original, &copy);

    let open = || EtcdStore::open(&copy.url(), &eight("orders")).unwrap();
    let is_refused = |store: &mut LeaseStore| {
        for refused in [
            acquire(store, 2, 1).map(drop).unwrap_err(),
            store.renew(&[grant], TTL).map(drop).unwrap_err(),
            store.administration().override_quarantine().unwrap_err(),
        ] {
            assert!(
                matches!(refused, StoreError::FailedPrecondition(_)),
                "{refused:?}"
            );
            let said = refused.to_string();
            for part in [
                "those of the etcd cluster ",
                "this is the etcd cluster ",
                "lease init --moved",
            ] {
                assert!(said.contains(part), "{said}");
            }
        }
    };
    let mut store = open();
    is_refused(&mut store);
    acquire_one(&mut holder, 3);

    assert!(store.administration().declare_moved().unwrap().is_some());
    assert_quarantined(&mut store);
    assert_quarantined(&mut open());
}
