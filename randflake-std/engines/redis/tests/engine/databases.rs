//! One secret in two databases of one server.

use harness::redis::RedisServer;
use randflake_lease::unstable::rules::KeyCheck;
use randflake_lease::{LeaseStore, Namespace, StoreError};
use randflake_redis::RedisStore;

use super::rights::documented;
use randflake_lease::testkit::leases::{acquire, eight};

fn open(url: &str, database: u32, namespace: &Namespace, key_check: u32) -> LeaseStore {
    let mut store = RedisStore::open(&format!("{url}/{database}"), namespace).unwrap();
    store.set_key_check(KeyCheck::Key(key_check));
    // Declared new before it takes the secret.
    _ = store.administration().end_quarantine();
    store
}

#[track_caller]
fn is_taken(store: &mut LeaseStore, by: &str, of: Option<u32>) {
    let refused = acquire(store, 9, 1).unwrap_err();
    let StoreError::SecretTaken {
        namespace,
        database,
        ..
    } = &refused
    else {
        panic!("{refused:?}")
    };
    assert_eq!((&**namespace, *database), (by, of), "{refused}");
    if let Some(number) = of {
        let said = refused.to_string();
        let part = format!("use database {number} for all that have this secret");
        assert!(said.contains(&part), "{said}");
    }
}

#[test]
fn one_secret_in_two_databases_is_refused() {
    let redis = RedisServer::start();
    let url = format!("redis://127.0.0.1:{}", redis.port);
    // Whichever is first, and also under one name: they are two namespaces.
    for (key_check, [first, second]) in [[0, 1], [1, 0], [1, 2]].into_iter().enumerate() {
        let key_check = u32::try_from(key_check).unwrap();
        let name = eight(&format!("orders-{key_check}"));
        let mut holder = open(&url, first, &name, key_check);
        acquire(&mut holder, 1, 1).unwrap();
        is_taken(
            &mut open(&url, second, &name, key_check),
            name.name(),
            Some(first),
        );
        let other = eight(&format!("users-{key_check}"));
        is_taken(
            &mut open(&url, second, &other, key_check),
            name.name(),
            Some(first),
        );
        is_taken(&mut open(&url, first, &other, key_check), name.name(), None);
        acquire(&mut open(&url, first, &name, key_check), 2, 1).unwrap();
        // Another secret, and one that is meant.
        acquire(&mut open(&url, second, &name, 10 + key_check), 1, 1).unwrap();
        let meant = other.with_shared_secret();
        acquire(&mut open(&url, second, &meant, key_check), 1, 1).unwrap();
    }
}

/// Database 0 is often a cache. The claim of the store's own database stays with the leases.
#[test]
fn a_claim_outlives_a_flush_of_database_0() {
    let redis = RedisServer::start();
    let url = format!("redis://127.0.0.1:{}", redis.port);
    acquire(&mut open(&url, 1, &eight("orders"), 7), 1, 1).unwrap();
    assert_eq!(redis.ask("FLUSHDB"), "+OK\r\n");
    is_taken(&mut open(&url, 1, &eight("users"), 7), "orders", None);
}

/// `SELECT` is for the database of the URL. The documentation says what else is needed: nothing.
#[test]
fn a_user_of_another_database_needs_no_more_rights() {
    let redis = RedisServer::start();
    let user = format!("ACL SETUSER {} +select", documented());
    assert_eq!(redis.ask(&user), "+OK\r\n");
    let url = |user: &str| format!("redis://{user}127.0.0.1:{}", redis.port);
    let mut store = open(&url("ids:PASSWORD@"), 3, &eight("orders"), 7);
    acquire(&mut store, 1, 1).unwrap();
    is_taken(
        &mut open(&url(""), 0, &eight("orders"), 7),
        "orders",
        Some(3),
    );
}
