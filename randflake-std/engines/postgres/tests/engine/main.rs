//! Promises of the PostgreSQL store beyond the contract: servers that do not fit are refused, a
//! full namespace and old snapshots do not hurt, losses are noticed under open connections, and
//! nobody's code is run who is not trusted.

#![cfg(unix)]
#![expect(
    clippy::unwrap_used,
    clippy::panic,
    reason = "a test fails by panicking"
)]

mod continuity;
mod contract;
mod copies;
mod full;
mod hosts;
mod pooler;
mod rights;

use core::time::Duration;

use std::thread;

use harness::postgres::PostgresServer;
use randflake_core::Randflake;
use randflake_lease::CounterError;
use randflake_lease::Loss;
use randflake_lease::testkit::leases::declared_new;
use randflake_lease::{
    AcquireRequest, Grant, LeaseStore, MAX_SKEW, Namespace, NodeIds, StoreError, Token,
};
use randflake_postgres::PostgresStore;

fn namespace() -> Namespace {
    let namespace = Namespace::new("orders", Randflake).unwrap();
    namespace.with_max_ttl(Duration::from_secs(300))
}

fn open(server: &PostgresServer) -> LeaseStore {
    open_at(&server.url("postgres"), &namespace())
}

fn open_at(url: &str, namespace: &Namespace) -> LeaseStore {
    declared_new(url, PostgresStore::open(url, namespace).unwrap()).unwrap()
}

fn acquire(store: &mut LeaseStore, count: u32) -> Result<Vec<Grant>, StoreError> {
    let acquired = store.acquire(&AcquireRequest {
        token: Token::random().unwrap(),
        holder: "holder",
        nodes: NodeIds::Any(count),
        ttl: 300,
    });
    acquired.map(|acquired| acquired.grants)
}

fn unused(grant: Grant) -> Grant {
    Grant {
        end: grant.start,
        ..grant
    }
}

/// Until everything has expired that may have been forgotten.
fn is_quarantined(store: &mut LeaseStore) {
    let refused = acquire(store, 1);
    let Err(StoreError::Quarantined { retry_in, .. }) = refused else {
        panic!("{refused:?}")
    };
    let rest = namespace().max_ttl() + 2 * MAX_SKEW;
    assert!(retry_in + Duration::from_secs(20) > rest, "{retry_in:?}");
}

fn refused(url: &str) -> StoreError {
    let error = PostgresStore::open(url, &namespace()).unwrap_err();
    assert!(!error.to_string().contains("hunter2"), "{error}");
    assert!(!format!("{error:?}").contains("hunter2"), "{error:?}");
    error
}

#[test]
fn unfit_servers_are_refused_without_passwords() {
    let forgetful = PostgresServer::start_with(&["fsync=off"]);
    let error = refused(&forgetful.url("postgres"));
    assert!(error.to_string().contains("fsync=off"), "{error}");
    let port = forgetful.port;
    for (url, is_lasting) in [
        (format!("postgres://me:hunter2@127.0.0.1:{port}/ids"), true),
        ("postgres://me:hunter2@127.0.0.1:1/ids".to_owned(), false),
        ("postgres://me:hunter2@127.0.0.1:x/ids".to_owned(), true),
        (
            "postgres://me@127.0.0.1/ids?options=hunter2".to_owned(),
            true,
        ),
        ("postgres:///ids?password=hunter2".to_owned(), true),
    ] {
        let error = refused(&url);
        let unavailable = matches!(error, StoreError::Unavailable(_));
        assert_eq!(unavailable, !is_lasting, "{url}: {error}");
    }
}

