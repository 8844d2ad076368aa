//! What the store on MariaDB promises beyond the contract: a full namespace and old snapshots
//! do not hurt, and servers that do not fit are refused.

#![cfg(unix)]
#![expect(
    clippy::unwrap_used,
    clippy::panic,
    reason = "a test fails by panicking"
)]

#[expect(dead_code, reason = "other tests do more to servers")]
mod engines;

use core::time::Duration;
use std::time::Instant;

use engines::mariadb::MariadbServer;
use randflake_std::Randflake;
use randflake_std::lease::{
    AcquireRequest, Acquired, Grant, LeaseStore, Namespace, NodeIds, StoreError, Token, open,
};
use randflake_std::ledger::Loss;

fn namespace() -> Namespace {
    Namespace::of::<Randflake>("orders").unwrap()
}

fn acquire(store: &mut dyn LeaseStore, count: u32) -> Result<Acquired, StoreError> {
    store.acquire(&AcquireRequest {
        token: Token::random().unwrap(),
        holder: "holder",
        nodes: NodeIds::Any(count),
        ttl: 300,
    })
}

fn with_database(mariadb: MariadbServer) -> MariadbServer {
    mariadb
        .client(None)
        .query_drop("CREATE DATABASE ids")
        .unwrap();
    mariadb
}

/// The shortest of some: a busy machine makes any of them long.
fn shortest(mut operation: impl FnMut()) -> Duration {
    let spans = (0..20).map(|_| {
        let begun = Instant::now();
        operation();
        begun.elapsed()
    });
    spans.min().unwrap()
}

/// All node ids are taken in one piece, which leaves the search nothing but a run of taken ones.
fn a_full_namespace_is_quick(url: &str) {
    let mut store = open(url, &namespace()).unwrap();
    let all = u32::try_from(namespace().node_ids()).unwrap();
    let taken = acquire(&mut *store, all - 1).unwrap().grants;
    let last = acquire(&mut *store, 1).unwrap().grants;

    let refusal = shortest(|| {
        let refused = acquire(&mut *store, 1);
        let Err(StoreError::Exhausted { retry_in }) = refused else {
            panic!("{refused:?}")
        };
        assert!(retry_in <= Duration::from_secs(300), "{retry_in:?}");
    });
    assert!(
        refusal < Duration::from_millis(10),
        "refused in {refusal:?}"
    );

    let unused = |grant: Grant| Grant {
        end: grant.start,
        ..grant
    };
    let again = shortest(|| {
        let grants = acquire_after_release(&mut *store, unused(last[0]));
        assert_eq!(grants[0].node_id, last[0].node_id);
        store.release(&[unused(grants[0])]).unwrap();
    });
    assert!(again < Duration::from_millis(250), "{again:?}");

    let begun = Instant::now();
    assert_eq!(store.list().unwrap().len(), all as usize);
    let listed = begun.elapsed();
    assert!(listed < Duration::from_secs(10), "listed in {listed:?}");
    let renewed = store.renew(&taken[..1_000], 300).unwrap().ends;
    assert!(renewed.iter().all(Result::is_ok));
}

fn acquire_after_release(store: &mut dyn LeaseStore, unused: Grant) -> Vec<Grant> {
    store.release(&[unused]).unwrap();
    acquire(store, 1).unwrap().grants
}

/// While another transaction keeps a snapshot from before all of it.
fn old_snapshots_do_not_hurt(url: &str) {
    let mut store = open(url, &namespace()).unwrap();
    acquire(&mut *store, 1_000).unwrap();
    let mut take_and_release = || {
        let grants = acquire(&mut *store, 1).unwrap().grants;
        store.renew(&grants, 300).unwrap();
        let unused = Grant {
            end: grants[0].start,
            ..grants[0]
        };
        store.release(&[unused]).unwrap();
    };
    let before = shortest(&mut take_and_release);
    for _ in 0..400 {
        take_and_release();
    }
    let after = shortest(&mut take_and_release);
    assert!(after < before * 10, "{before:?} became {after:?}");
}

fn refused(url: &str) -> StoreError {
    let error = open(url, &namespace()).unwrap_err();
    assert!(!error.to_string().contains("hunter2"), "{error}");
    assert!(!format!("{error:?}").contains("hunter2"), "{error:?}");
    error
}

#[test]
fn mariadb_is_quick_when_it_is_full() {
    let server = with_database(MariadbServer::start());
    a_full_namespace_is_quick(&server.url("ids"));
}

