//! Lost data of a server, under connections that are open and for processes that begin.

use core::time::Duration;
use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt;
use std::process::Command;
use std::sync::Arc;
use std::thread;
use std::time::Instant;

use harness::clock::WallClock;
use harness::postgres::PostgresServer;
use harness::program;
use randflake_lease::CounterError;
use randflake_lease::Loss;
use randflake_lease::StoreError;
use randflake_postgres::PostgresStore;

use crate::{acquire, as_store_error, is_quarantined, namespace, open};

fn execute(server: &PostgresServer, sql: &str) {
    server.client("postgres").batch_execute(sql).unwrap();
}

/// The server comes back with older data and a clock that is behind: a quarantine by that would end
/// too early.
#[test]
fn nothing_is_written_by_a_clock_that_is_wrong() {
    let folder = tempfile::tempdir().unwrap();
    fs::set_permissions(folder.path(), Permissions::from_mode(0o755)).unwrap();
    let clock = Arc::new(WallClock::new(folder.path()));
    let server = PostgresServer::start_by(Arc::clone(&clock));
    acquire(&mut open(&server), 1).unwrap();
    execute(
        &server,
        "DELETE FROM randflake.record WHERE kind <> 0;
        UPDATE randflake.record SET value = regexp_replace(value, '[0-9a-z]*:[^:]*$', '5:older')",
    );
    clock.step_ms(-400_000);
    let mut store = open(&server);
    for _ in 0..2 {
        let refused = acquire(&mut store, 1);
        let is_skewed = matches!(refused, Err(StoreError::ClockSkew { .. }));
        assert!(is_skewed, "{refused:?}");
    }
    let question = "SELECT value FROM randflake.record WHERE kind = 0";
    let row = server.client("postgres").query_one(question, &[]).unwrap();
    let found: String = row.get(0);
    // Written once, when it was declared new.
    assert!(
        found.contains(":1:0-") && found.contains("-n:") && found.ends_with(":5:older"),
        "{found}"
    );
    clock.step_ms(400_000);
    is_quarantined(&mut store);
}

#[test]
fn schema_dropped_under_a_session_is_quarantined() {
    let server = PostgresServer::start();
    let mut holder = open(&server);
    let grants = acquire(&mut holder, 1).unwrap();
    holder.counter().create().unwrap();
    assert_eq!(holder.counter().reserve(10).unwrap().first(), 1);
    execute(&server, "DROP SCHEMA randflake CASCADE");
    let mut next = open(&server);
    is_quarantined(&mut next);
    let lost = next.counter().reserve(1);
    assert!(matches!(lost, Err(CounterError::Lost { .. })), "{lost:?}");
    let ends = holder.renew(&grants, 300).unwrap().ends;
    assert_eq!(ends, [Err(Loss::Forgotten)]);
    is_quarantined(&mut holder);
}

/// The holder itself is the first to come.
#[test]
fn holder_remakes_a_dropped_schema_in_quarantine() {
    let server = PostgresServer::start();
    let mut holder = open(&server);
    let grants = acquire(&mut holder, 1).unwrap();
    execute(&server, "DROP SCHEMA randflake CASCADE");
    let ends = holder.renew(&grants, 300).unwrap().ends;
    assert_eq!(ends, [Err(Loss::Forgotten)]);
    is_quarantined(&mut holder);
    is_quarantined(&mut open(&server));
}

/// Nobody has to act: the holder makes another row.
#[test]
fn store_without_its_row_is_quarantined() {
    let server = PostgresServer::start();
    let mut holder = open(&server);
    let grants = acquire(&mut holder, 1).unwrap();
    execute(&server, "DELETE FROM randflake.store");
    is_quarantined(&mut holder);
    // The store still knows its lease.
    assert!(holder.renew(&grants, 300).unwrap().ends[0].is_ok());
    is_quarantined(&mut open(&server));
}

#[test]
fn a_dump_restored_in_place_begins_in_quarantine() {
    let server = PostgresServer::start();
    let programs = program("RANDFLAKE_POSTGRES");
    let folder = tempfile::tempdir().unwrap();
    let dump = folder.path().join("dump.sql");
    let run = |name: &str, more: &[&str]| {
        let mut command = Command::new(programs.join(name));
        let port = server.port.to_string();
        command.args(["--host=127.0.0.1", "--username=postgres", "--port", &port]);
        let output = command.args(more).arg("postgres").output().unwrap();
        assert!(output.status.success(), "{output:?}");
    };
    let mut holder = open(&server);
    let early = acquire(&mut holder, 1).unwrap();
    let to_file = format!("--file={}", dump.display());
    run("pg_dump", &["--clean", "--schema=randflake", &to_file]);
    let late = acquire(&mut holder, 1).unwrap();
    run("psql", &["--quiet", "--set=ON_ERROR_STOP=1", &to_file]);

    is_quarantined(&mut open(&server));
    let ends = holder.renew(&[early[0], late[0]], 300).unwrap().ends;
    assert!(
        matches!(ends[..], [Ok(_), Err(Loss::Forgotten)]),
        "{ends:?}"
    );
    is_quarantined(&mut holder);
}

