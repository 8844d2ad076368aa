//! Full and large namespaces, old snapshots, and servers that do not fit.

use core::time::Duration;
use std::thread;
use std::time::Instant;

use harness::mariadb::MariadbServer;
use randflake_core::{Layout, LayoutSpec, Randflake};
use randflake_lease::{Grant, LeaseStore, Namespace, StoreError};
use randflake_mysql::MysqlStore;

use crate::database::{Database, TTL, acquire, acquire_for, assert_failed_precondition, namespace};

/// The shortest of some: a busy machine makes any of them long.
fn shortest(mut operation: impl FnMut()) -> Duration {
    let spans = (0..20).map(|_| {
        let begun = Instant::now();
        operation();
        begun.elapsed()
    });
    spans.min().unwrap()
}

fn unused(grant: Grant) -> Grant {
    Grant {
        end: grant.start,
        ..grant
    }
}

/// How many rows a server reads for an operation.
fn rows_read(server: &Database, operation: impl FnOnce()) -> u64 {
    let count = || {
        let question =
            "SELECT CAST(SUM(variable_value) AS UNSIGNED) FROM information_schema.global_status
            WHERE variable_name IN ('Handler_read_key', 'Handler_read_next')";
        let count: Option<u64> = server.client().query_first(question).unwrap();
        count.unwrap()
    };
    let before = count();
    operation();
    count() - before
}

/// All node ids are taken, which leaves the search nothing but a run of taken ones.
#[test]
fn a_full_namespace_is_quick() {
    const LONG_TTL: u64 = 36_000;
    // The rows that it reads are counted for the whole server.
    let server = Database::of(MariadbServer::start());
    // None ends while a busy machine takes them all.
    let namespace = namespace().with_max_ttl(Duration::from_secs(LONG_TTL));
    let mut store = server.open_of("root", &namespace).unwrap();
    let acquire = |store: &mut LeaseStore, count| acquire_for(store, count, LONG_TTL);
    let all = u32::try_from(namespace.node_ids()).unwrap();
    let mut taken = Vec::new();
    while taken.len() + 1 < all as usize {
        // As many as a busy machine grants in time.
        let count = (all - 1 - u32::try_from(taken.len()).unwrap()).min(1_024);
        taken.extend(acquire(&mut store, count).unwrap());
    }
    let last = acquire(&mut store, 1).unwrap();

    let mut refuse = || {
        let refused = acquire(&mut store, 1);
        let Err(StoreError::Exhausted { retry_in }) = refused else {
            panic!("{refused:?}")
        };
        assert!(retry_in <= Duration::from_secs(LONG_TTL), "{retry_in:?}");
    };
    // The first one notes that all is leased.
    refuse();
    let read = rows_read(&server, refuse);
    assert!(read < u64::from(all) / 10, "{read} rows for a refusal");

    store.release(&[unused(last[0])]).unwrap();
    let read = rows_read(&server, || {
        let grants = acquire(&mut store, 1).unwrap();
        assert_eq!(grants[0].node_id, last[0].node_id);
        store.release(&[unused(grants[0])]).unwrap();
    });
    assert!(read < u64::from(all) / 10, "{read} rows for an acquire");

    assert_eq!(store.list().unwrap().len(), all as usize);
    let renewed = store.renew(&taken[..1_000], LONG_TTL).unwrap().ends;
    assert!(renewed.iter().all(Result::is_ok));
}

#[test]
fn a_large_namespace_opens_as_quickly_as_a_small_one() {
    let server = Database::of(MariadbServer::start());
    server.open();
    let mut fields = Randflake::SPEC.fields();
    (fields.node_id.bits, fields.node_id.shift) = (32, 0);
    (fields.sequence.bits, fields.sequence.shift) = (1, 32);
    (fields.timestamp.bits, fields.timestamp.shift) = (30, 33);
    let namespace = Namespace::new("large", LayoutSpec::new(fields).unwrap()).unwrap();
    assert_eq!(namespace.node_ids(), 1 << 32);
    let mut store = None;
    let read = rows_read(&server, || {
        let mut opened = server.open_of("root", &namespace).unwrap();
        acquire(&mut opened, 1).unwrap();
        store = Some(opened);
    });
    assert!(read < 1_000, "{read} rows");
    acquire(&mut store.unwrap(), 1_000).unwrap();
}

/// While another transaction keeps a snapshot from before all of it.
#[test]
fn old_snapshots_do_not_hurt() {
    let server = Database::new();
    let mut store = server.open();
    let mut other = server.client();
    let keep = "START TRANSACTION WITH CONSISTENT SNAPSHOT";
    other.query_drop(keep).unwrap();
    acquire(&mut store, 1_000).unwrap();
    let mut take_and_release = || {
        let grants = acquire(&mut store, 1).unwrap();
        store.renew(&grants, TTL).unwrap();
        store.release(&[unused(grants[0])]).unwrap();
    };
    let before = shortest(&mut take_and_release);
    for _ in 0..400 {
        take_and_release();
    }
    let after = shortest(&mut take_and_release);
    assert!(after < before * 10, "{before:?} became {after:?}");
    other.query_drop("COMMIT").unwrap();
}

