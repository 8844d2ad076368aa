//! Users with the rights that the documentation lists, and with one of them missing.

use crate::open;
use harness::redis::RedisServer;
use randflake_lease::CounterError;
use randflake_lease::StoreError;
use randflake_lease::unstable::rules::KeyCheck;
use randflake_redis::RedisStore;

use randflake_lease::testkit::leases::{TTL, acquire, eight};

/// The line of the documentation.
pub(crate) fn documented() -> &'static str {
    let docs = include_str!("../../README.md");
    let line = docs
        .lines()
        .find_map(|line| line.strip_prefix("ACL SETUSER "));
    line.unwrap()
}

fn rights() -> Vec<&'static str> {
    let words = documented().split(' ');
    let rights: Vec<_> = words.filter_map(|word| word.strip_prefix('+')).collect();
    assert_eq!(rights.len(), 9);
    rights
}

/// A server with the user of the documentation, and the user's URL.
fn server() -> (RedisServer, String) {
    let redis = RedisServer::start();
    allow(&redis);
    let url = format!("redis://ids:PASSWORD@127.0.0.1:{}", redis.port);
    (redis, url)
}

fn allow(redis: &RedisServer) {
    assert_eq!(
        redis.ask(&format!("ACL SETUSER {}", documented())),
        "+OK\r\n"
    );
}

fn forbid(redis: &RedisServer, right: &str) {
    assert_eq!(redis.ask(&format!("ACL SETUSER ids -{right}")), "+OK\r\n");
}

#[track_caller]
fn names(error: &StoreError, right: &str) {
    assert!(
        matches!(error, StoreError::FailedPrecondition(_)),
        "{right}: {error:?}"
    );
    let said = error.to_string();
    assert!(
        said.contains(&format!("lacks the right +{right}:")),
        "{right}: {said}"
    );
}

#[test]
fn the_documented_rights_are_enough() {
    let (_redis, url) = server();
    let mut store = RedisStore::open(&url, &eight("orders")).unwrap();
    store.administration().end_quarantine().unwrap();
    let grants = acquire(&mut store, 1, 2).unwrap().grants;
    assert!(matches!(
        acquire(&mut store, 2, 8),
        Err(StoreError::Exhausted { .. })
    ));
    store.renew(&grants, TTL).unwrap();
    store.release(&grants).unwrap();
    store.list().unwrap();
    store.now().unwrap();
    store.administration().diagnose().unwrap();
    store.counter().resume(5).unwrap();
    store.counter().reserve(5).unwrap();
    store.counter().status().unwrap();
    store.administration().start_quarantine().unwrap();
}

#[test]
fn of_one_namespace_it_takes_two_patterns_of_keys() {
    let (redis, url) = server();
    let allow = |patterns: &str| {
        let line = format!("ACL SETUSER ids resetkeys {patterns}");
        assert_eq!(redis.ask(&line), "+OK\r\n");
    };
    allow("~randflake:{orders}*");
    let mut store = RedisStore::open(&url, &eight("orders")).unwrap();
    store.set_key_check(KeyCheck::Key(7));
    store.administration().end_quarantine().unwrap_err();
    let said = acquire(&mut store, 1, 1).unwrap_err().to_string();
    assert!(said.contains("~randflake:key:*"), "{said}");
    assert_eq!(redis.ask("KEYS *"), "*0\r\n");
    allow("~randflake:{orders}* ~randflake:key:*");
    store.administration().end_quarantine().unwrap();
    acquire(&mut store, 2, 1).unwrap();
}

#[test]
fn a_drop_without_the_right_to_it_changes_nothing() {
    let (redis, url) = server();
    let mut store = RedisStore::open(&url, &eight("orders")).unwrap();
    store.administration().end_quarantine().unwrap();
    let grants = acquire(&mut store, 1, 2).unwrap().grants;
    names(&store.administration().drop_namespace().unwrap_err(), "del");
    assert!(store.renew(&grants, TTL).unwrap().ends[0].is_ok());
    assert_eq!(redis.ask("ACL SETUSER ids +del"), "+OK\r\n");
    store.administration().drop_namespace().unwrap();
    assert_eq!(store.list().unwrap(), []);
}

#[test]
fn missing_right_is_named_and_nothing_written() {
    let (redis, url) = server();
    for right in rights() {
        forbid(&redis, right);
        names(&open(&url, &eight("orders")).unwrap_err(), right);
        assert_eq!(redis.ask("KEYS *"), "*0\r\n", "{right}");
        allow(&redis);
    }
    redis.ask("ACL SETUSER ids resetkeys ~other:*");
    let refused = open(&url, &eight("orders")).unwrap_err();
    assert!(
        matches!(refused, StoreError::FailedPrecondition(_)),
        "{refused:?}"
    );
    allow(&redis);
    let elsewhere = url + "/1";
    names(&open(&elsewhere, &eight("orders")).unwrap_err(), "select");
    redis.ask("ACL SETUSER ids +select");
    open(&elsewhere, &eight("orders")).unwrap();
}

#[test]
fn a_right_that_is_taken_away_loses_nothing() {
    let (redis, url) = server();
    let mut store = RedisStore::open(&url, &eight("orders")).unwrap();
    let mut other = RedisStore::open(&redis.url(), &eight("orders")).unwrap();
    other.administration().end_quarantine().unwrap();
    let grants = acquire(&mut other, 1, 2).unwrap().grants;
    let mine = acquire(&mut store, 2, 2).unwrap().grants;
    store.counter().resume(1).unwrap();
    for right in rights() {
        forbid(&redis, right);
        if right == "zrangebyscore" {
            names(&store.list().unwrap_err(), right);
        }
        let before = other.list().unwrap();
        if right == "zadd" {
            // A node id that was never leased joins their order.
            names(&acquire(&mut store, 3, 1).unwrap_err(), right);
        }
        if !["hscan", "script|load", "zadd", "zrangebyscore"].contains(&right) {
            for refused in [
                acquire(&mut store, 3, 1).err(),
                store.renew(&mine, TTL).err(),
                store.release(&mine).err(),
                store.administration().start_quarantine().err(),
                store.counter().reserve(1).err().map(as_store_error),
                store.counter().resume(1).err().map(as_store_error),
            ] {
                names(&refused.unwrap(), right);
            }
        }
        if ["info", "time", "hmget"].contains(&right) {
            names(&store.now().unwrap_err(), right);
        }
        assert_eq!(other.list().unwrap(), before, "{right}");
        allow(&redis);
        for (store, grants) in [(&mut store, &mine), (&mut other, &grants)] {
            let ends = store.renew(grants, TTL).unwrap().ends;
            assert!(ends.iter().all(Result::is_ok), "{right}");
            store.list().unwrap();
        }
    }
    // Nothing was taken for lost.
    acquire(&mut store, 4, 1).unwrap();
    assert_eq!(store.counter().reserve(1).unwrap().first(), 1);
}

/// As leases fail in the same way.
fn as_store_error(error: CounterError) -> StoreError {
    match error {
        CounterError::FailedPrecondition(error) | CounterError::Unavailable(error) => error.into(),
        error => panic!("{error:?}"),
    }
}