#[test]
fn mariadb_is_not_hurt_by_old_snapshots() {
    let server = with_database(MariadbServer::start());
    open(&server.url("ids"), &namespace()).unwrap();
    let mut other = server.client(Some("ids"));
    other
        .query_drop("START TRANSACTION WITH CONSISTENT SNAPSHOT")
        .unwrap();
    old_snapshots_do_not_hurt(&server.url("ids"));
    other.query_drop("COMMIT").unwrap();
}

#[test]
fn a_dropped_schema_is_made_again_and_quarantined() {
    let mariadb = with_database(MariadbServer::start());
    let mut store = open(&mariadb.url("ids"), &namespace()).unwrap();
    let grants = acquire(&mut *store, 1).unwrap().grants;
    let drop = "DROP TABLE randflake_store, randflake_namespace, randflake_page, randflake_lease, randflake_counter";
    mariadb.client(Some("ids")).query_drop(drop).unwrap();
    assert_eq!(
        store.renew(&grants, 300).unwrap().ends,
        [Err(Loss::Forgotten)]
    );
    let fenced = acquire(&mut *store, 1);
    assert!(
        matches!(fenced, Err(StoreError::Quarantined { .. })),
        "{fenced:?}"
    );
}

#[test]
fn servers_that_do_not_fit_are_refused_without_passwords() {
    for (url, is_lasting) in [
        ("mysql://me:hunter2@127.0.0.1:1/ids".to_owned(), false),
        ("mysql://me:hunter2@127.0.0.1".to_owned(), true),
        (
            "mysql://me@127.0.0.1/ids?danger_accept_invalid_certs=hunter2".to_owned(),
            true,
        ),
        ("mysql://me@127.0.0.1/ids?sslmode=hunter2".to_owned(), true),
    ] {
        let error = refused(&url);
        let unavailable = matches!(error, StoreError::Unavailable(_));
        assert_eq!(unavailable, !is_lasting, "{url}: {error}");
    }

    let setting = "--innodb-flush-log-at-trx-commit=2";
    let forgetful = with_database(MariadbServer::start_with(&[setting]));
    let error = refused(&forgetful.url("ids"));
    assert!(matches!(error, StoreError::Unusable(_)), "{error}");
    assert!(
        error.to_string().contains("innodb_flush_log_at_trx_commit"),
        "{error}"
    );
    let url = format!("mysql://me:hunter2@127.0.0.1:{}/ids", forgetful.port);
    assert!(matches!(refused(&url), StoreError::Unusable(_)));
    // It cannot encrypt.
    let error = refused(&format!("{url}?sslmode=verify-full"));
    assert!(
        error.to_string().contains("does not have this capability"),
        "{error}"
    );
}

/// With a binary log, what InnoDB has prepared is committed in a recovery only if it is in that log: one
/// that is not on the disk takes leases with it that were answered.
#[test]
fn mariadb_with_a_binary_log_that_may_be_lost_is_refused() {
    let mariadb = with_database(MariadbServer::start_with(&["--log-bin", "--sync-binlog=1"]));
    let url = mariadb.url("ids");
    acquire(&mut *open(&url, &namespace()).unwrap(), 1).unwrap();
    for count in [0, 2] {
        let set = format!("SET GLOBAL sync_binlog = {count}");
        mariadb.client(None).query_drop(set).unwrap();
        let error = refused(&url);
        assert!(matches!(error, StoreError::Unusable(_)), "{error}");
        let told = error.to_string();
        let found = format!("log_bin and sync_binlog={count}");
        assert!(
            told.contains(&found) && told.contains("set sync_binlog to 1"),
            "{told}"
        );
    }
}

/// With it, the server refuses updates by joins, as a release is one.
#[test]
fn mariadb_with_safe_updates_releases() {
    let mariadb = with_database(MariadbServer::start());
    let set = "SET GLOBAL sql_safe_updates = 1";
    mariadb.client(None).query_drop(set).unwrap();
    let mut store = open(&mariadb.url("ids"), &namespace()).unwrap();
    let grants = acquire(&mut *store, 2).unwrap().grants;
    store.release(&grants).unwrap();
}

#[test]
fn a_task_of_a_runtime_may_use_a_database() {
    let mariadb = with_database(MariadbServer::start());
    let runtime = tokio::runtime::Builder::new_current_thread()
        .build()
        .unwrap();
    runtime.block_on(async {
        let mut store = open(&mariadb.url("ids"), &namespace()).unwrap();
        acquire(&mut *store, 1).unwrap();
    });
}