/// A client that changes the namespace, to set a quarantine for instance, may not have been
/// answered yet.
#[test]
fn a_write_waits_for_a_change_of_its_namespace() {
    let server = Database::new();
    let mut store = server.open();
    let grants = acquire(&mut store, 2).unwrap();
    let mut other = server.client();
    let change = "UPDATE randflake_record SET value = 'x' WHERE kind = 0";
    for statement in ["START TRANSACTION", change] {
        other.query_drop(statement).unwrap();
    }
    // One lease is renewed by one statement, two by a transaction.
    for count in [1, 2] {
        let waited = store.renew(&grants[..count], TTL);
        assert!(
            matches!(waited, Err(StoreError::Unavailable(_))),
            "{waited:?}"
        );
    }
    other.query_drop("ROLLBACK").unwrap();
    let renewed = store.renew(&grants, TTL).unwrap().ends;
    assert!(renewed.iter().all(Result::is_ok), "{renewed:?}");
}

/// The first refuses updates by joins and without keys; by the second an answer has one row; by the
/// third nothing is written. A session may say otherwise.
#[test]
fn limits_for_people_do_not_hurt() {
    // The setting is the whole server's.
    let server = Database::of(MariadbServer::start());
    server.do_all(&[
        "SET GLOBAL sql_safe_updates = 1",
        "SET GLOBAL sql_select_limit = 1",
        "SET GLOBAL TRANSACTION READ ONLY",
    ]);
    let mut store = server.open();
    let grants = acquire(&mut store, 2).unwrap();
    assert_eq!(store.list().unwrap().len(), 2);
    store.renew(&grants, TTL).unwrap();
    store.renew(&grants[..1], TTL).unwrap();
    store.release(&grants).unwrap();
}

/// By 1 (`CHAIN`) each `COMMIT` begins another transaction, whose writes are undone when the
/// connection ends; by 2 (`RELEASE`) it ends the connection.
#[test]
fn chained_transactions_lose_nothing() {
    for completion_type in [1, 2] {
        let server = Database::of(MariadbServer::start());
        server.do_all(&[&format!("SET GLOBAL completion_type = {completion_type}")]);
        let (mut store, mut grant) = server.holder();
        store.counter().create().unwrap();
        let reserved = [
            store.counter().reserve(10).unwrap(),
            store.counter().reserve(10).unwrap(),
        ];
        thread::sleep(Duration::from_secs(2));
        let renewed = store.renew(&[grant], TTL).unwrap().ends[0].unwrap();
        assert!(renewed > grant.end);
        grant.end = renewed;
        drop(store);

        let mut other = server.open();
        let records = other.list().unwrap();
        let known = records
            .iter()
            .find(|record| record.grant.node_id == grant.node_id);
        assert_eq!(known.unwrap().grant.end, grant.end, "{completion_type}");
        let next = other.counter().reserve(10).unwrap();
        assert_eq!(next.first(), reserved[1].end(), "{completion_type}");
    }
}

/// With a binary log, what the engine has prepared is committed in a recovery only if it is in that
/// log: one that is not on the disk takes leases with it that were answered.
#[test]
fn unfit_servers_are_refused_without_passwords() {
    let settings = ["--log-bin", "--sync-binlog=1"];
    let server = Database::of(MariadbServer::start_with(&settings));
    let url = server.url("root");
    let refused = |url: &str| {
        let error = MysqlStore::open(url, &namespace()).unwrap_err();
        assert!(
            !format!("{error} {error:?}").contains("hunter2"),
            "{error:?}"
        );
        error
    };
    acquire(&mut server.open(), 1).unwrap();
    for (setting, value, named) in [
        ("sync_binlog", 0, "log_bin and sync_binlog=0"),
        ("sync_binlog", 2, "set sync_binlog to 1"),
        ("sync_binlog", 1, ""),
        (
            "innodb_flush_log_at_trx_commit",
            2,
            "innodb_flush_log_at_trx_commit=2",
        ),
    ] {
        server.do_all(&[&format!("SET GLOBAL {setting} = {value}")]);
        if !named.is_empty() {
            assert_failed_precondition::<()>(Err(refused(&url)), named);
        }
    }
    let port = server.server.port;
    for url in [
        format!("mysql://me:hunter2@127.0.0.1:{port}/ids"),
        format!("mysql://me@127.0.0.1:{port}/ids?owner=hunter2"),
    ] {
        let error = refused(&url);
        assert!(!matches!(error, StoreError::Unavailable(_)), "{error:?}");
    }
    // This server cannot encrypt; or this build.
    refused(&format!(
        "mysql://me:hunter2@127.0.0.1:{port}/ids?sslmode=verify-full"
    ));
    let nobody = refused("mysql://me:hunter2@127.0.0.1:1/ids");
    assert!(matches!(nobody, StoreError::Unavailable(_)), "{nobody:?}");
}

#[test]
fn a_server_that_never_syncs_is_refused() {
    for method in ["nosync", "littlesync"] {
        let setting = format!("--innodb-flush-method={method}");
        let server = Database::of(MariadbServer::start_with(&[&setting]));
        let named = format!("innodb_flush_method={method}: set it to fsync or O_DIRECT");
        assert_failed_precondition(MysqlStore::open(&server.url("root"), &namespace()), &named);
    }
}

#[test]
fn a_task_of_a_runtime_may_use_a_database() {
    let server = Database::new();
    let runtime = tokio::runtime::Builder::new_current_thread()
        .build()
        .unwrap();
    runtime.block_on(async { acquire(&mut server.open(), 1).unwrap() });
}
