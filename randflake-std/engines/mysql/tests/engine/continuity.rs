//! Lost data of a server or of its tables, as it is noticed.

use core::time::Duration;
use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::Command;
use std::sync::Arc;
use std::thread;

use harness::clock::WallClock;
use harness::mariadb::MariadbServer;
use randflake_lease::CounterError;
use randflake_lease::Loss;
use randflake_lease::StoreError;

use crate::database::{Database, TTL, acquire, assert_failed_precondition, assert_quarantined};

const TABLES: [&str; 2] = ["store", "record"];

/// Longer than what a file's time can tell apart.
pub(super) const A_SECOND: Duration = Duration::from_millis(1_100);

/// A server, and its wall clock.
fn by_a_clock(folder: &Path) -> (Database, Arc<WallClock>) {
    fs::set_permissions(folder, Permissions::from_mode(0o755)).unwrap();
    let clock = Arc::new(WallClock::new(folder));
    let server = Database::of(MariadbServer::start_by(Arc::clone(&clock)));
    (server, clock)
}

/// It is written without a look at the clock before, so the write looks.
#[test]
fn a_renewal_over_a_leap_of_the_clock_fails_once() {
    let folder = tempfile::tempdir().unwrap();
    let (server, clock) = by_a_clock(folder.path());
    let (mut store, grant) = server.holder();
    for leap_ms in [9_000, -9_000] {
        clock.step_ms(leap_ms);
        let failed = store.renew(&[grant], TTL);
        assert!(
            matches!(failed, Err(StoreError::ClockSkew { .. })),
            "{failed:?}"
        );
        for _ in 0..2 {
            assert!(store.renew(&[grant], TTL).unwrap().ends[0].is_ok());
        }
    }
}

#[test]
fn server_back_behind_with_old_data_writes_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let (mut server, clock) = by_a_clock(folder.path());
    drop(server.holder());
    server.server().kill();
    let data = server.server().folder().join("data");
    let older = folder.path().join("older");
    let copy = |from, to| {
        let copied = Command::new("cp").arg("-a").args([from, to]).status();
        assert!(copied.unwrap().success());
    };
    copy(&data, &older);
    server.server().restart();
    let (mut first, grant) = server.holder();
    server.server().kill();
    fs::remove_dir_all(&data).unwrap();
    // What was restored is told by the time of the tables' files, which MariaDB gives in whole
    // seconds.
    thread::sleep(A_SECOND);
    copy(&older, &data);
    clock.step_ms(-400_000);
    server.server().restart();

    let written = |server: &Database| {
        let question = "SELECT value FROM randflake_record WHERE kind = 0";
        let row = server.client().query_first::<String>(question);
        row.unwrap().unwrap()
    };
    let before = written(&server);
    let mut other = server.open();
    for refused in [
        acquire(&mut other, 1).map(drop),
        first.renew(&[grant], TTL).map(drop),
        first.administration().start_quarantine().map(drop),
    ] {
        assert!(
            matches!(
                refused,
                Err(StoreError::ClockSkew { .. } | StoreError::Unavailable(_))
            ),
            "{refused:?}"
        );
    }
    assert_eq!(written(&server), before);
    clock.step_ms(400_000);
    assert_quarantined(&mut other);
    assert_quarantined(&mut first);
    assert!(first.renew(&[grant], TTL).unwrap().ends[0].is_err());
}

#[test]
fn dropped_or_emptied_tables_are_quarantined() {
    let server = Database::new();
    let tables = TABLES.map(|table| format!("randflake_{table}"));
    for verb in ["DROP TABLE", "TRUNCATE", "DELETE FROM"] {
        let (mut store, grant) = server.holder();
        let all = tables.each_ref().map(|table| format!("{verb} {table}"));
        server.do_all(&all.each_ref().map(String::as_str));
        assert_quarantined(&mut server.open());
        let lost = store.renew(&[grant], TTL).unwrap().ends;
        assert_eq!(lost, [Err(Loss::Forgotten)], "{verb}");
        assert_quarantined(&mut store);
        store.administration().override_quarantine().unwrap();
        acquire(&mut store, 1).unwrap();
    }
    // Also by hand, with the tables' row left.
    for verb in ["DELETE FROM", "TRUNCATE"] {
        let (mut store, grant) = server.holder();
        server.do_all(&[&format!("{verb} randflake_record")]);
        assert_quarantined(&mut server.open());
        assert!(store.renew(&[grant], TTL).unwrap().ends[0].is_err());
        store.administration().override_quarantine().unwrap();
    }
}