#[test]
fn a_url_says_what_it_says_to_other_clients() {
    let server = PostgresServer::start();
    let url = server.url("postgres");
    let of = |options: &str| PostgresStore::open(&format!("{url}?{options}"), &namespace());
    let mut stores = Vec::new();
    for (options, name) in [
        ("connect_timeout=10", "randflake"),
        (
            "application_name=orders%20api&connect_timeout=0",
            "orders api",
        ),
        ("application_name=a'b%22&connect_timeout=-1", "a'b\""),
    ] {
        stores.push(of(options).unwrap());
        let shown = "SELECT count(*) FROM pg_stat_activity WHERE application_name = $1";
        let row = server
            .client("postgres")
            .query_one(shown, &[&name])
            .unwrap();
        assert_eq!(row.get::<_, i64>(0), 1, "{name}");
    }
    let refused = of("connect_timeout=hunter2").unwrap_err();
    assert!(matches!(refused, StoreError::Invalid(_)), "{refused:?}");
    let refused = refused.to_string();
    assert!(refused.contains("whole number of seconds"), "{refused}");
    assert!(!refused.contains("hunter2"), "{refused}");
}

#[test]
fn a_task_of_a_runtime_may_use_a_store() {
    let server = PostgresServer::start();
    let runtime = tokio::runtime::Builder::new_current_thread()
        .build()
        .unwrap();
    runtime.block_on(async {
        acquire(&mut open(&server), 1).unwrap();
    });
}

/// Without a round trip; and a look finds whether the lease is there.
#[test]
fn closed_connection_is_noticed_once() {
    let server = PostgresServer::start();
    let mut store = open(&server);
    let grants = acquire(&mut store, 1).unwrap();
    assert!(store.is_on_server() && !store.has_disconnected());
    let mut admin = server.client("postgres");
    let end = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE pid <> pg_backend_pid()
        AND backend_type = 'client backend'";
    admin.batch_execute(end).unwrap();
    while !store.has_disconnected() {
        thread::yield_now();
    }
    assert!(!store.has_disconnected() && store.check_leases(&grants, 60).unwrap().is_same());
    admin.batch_execute("DELETE FROM randflake.record").unwrap();
    assert!(!store.check_leases(&grants, 60).unwrap().is_same());
}

#[test]
fn another_version_s_schema_is_refused() {
    let server = PostgresServer::start();
    open(&server);
    let newer = "UPDATE randflake.store SET version = 2";
    server.client("postgres").batch_execute(newer).unwrap();
    let told = refused(&server.url("postgres")).to_string();
    assert!(told.contains("version 2; this one knows 1"), "{told}");
}

/// A write of several node ids has seen both as they were, and waits for the one that is changing
/// one of them.
#[test]
fn waiting_write_finds_what_the_other_wrote() {
    let server = PostgresServer::start();
    let mut store = open(&server);
    let grants = acquire(&mut store, 2).unwrap();
    let record = format!("kind = 2 AND number = {}", grants[0].node_id);
    let mut look = server.client("postgres");
    let mut other = server.client("postgres");
    let release = "UPDATE randflake.record SET value = replace(value, ':h1:', ':r1:')";
    let begin = format!("BEGIN; {release} WHERE {record}");
    other.batch_execute(&begin).unwrap();
    let renewed = thread::scope(|scope| {
        let renewal = scope.spawn(|| store.renew(&grants, 300).unwrap());
        let waits = "SELECT FROM pg_stat_activity WHERE wait_event_type = 'Lock'";
        while look.query(waits, &[]).unwrap().is_empty() {
            thread::yield_now();
        }
        other.batch_execute("COMMIT").unwrap();
        renewal.join().unwrap()
    });
    assert_eq!(renewed.ends[0], Err(Loss::Released));
    renewed.ends[1].unwrap();
    let question = format!("SELECT value FROM randflake.record WHERE {record}");
    let kept: String = look.query_one(&question, &[]).unwrap().get(0);
    assert!(kept.contains(":r1:"), "{kept}");
}

/// A counter's failure as that of leases, which fail in the same way.
fn as_store_error(error: CounterError) -> StoreError {
    match error {
        CounterError::FailedPrecondition(error) | CounterError::Unavailable(error) => error.into(),
        error => panic!("{error:?}"),
    }
}
