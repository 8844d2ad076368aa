//! What an etcd cluster forgets, and what it refuses: by its members' clocks.

use core::time::Duration;
use std::fs;
use std::path::Path;
use std::process::Command;
use std::thread;
use std::time::{SystemTime, UNIX_EPOCH};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use randflake_std::Snowflake;
use randflake_std::lease::{EtcdStore, Grant, LeaseStore, Namespace, StoreError, open};
use randflake_std::segment::SegmentStore;

use crate::contract::{TTL, acquire, acquire_one, eight};
use crate::engines::etcd::EtcdCluster;

const MAX_TTL: Duration = Duration::from_secs(300);

fn open_store(cluster: &EtcdCluster) -> EtcdStore {
    EtcdStore::open(&cluster.url(), &eight("orders")).unwrap()
}

fn assert_fenced(store: &mut EtcdStore) {
    let refused = acquire(store, 99, 1);
    assert!(
        matches!(refused, Err(StoreError::Fenced { retry_in }) if retry_in > MAX_TTL),
        "{refused:?}"
    );
}

fn goes_on(store: &mut EtcdStore, grant: Grant) -> bool {
    store.renew(&[grant], TTL).unwrap().ends[0].is_some_and(|end| end >= grant.end)
}

fn delete(cluster: &EtcdCluster, key: &str) {
    let range = format!(r#"{{"key":"{}"}}"#, STANDARD.encode(key));
    cluster.members[0].post("kv/deleterange", &range);
}

fn copy(from: &Path, to: &Path) {
    let copied = Command::new("cp").arg("-a").arg(from).arg(to).status();
    assert!(copied.unwrap().success());
}

#[test]
fn the_clock_is_the_members() {
    let cluster = EtcdCluster::start(1);
    let mut store = open_store(&cluster);
    for _ in 0..10 {
        let now = store.now().unwrap();
        let here = SystemTime::now().duration_since(UNIX_EPOCH).unwrap();
        // It shows whole seconds; the rest is for a busy machine.
        assert!(
            now <= here && now + Duration::from_secs(5) > here,
            "{now:?} at {here:?}"
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
    assert_fenced(&mut other);
    assert!(goes_on(&mut store, grant));

    let mut seen = EtcdStore::open(&cluster.url(), &eight("seen")).unwrap();
    delete(&cluster, "randflake/seen/namespace");
    assert_fenced(&mut seen);
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
fn an_older_state_is_noticed_by_who_saw_the_later_and_else_needs_the_fence() {
    let mut cluster = EtcdCluster::start(1);
    let mut store = open_store(&cluster);
    let data = cluster.members[0].server.folder().join("data");
    let backup = cluster.members[0].server.folder().join("backup");
    cluster.members[0].server.kill();
    copy(&data, &backup);
    cluster.members[0].server.restart();
    let grant = acquire_one(&mut store, 1);
    cluster.members[0].server.kill();
    fs::remove_dir_all(&data).unwrap();
    copy(&backup, &data);
    cluster.members[0].server.restart();

    let mut administrator = open_store(&cluster);
    assert!(administrator.list().unwrap().is_empty());
    assert_fenced(&mut store);
    assert_eq!(store.renew(&[grant], TTL).unwrap().ends, [None]);
    // The others hear of it, and the administrator may have been first.
    assert_fenced(&mut administrator);
    assert!(administrator.fence().unwrap() > MAX_TTL);
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
        assert!(matches!(refused, StoreError::Unusable(_)), "{refused:?}");
    }
    let mut store = open(
        &url("root:the-right-one%3A%40%2F%3F%23%2541@"),
        &eight("orders"),
    )
    .unwrap();
    acquire(&mut *store, 1, 1).unwrap();
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
fn a_full_namespace_is_noted_until_a_release() {
    let cluster = EtcdCluster::start(1);
    let namespace = Namespace::of::<Snowflake>("orders").unwrap();
    let mut store = EtcdStore::open(&cluster.url(), &namespace).unwrap();
    let ask = |store: &mut EtcdStore, number: u128, count| {
        store.acquire(&randflake_std::lease::AcquireRequest {
            token: crate::contract::token(number),
            holder: "holder",
            count,
            ttl: 60_000,
        })
    };
    let grants = ask(&mut store, 1, 1_024).unwrap().grants;
    for number in 2..5 {
        let refused = ask(&mut store, number, 1);
        assert!(
            matches!(refused, Err(StoreError::Exhausted { .. })),
            "{refused:?}"
        );
    }
    let unused = Grant {
        end: grants[700].start,
        ..grants[700]
    };
    store.release(&[unused]).unwrap();
    assert_eq!(ask(&mut store, 5, 1).unwrap().grants[0].node_id, 700);
}

#[test]
fn a_counter_of_an_older_state_is_refused_by_who_saw_the_later() {
    let mut cluster = EtcdCluster::start(1);
    let mut store = open_store(&cluster);
    assert!(matches!(
        store.reserve(1),
        Err(StoreError::CounterLost { reached: 1 })
    ));
    store.resume(1).unwrap();
    let data = cluster.members[0].server.folder().join("data");
    let backup = cluster.members[0].server.folder().join("backup");
    cluster.members[0].server.kill();
    copy(&data, &backup);
    cluster.members[0].server.restart();
    for _ in 0..5 {
        store.reserve(10).unwrap();
    }
    cluster.members[0].server.kill();
    fs::remove_dir_all(&data).unwrap();
    copy(&backup, &data);
    cluster.members[0].server.restart();

    assert!(matches!(
        store.reserve(1),
        Err(StoreError::CounterLost { .. })
    ));
    // The others hear of it.
    let mut administrator = open_store(&cluster);
    assert!(administrator.counter().unwrap().lost);
    assert_eq!(administrator.resume(51).unwrap(), 51);
    assert_eq!(store.reserve(1).unwrap().first(), 51);
}