#[test]
fn a_dump_restored_in_place_begins_in_quarantine() {
    let server = Database::new();
    let (mut store, grant) = server.holder();
    let each = |statement: &str| {
        for table in TABLES {
            let statement = statement.replace("TABLE", &format!("randflake_{table}"));
            server.do_all(&[&statement.replace("table", "TABLE")]);
        }
    };
    each("CREATE table dump_TABLE LIKE TABLE");
    each("INSERT INTO dump_TABLE SELECT * FROM TABLE");
    let later = acquire(&mut store, 1).unwrap()[0];
    thread::sleep(A_SECOND);
    each("DROP table TABLE");
    each("CREATE table TABLE LIKE dump_TABLE");
    each("INSERT INTO TABLE SELECT * FROM dump_TABLE");
    assert_quarantined(&mut server.open());
    let ends = store.renew(&[grant, later], TTL).unwrap().ends;
    // What the dump has of it had not expired by any clock.
    assert!(ends[0].is_ok(), "{ends:?}");
    assert_eq!(ends[1], Err(Loss::Forgotten));
    assert_quarantined(&mut store);
}

/// How `randflake_record` alone goes back to its copy `kept`.
const ALONE: [(&str, &[&str]); 5] = [
    (
        "emptied and filled",
        &[
            "TRUNCATE randflake_record",
            "INSERT INTO randflake_record SELECT * FROM kept",
        ],
    ),
    (
        "the same by a program for dumps",
        &[
            "TRUNCATE randflake_record",
            "SET sql_mode = 'NO_AUTO_VALUE_ON_ZERO'",
            "INSERT INTO randflake_record SELECT * FROM kept",
        ],
    ),
    (
        "the copy put in its place",
        &[
            "CREATE TABLE other LIKE randflake_record",
            "INSERT INTO other SELECT * FROM kept",
            "DROP TABLE randflake_record",
            "RENAME TABLE other TO randflake_record",
        ],
    ),
    (
        "a dump of it restored",
        &[
            "DROP TABLE randflake_record",
            DUMPED,
            "SET sql_mode = 'NO_AUTO_VALUE_ON_ZERO'",
            "INSERT INTO randflake_record SELECT * FROM kept",
        ],
    ),
    (
        "its rows exchanged",
        &[
            "DELETE FROM randflake_record",
            "INSERT INTO randflake_record SELECT * FROM kept",
        ],
    ),
];

/// What `SHOW CREATE TABLE` answered, as it stands in a dump.
const DUMPED: &str = "SHOW CREATE TABLE randflake_record";

/// The other table stays as it is. Twice: what is noticed once must be noticed again.
#[test]
fn records_that_go_back_alone_are_quarantined() {
    for (way, statements) in ALONE {
        let server = Database::new();
        let (mut store, mut grant) = server.holder();
        store.counter().create().unwrap();
        for _ in 0..2 {
            let before = store.counter().reserve(1_000).unwrap();
            let mut client = server.client();
            client
                .query_drop("CREATE TABLE kept AS SELECT * FROM randflake_record")
                .unwrap();
            let dumped: Option<(String, String)> = client.query_first(DUMPED).unwrap();
            let dumped = dumped.unwrap().1;
            let after = store.counter().reserve(1_000).unwrap();
            assert_eq!(after.first(), before.end());
            let later = acquire(&mut store, 1).unwrap_or_else(|error| panic!("{way}: {error}"))[0];
            thread::sleep(A_SECOND);
            for &statement in statements {
                let is_dumped = statement == DUMPED;
                let statement = if is_dumped { &*dumped } else { statement };
                client.query_drop(statement).unwrap();
            }
            client.query_drop("DROP TABLE kept").unwrap();

            let mut other = server.open();
            let reserved = other.counter().reserve(1_000);
            assert!(
                matches!(reserved, Err(CounterError::Lost { .. })),
                "{way}: {reserved:?}"
            );
            assert_quarantined(&mut other);
            let ends = store.renew(&[grant, later], TTL).unwrap().ends;
            assert_eq!(ends[1], Err(Loss::Forgotten), "{way}");
            grant.end = ends[0].unwrap();
            store.administration().override_quarantine().unwrap();
            store.counter().resume(after.end()).unwrap();
            acquire(&mut other, 1).unwrap();
        }
    }
}

