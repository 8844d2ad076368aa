//! Lost data of an etcd cluster, and its refusals: by its members' clocks.

use core::time::Duration;
use std::thread;
use std::time::{SystemTime, UNIX_EPOCH};

use crate::open;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use harness::etcd::{Backup, EtcdCluster};
use randflake_etcd::EtcdStore;
use randflake_lease::CounterError;
use randflake_lease::Loss;
use randflake_lease::{DEFAULT_MAX_TTL, Grant, LeaseStore, StoreError};

use randflake_lease::testkit::leases::declared_new;
use randflake_lease::testkit::leases::{TTL, acquire, acquire_one, eight, record_of};

const MAX_TTL: Duration = DEFAULT_MAX_TTL;

pub(crate) fn open_store(cluster: &EtcdCluster) -> LeaseStore {
    let url = cluster.url();
    declared_new(&url, EtcdStore::open(&url, &eight("orders")).unwrap()).unwrap()
}

pub(crate) fn assert_quarantined(store: &mut LeaseStore) {
    let refused = acquire(store, 99, 1);
    assert!(
        matches!(refused, Err(StoreError::Quarantined { retry_in, .. }) if retry_in > MAX_TTL),
        "{refused:?}"
    );
}

fn goes_on(store: &mut LeaseStore, grant: Grant) -> bool {
    store.renew(&[grant], TTL).unwrap().ends[0].is_ok_and(|end| end >= grant.end)
}