#[test]
fn failover_under_a_connection_is_quarantined() {
    let mut first = PostgresServer::start();
    let url = |second: u16| {
        format!(
            "postgres://postgres@127.0.0.1:{},127.0.0.1:{second}/postgres",
            first.port
        )
    };
    open(&first);
    let second = PostgresServer::standby_of(first.port);
    let url = url(second.port);
    let mut holder = PostgresStore::open(&url, &namespace()).unwrap();
    let grants = acquire(&mut holder, 2).unwrap();
    let caught_up = "SELECT count(*) FROM randflake.record WHERE kind = 2";
    while second
        .client("postgres")
        .query_one(caught_up, &[])
        .unwrap()
        .get::<_, i64>(0)
        < 2
    {
        thread::sleep(Duration::from_millis(10));
    }
    first.server.kill();
    second.promote();
    let ends = holder.renew(&grants, 300).unwrap().ends;
    assert!(ends.iter().all(Result::is_ok), "{ends:?}");
    is_quarantined(&mut holder);
    let url = second.url("postgres");
    is_quarantined(&mut PostgresStore::open(&url, &namespace()).unwrap());
}

#[test]
fn next_operation_notices_durability_turned_off() {
    let server = PostgresServer::start();
    let mut store = open(&server);
    let grants = acquire(&mut store, 1).unwrap();
    execute(&server, "ALTER SYSTEM SET fsync = off");
    execute(&server, "SELECT pg_reload_conf()");
    let begun = Instant::now();
    let error = loop {
        // The server tells its processes one after the other.
        match store.renew(&grants, 300) {
            Err(error) => break error,
            Ok(_) if begun.elapsed() < Duration::from_secs(60) => {}
            Ok(renewed) => panic!("{renewed:?}"),
        }
    };
    for error in [
        error,
        acquire(&mut store, 1).unwrap_err(),
        as_store_error(store.counter().reserve(1).unwrap_err()),
    ] {
        assert!(
            matches!(error, StoreError::FailedPrecondition(_)),
            "{error:?}"
        );
        assert!(error.to_string().contains("fsync=off"), "{error}");
    }
}

#[test]
fn vanished_live_lease_closes_the_namespace() {
    let server = PostgresServer::start();
    let mut holder = open(&server);
    let grants = acquire(&mut holder, 1).unwrap();
    execute(&server, "DELETE FROM randflake.record WHERE kind = 2");
    let ends = holder.renew(&grants, 300).unwrap().ends;
    assert_eq!(ends, [Err(Loss::Forgotten)]);
    is_quarantined(&mut holder);
    is_quarantined(&mut open(&server));
}

#[test]
fn namespace_without_its_row_is_quarantined() {
    let server = PostgresServer::start();
    let mut holder = open(&server);
    let grants = acquire(&mut holder, 1).unwrap();
    execute(&server, "DELETE FROM randflake.record WHERE kind = 0");
    is_quarantined(&mut open(&server));
    // Its lease is there, but of a namespace that is not.
    let ends = holder.renew(&grants, 300).unwrap().ends;
    assert_eq!(ends, [Err(Loss::Forgotten)]);
    is_quarantined(&mut holder);
}

/// Nobody has to renew for that, and it is over as soon as somebody says so.
#[test]
fn truncated_leases_are_noticed_and_service_resumes() {
    let server = PostgresServer::start();
    let mut holder = open(&server);
    let grants = acquire(&mut holder, 1).unwrap();
    execute(&server, "TRUNCATE randflake.record");
    let mut next = open(&server);
    is_quarantined(&mut next);
    let ends = holder.renew(&grants, 300).unwrap().ends;
    assert_eq!(ends, [Err(Loss::Forgotten)]);
    next.administration().override_quarantine().unwrap();
    acquire(&mut next, 1).unwrap();
}

/// All of them, so that nothing in the tables tells of it.
#[test]
fn records_deleted_under_a_holder_are_quarantined() {
    let server = PostgresServer::start();
    let mut holder = open(&server);
    let grants = acquire(&mut holder, 1).unwrap();
    holder.counter().create().unwrap();
    assert_eq!(holder.counter().reserve(10).unwrap().first(), 1);
    assert_eq!(holder.counter().reserve(10).unwrap().first(), 11);
    execute(&server, "DELETE FROM randflake.record");
    let mut next = open(&server);
    let reserved = next.counter().reserve(10);
    assert!(
        matches!(reserved, Err(CounterError::Lost { .. })),
        "{reserved:?}"
    );
    is_quarantined(&mut next);
    let ends = holder.renew(&grants, 300).unwrap().ends;
    assert_eq!(ends, [Err(Loss::Forgotten)]);
}

/// Also by a renewal that reads nothing before.
#[test]
fn a_connection_that_was_closed_is_replaced() {
    let mut server = PostgresServer::start();
    let mut store = open(&server);
    let grants = acquire(&mut store, 1).unwrap();
    server.server.restart();
    assert!(store.renew(&grants, 300).unwrap().ends[0].is_ok());
    server.server.restart();
    acquire(&mut store, 1).unwrap();
}