/// A server computes the next automatic number anew when it has started, by settings that may be
/// others than before.
#[test]
fn a_server_that_was_restarted_is_the_same() {
    let settings = ["--auto-increment-increment=10", "--auto-increment-offset=3"];
    let mut server = Database::of(MariadbServer::start_with(&settings));
    let (mut store, grant) = server.holder();
    store.counter().create().unwrap();
    for _ in 0..2 {
        server.server().kill();
        server.server().restart();
        let mut store = server.open();
        acquire(&mut store, 1).unwrap();
        assert!(store.renew(&[grant], TTL).unwrap().ends[0].is_ok());
        store.counter().reserve(10).unwrap();
    }
}

#[test]
fn losing_setting_is_refused_in_open_sessions() {
    let settings = ["--log-bin", "--sync-binlog=1"];
    let server = Database::of(MariadbServer::start_with(&settings));
    let (mut store, grant) = server.holder();
    for (setting, value) in [("innodb_flush_log_at_trx_commit", 2), ("sync_binlog", 0)] {
        let named = format!("{setting}={value}");
        server.do_all(&[&format!("SET GLOBAL {setting} = {value}")]);
        assert_failed_precondition(store.renew(&[grant], TTL), &named);
        assert_failed_precondition(acquire(&mut store, 1), &named);
        server.do_all(&[&format!("SET GLOBAL {setting} = 1")]);
        assert!(store.renew(&[grant], TTL).unwrap().ends[0].is_ok());
    }
}

/// After a failover only a new connection leads to the new primary, as the server's name does then.
#[test]
fn a_connection_to_a_read_only_server_is_not_kept() {
    let server = Database::of(MariadbServer::start());
    let (mut store, grant) = server.holder();
    let mut client = server.client();
    let mut connections = || {
        let question =
            "SELECT CAST(variable_value AS UNSIGNED) FROM information_schema.global_status
            WHERE variable_name = 'Connections'";
        client.query_first::<u64>(question).unwrap().unwrap()
    };
    server.do_all(&["SET GLOBAL read_only = 1"]);
    let before = connections();
    for _ in 0..2 {
        let refused = acquire(&mut store, 1).unwrap_err();
        assert!(refused.to_string().contains("read-only"), "{refused}");
    }
    // A second one for the first acquire, which had one, and one for the next.
    assert_eq!(connections() - before, 2);
    server.do_all(&["SET GLOBAL read_only = 0"]);
    assert!(store.renew(&[grant], TTL).unwrap().ends[0].is_ok());
}

#[test]
fn a_live_lease_that_vanished_sets_a_quarantine() {
    let server = Database::new();
    let (mut store, grant) = server.holder();
    server.do_all(&["DELETE FROM randflake_record WHERE kind = 2"]);
    let ends = store.renew(&[grant], TTL).unwrap().ends;
    assert_eq!(ends, [Err(Loss::Forgotten)]);
    assert_quarantined(&mut store);
    let mut other = server.open();
    assert_quarantined(&mut other);
    other.administration().override_quarantine().unwrap();
    acquire(&mut other, 1).unwrap();
}

#[test]
fn namespace_without_its_row_is_quarantined() {
    let server = Database::new();
    let (mut store, grant) = server.holder();
    server.do_all(&["DELETE FROM randflake_record WHERE kind = 0"]);
    assert_quarantined(&mut server.open());
    // Its lease is there, but of a namespace that is not.
    let ends = store.renew(&[grant], TTL).unwrap().ends;
    assert_eq!(ends, [Err(Loss::Forgotten)]);
    assert_quarantined(&mut store);
    drop(store);

    // Also when nobody is connected.
    server.do_all(&["DELETE FROM randflake_record WHERE kind = 0"]);
    assert_quarantined(&mut server.open());
}

/// Nobody of many that start on a new database at once takes another's beginning for a loss.
#[test]
fn starters_on_a_declared_new_database_are_granted() {
    let server = Database::new();
    thread::scope(|scope| {
        for _ in 0..16 {
            scope.spawn(|| server.holder());
        }
    });
}
