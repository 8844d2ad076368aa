//! A cluster whose space is used up, and one that forgets who has logged in.

use core::time::Duration;
use std::fs;
use std::path::Path;
use std::thread;
use std::time::Instant;

use crate::open;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use harness::etcd::{EtcdCluster, Member};
use randflake_lease::{LeaseStore, StoreError};
use serde_json::{Value, json};
use tempfile::NamedTempFile;

use randflake_lease::testkit::leases::declared_new;
use randflake_lease::testkit::leases::{TTL, acquire, acquire_one, eight};

fn asked(member: &Member, path: &str, body: &Value) -> Value {
    serde_json::from_str(&member.post(path, &body.to_string())).unwrap()
}

/// A lease is neither granted nor forgotten meanwhile.
#[test]
fn full_database_is_refused_until_it_has_space() {
    let cluster = EtcdCluster::start_with(1, &["--quota-backend-bytes", "4000000"]);
    let member = &cluster.members[0];
    let mut store = open(&cluster.url(), &eight("orders")).unwrap();
    store.administration().end_quarantine().unwrap();
    let before = acquire_one(&mut store, 1);

    let value = STANDARD.encode(vec![b'x'; 200_000]);
    let fill = |number: u32| {
        let key = STANDARD.encode(format!("filling {number}"));
        asked(member, "kv/put", &json!({"key": key, "value": value}))
    };
    let is_full = |reply: &Value| {
        reply["error"]
            .as_str()
            .is_some_and(|why| why.contains("space"))
    };
    assert!((0..100).map(fill).any(|reply| is_full(&reply)));
    // The alarm follows, and leaves no space for anything.
    let began = Instant::now();
    let mut alarm = loop {
        assert!(began.elapsed() < Duration::from_secs(60), "no alarm");
        let alarms = asked(member, "maintenance/alarm", &json!({}))["alarms"].take();
        if alarms.is_array() {
            break alarms[0].clone();
        }
    };
    alarm["action"] = "DEACTIVATE".into();

    let refusals = [
        acquire(&mut store, 2, 1).unwrap_err(),
        store.renew(&[before], TTL).unwrap_err(),
        acquire(&mut open(&cluster.url(), &eight("new")).unwrap(), 1, 1).unwrap_err(),
    ];
    for refusal in refusals {
        assert!(
            matches!(refusal, StoreError::FailedPrecondition(_)),
            "{refusal:?}"
        );
        let why = refusal.to_string();
        assert!(
            why.contains("its database is full") && why.contains("alarm disarm"),
            "{why}"
        );
    }
    assert_eq!(store.list().unwrap()[0].grant, before);

    let range =
        json!({"key": STANDARD.encode("filling "), "range_end": STANDARD.encode("filling~")});
    let revision = asked(member, "kv/deleterange", &range)["header"]["revision"].clone();
    for (path, body) in [
        (
            "kv/compaction",
            json!({"revision": revision, "physical": true}),
        ),
        ("maintenance/defragment", json!({})),
        ("maintenance/alarm", alarm),
    ] {
        let reply = asked(member, path, &body);
        assert!(reply["error"].is_null(), "{path}: {reply}");
    }
    assert_eq!(store.list().unwrap()[0].grant, before);
    assert!(store.renew(&[before], TTL).unwrap().ends[0].is_ok());
    let after = acquire_one(&mut store, 3);
    assert_ne!(after.node_id, before.node_id);
}

const ROOT: &str = r#"{"name":"root","password":"s3cret"}"#;

/// A store of a cluster that knows its users.
fn logged_in(cluster: &EtcdCluster) -> LeaseStore {
    let member = &cluster.members[0];
    for (path, body) in [
        ("auth/user/add", ROOT),
        ("auth/role/add", r#"{"name":"root"}"#),
        ("auth/user/grant", r#"{"user":"root","role":"root"}"#),
        ("auth/enable", "{}"),
    ] {
        let reply = member.post(path, body);
        assert!(!reply.contains("error"), "{path}: {reply}");
    }
    let url = format!("etcd://root:s3cret@127.0.0.1:{}", member.port);
    declared_new(&url, open(&url, &eight("orders")).unwrap()).unwrap()
}

/// The settings for tokens that are signed and name their end.
fn signed(key: &Path, ttl: &str) -> String {
    fs::write(key, [7; 64]).unwrap();
    format!("jwt,sign-method=HS256,priv-key={},ttl={ttl}", key.display())
}

#[test]
fn a_token_that_was_not_used_for_too_long_is_replaced() {
    goes_on_with_new_tokens(&["--auth-token-ttl", "1"]);
}

#[test]
fn a_signed_token_that_has_expired_is_replaced() {
    let key = NamedTempFile::new().unwrap();
    goes_on_with_new_tokens(&["--auth-token", &signed(key.path(), "1s")]);
}

fn goes_on_with_new_tokens(settings: &[&str]) {
    let cluster = EtcdCluster::start_with(1, settings);
    let mut store = logged_in(&cluster);
    let grant = acquire_one(&mut store, 1);
    // In use for longer than a token lasts, then not.
    for pause in [50; 30].into_iter().chain([2_500, 0]) {
        assert!(store.renew(&[grant], TTL).unwrap().ends[0].is_ok());
        thread::sleep(Duration::from_millis(pause));
    }
}

/// Signed tokens name the revision of the users and roles, and are refused after any change of
/// these.
#[test]
fn a_token_from_before_a_change_of_users_is_replaced() {
    let key = NamedTempFile::new().unwrap();
    let signed = signed(key.path(), "1h");
    let cluster = EtcdCluster::start_with(1, &["--auth-token", &signed]);
    let mut store = logged_in(&cluster);
    let grant = acquire_one(&mut store, 1);
    let member = &cluster.members[0];
    let login: Value = serde_json::from_str(&member.post("auth/authenticate", ROOT)).unwrap();
    let add = r#"{"name":"another","password":"s3cret"}"#;
    let header = format!("Authorization: {}\r\n", login["token"].as_str().unwrap());
    let reply = member.post_with(&header, "auth/user/add", add);
    assert!(!reply.contains("error"), "{reply}");

    assert!(store.renew(&[grant], TTL).unwrap().ends[0].is_ok());
    acquire_one(&mut store, 2);
}