fn delete(cluster: &EtcdCluster, key: &str) {
    let range = format!(r#"{{"key":"{}"}}"#, STANDARD.encode(key));
    cluster.members[0].post("kv/deleterange", &range);
}

#[test]
fn the_clock_is_the_members() {
    let cluster = EtcdCluster::start(1);
    let mut store = open_store(&cluster);
    for _ in 0..10 {
        let here = || SystemTime::now().duration_since(UNIX_EPOCH).unwrap();
        let before = here();
        let now = store.now().unwrap();
        let after = here();
        // It shows whole seconds; the rest is for a busy machine.
        assert!(
            now <= after && now + Duration::from_secs(5) > before,
            "{now:?} from {before:?} to {after:?}"
        );
        thread::sleep(Duration::from_millis(130));
    }
}

#[test]
fn a_namespace_that_was_deleted_waits() {
    let cluster = EtcdCluster::start(1);
    let mut store = open_store(&cluster);
    let grant = acquire_one(&mut store, 1);
    delete(&cluster, "randflake/orders/namespace");
    // It sees the leases.
    let mut other = open_store(&cluster);
    assert_quarantined(&mut other);
    // Its lease is there, but of a namespace that is not.
    let ends = store.renew(&[grant], TTL).unwrap().ends;
    assert_eq!(ends, [Err(Loss::Forgotten)]);

    let mut seen = EtcdStore::open(&cluster.url(), &eight("seen")).unwrap();
    seen.administration().end_quarantine().unwrap();
    let grant = acquire_one(&mut seen, 1);
    seen.release(&[grant]).unwrap();
    for key in ["namespace", &format!("lease/{:08x}", grant.node_id)] {
        delete(&cluster, &format!("randflake/seen/{key}"));
    }
    assert_quarantined(&mut seen);
}

#[test]
fn a_restart_forgets_nothing() {
    let mut cluster = EtcdCluster::start(1);
    let mut store = open_store(&cluster);
    let grant = acquire_one(&mut store, 1);
    let records = store.list().unwrap();
    cluster.members[0].server.kill();
    let refused = store.renew(&[grant], TTL);
    assert!(
        matches!(refused, Err(StoreError::Unavailable(_))),
        "{refused:?}"
    );
    cluster.members[0].server.restart();
    assert_eq!(store.list().unwrap(), records);
    assert!(goes_on(&mut store, grant));
    acquire_one(&mut store, 2);
}

#[test]
fn older_state_is_noticed_by_who_saw_the_later() {
    let mut cluster = EtcdCluster::start(1);
    let mut store = open_store(&cluster);
    let first = acquire_one(&mut store, 1);
    let backup = Backup::of(&mut cluster);
    let forgotten = acquire_one(&mut open_store(&cluster), 2);
    // It holds nothing that is forgotten.
    assert!(goes_on(&mut store, first));
    backup.restore(&mut cluster);

    let mut administrator = open_store(&cluster);
    assert_eq!(administrator.list().unwrap().len(), 1);
    assert_quarantined(&mut store);
    // The others hear of it; what is held goes on, as far as it was known then.
    assert_quarantined(&mut administrator);
    let known = record_of(&mut store, first.node_id);
    assert_ne!(known.grant.node_id, forgotten.node_id);

    // Once it is noticed, it is over with it.
    administrator
        .administration()
        .override_quarantine()
        .unwrap();
    acquire_one(&mut store, 3);
    acquire_one(&mut open_store(&cluster), 4);

    // The same state again: the record says less than the process has seen.
    backup.restore(&mut cluster);
    assert_quarantined(&mut store);
}

/// A restored snapshot under running holders, with the same cluster id. No process has seen a later
/// revision: the holder alone knows its lease.
#[test]
fn a_live_lease_that_vanished_sets_a_quarantine() {
    let mut cluster = EtcdCluster::start(1);
    let mut store = open_store(&cluster);
    acquire_one(&mut store, 1);
    let backup = Backup::of(&mut cluster);
    let grant = acquire_one(&mut store, 2);
    drop(store);
    backup.restore(&mut cluster);

    // As the holder goes on in another process: it has seen nothing of the cluster.
    let mut holder = open_store(&cluster);
    assert_eq!(
        holder.renew(&[grant], TTL).unwrap().ends,
        [Err(Loss::Forgotten)]
    );
    assert_quarantined(&mut holder);
    assert_quarantined(&mut open_store(&cluster));
}

/// And of a holder that has seen all.
#[test]
fn holder_of_a_forgotten_lease_waits_for_another() {
    let mut cluster = EtcdCluster::start(1);
    let mut store = open_store(&cluster);
    acquire_one(&mut store, 1);
    let backup = Backup::of(&mut cluster);
    let grant = acquire_one(&mut store, 2);
    backup.restore(&mut cluster);
    assert_eq!(
        store.renew(&[grant], TTL).unwrap().ends,
        [Err(Loss::Forgotten)]
    );
    assert_quarantined(&mut store);
}

/// A cluster made anew from a snapshot, as etcd's own tool does it.
#[test]
fn snapshot_in_another_cluster_waits() {
    let cluster = EtcdCluster::start(1);
    let mut store = open_store(&cluster);
    let grant = acquire_one(&mut store, 1);
    let key = STANDARD.encode("randflake/orders/namespace");
    let read = cluster.members[0].post("kv/range", &format!(r#"{{"key":"{key}"}}"#));
    let read: serde_json::Value = serde_json::from_str(&read).unwrap();
    let stored = STANDARD
        .decode(read["kvs"][0]["value"].as_str().unwrap())
        .unwrap();
    let stored = String::from_utf8(stored).unwrap();
    // The fingerprint is last, of two parts, behind its length.
    let rest = stored.rsplitn(4, ':').last().unwrap();
    let put = serde_json::json!({"key": key, "value": STANDARD.encode(format!("{rest}:3:7:0"))});
    cluster.members[0].post("kv/put", &put.to_string());
    let mut other = open_store(&cluster);
    assert_quarantined(&mut other);
    assert!(goes_on(&mut store, grant));
}

#[test]
fn no_error_shows_the_password() {
    let cluster = EtcdCluster::start(1);
    let member = &cluster.members[0];
    member.post(
        "auth/user/add",
        r#"{"name":"root","password":"the-right-one:@/?#%41"}"#,
    );
    member.post("auth/role/add", r#"{"name":"root"}"#);
    member.post("auth/user/grant", r#"{"user":"root","role":"root"}"#);
    member.post("auth/enable", "{}");
    let url = |user: &str| format!("etcd://{user}127.0.0.1:{}", member.port);
    let wrong = open(&url("root:s3cret@"), &eight("orders")).unwrap_err();
    let nobody = open(&url(""), &eight("orders")).unwrap_err();
    for refused in [&wrong, &nobody] {
        assert!(
            matches!(refused, StoreError::FailedPrecondition(_)),
            "{refused:?}"
        );
    }
    let mut store = open(
        &url("root:the-right-one%3A%40%2F%3F%23%2541@"),
        &eight("orders"),
    )
    .unwrap();
    store.administration().end_quarantine().unwrap();
    acquire(&mut store, 1, 1).unwrap();
    let malformed = open("etcd://root:s3cret@host/path", &eight("orders")).unwrap_err();
    assert!(matches!(malformed, StoreError::Invalid(_)), "{malformed:?}");
    let away = open("etcd://root:s3cret@127.0.0.1:1", &eight("orders")).unwrap_err();
    assert!(matches!(away, StoreError::Unavailable(_)), "{away:?}");
    let shown = format!("{wrong:?} {wrong} {malformed:?} {malformed} {away:?} {away} {store:?}");
    assert!(
        !shown.contains("s3cret") && !shown.contains("the-right-one"),
        "{shown}"
    );
}

#[test]
fn older_counter_is_refused_by_who_saw_the_later() {
    let mut cluster = EtcdCluster::start(1);
    let mut store = open_store(&cluster);
    assert!(matches!(
        store.counter().reserve(1),
        Err(CounterError::Lost { reached: 0, .. })
    ));
    store.counter().resume(1).unwrap();
    let backup = Backup::of(&mut cluster);
    for _ in 0..5 {
        store.counter().reserve(10).unwrap();
    }
    backup.restore(&mut cluster);

    assert!(matches!(
        store.counter().reserve(1),
        Err(CounterError::Lost { .. })
    ));
    // The others hear of it.
    let mut administrator = open_store(&cluster);
    assert!(administrator.counter().status().unwrap().lost);
    assert_eq!(administrator.counter().resume(51).unwrap(), 51);
    assert_eq!(store.counter().reserve(1).unwrap().first(), 51);
}
