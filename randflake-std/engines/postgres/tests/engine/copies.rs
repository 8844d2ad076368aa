//! Copies of a database: refused, because the original may be in use, until a person says that it
//! is gone.

use std::path::Path;
use std::process::{Command, Output};

use harness::postgres::PostgresServer;
use harness::program;
use randflake_lease::CounterError;
use randflake_lease::{Finding, LeaseStore, StoreError, Verdict};
use randflake_postgres::PostgresStore;

use crate::{acquire, is_quarantined, namespace, open, open_at};

fn execute(server: &PostgresServer, sql: &str) {
    server.client("postgres").batch_execute(sql).unwrap();
}

fn system(server: &PostgresServer) -> String {
    let question = "SELECT system_identifier::text FROM pg_control_system()";
    let row = server.client("postgres").query_one(question, &[]).unwrap();
    row.get(0)
}

fn oid(server: &PostgresServer, database: &str) -> String {
    let question = "SELECT oid::text FROM pg_database WHERE datname = $1";
    let mut client = server.client("postgres");
    client.query_one(question, &[&database]).unwrap().get(0)
}

fn open_copy(server: &PostgresServer, database: &str) -> LeaseStore {
    PostgresStore::open(&server.url(database), &namespace()).unwrap()
}

/// It names both and the command, and nothing is written.
#[track_caller]
fn is_refused(store: &mut LeaseStore, of: &str, is: &str) {
    let refused = [
        acquire(store, 1).unwrap_err(),
        store.administration().create_namespace().unwrap_err(),
        store.administration().end_quarantine().unwrap_err(),
        store.administration().override_quarantine().unwrap_err(),
        store.administration().drop_namespace().unwrap_err(),
    ];
    for error in refused {
        assert!(
            matches!(error, StoreError::FailedPrecondition(_)),
            "{error:?}"
        );
        let said = error.to_string();
        let parts = [of, is, "this is a copy", "randflake lease init --moved"];
        for part in parts {
            assert!(said.contains(part), "{part}: {said}");
        }
    }
    let found = store.administration().diagnose().unwrap();
    let copy = found.iter().find(|finding| finding.name == "copy");
    let verdict = &copy.unwrap().verdict;
    assert!(
        matches!(verdict, Verdict::Wrong(why) if why.contains("--moved")),
        "{verdict:?}"
    );
    assert!(
        !found
            .iter()
            .any(|Finding { name, .. }| *name == "quarantine")
    );
}

/// As that of another server or database, of which the end says nothing.
#[track_caller]
fn is_moved(store: &mut LeaseStore, again: &mut LeaseStore) {
    let waits = store.administration().declare_moved().unwrap();
    assert!(waits.is_some());
    is_quarantined(store);
    is_quarantined(again);
    again.administration().override_quarantine().unwrap();
    acquire(store, 1).unwrap();
    assert_eq!(again.administration().declare_moved().unwrap(), None);
}

#[test]
fn database_from_a_template_must_be_declared_moved() {
    let server = PostgresServer::start();
    execute(&server, "CREATE DATABASE ids");
    let url = server.url("ids");
    let mut original = open_at(&url, &namespace());
    let grants = acquire(&mut original, 1).unwrap();
    original.counter().create().unwrap();
    assert_eq!(original.counter().reserve(10).unwrap().first(), 1);
    drop(original);
    execute(&server, "CREATE DATABASE copy TEMPLATE ids");

    let mut copy = open_copy(&server, "copy");
    let [of, is] = ["ids", "copy"].map(|name| format!("database {} of", oid(&server, name)));
    is_refused(&mut copy, &of, &is);
    let refused = copy.renew(&grants, 300).unwrap_err();
    assert!(refused.to_string().contains("this is a copy"), "{refused}");
    // A person has to say where each counter goes on.
    let lost = copy.counter().reserve(10);
    assert!(matches!(lost, Err(CounterError::Lost { .. })), "{lost:?}");
    // The original goes on meanwhile.
    let mut original = open_copy(&server, "ids");
    assert!(original.renew(&grants, 300).unwrap().ends[0].is_ok());
    acquire(&mut original, 1).unwrap();
    is_refused(&mut open_copy(&server, "copy"), &of, &is);

    is_moved(&mut copy, &mut open_copy(&server, "copy"));
}

fn run(server: &PostgresServer, name: &str, more: &[&str]) -> Output {
    let mut command = Command::new(program("RANDFLAKE_POSTGRES").join(name));
    let port = server.port.to_string();
    command.args(["--host=127.0.0.1", "--username=postgres", "--port", &port]);
    let output = command.args(more).output().unwrap();
    assert!(output.status.success(), "{output:?}");
    output
}

fn restore(server: &PostgresServer, dump: &Path, database: &str) {
    let file = format!("--file={}", dump.display());
    let arguments = ["--quiet", "--set=ON_ERROR_STOP=1", &file, database];
    run(server, "psql", &arguments);
}

#[test]
fn dump_on_another_server_must_be_declared_moved() {
    let [server, other] = [PostgresServer::start(), PostgresServer::start_unrelated()];
    let grants = acquire(&mut open(&server), 1).unwrap();
    let folder = tempfile::tempdir().unwrap();
    let dump = folder.path().join("dump.sql");
    let to_file = format!("--file={}", dump.display());
    run(&server, "pg_dump", &[&to_file, "postgres"]);
    restore(&other, &dump, "postgres");

    let [of, is] = [&server, &other].map(|server| format!("PostgreSQL system {}", system(server)));
    let mut copy = open_copy(&other, "postgres");
    is_refused(&mut copy, &of, &is);
    is_moved(&mut copy, &mut open_copy(&other, "postgres"));
    // A lease from before may be renewed: only the original could have granted its node id again.
    assert!(copy.renew(&grants, 300).unwrap().ends[0].is_ok());
}

/// A database that was dropped and restored under its name is another one, too: the one before may
/// have been renamed.
#[test]
fn dump_restored_under_the_same_name_is_refused() {
    let server = PostgresServer::start();
    execute(&server, "CREATE DATABASE ids");
    acquire(&mut open_at(&server.url("ids"), &namespace()), 1).unwrap();
    let folder = tempfile::tempdir().unwrap();
    let dump = folder.path().join("dump.sql");
    let to_file = format!("--file={}", dump.display());
    run(&server, "pg_dump", &[&to_file, "ids"]);
    execute(&server, "ALTER DATABASE ids RENAME TO former");
    // The same database under another name is the original.
    acquire(&mut open_copy(&server, "former"), 1).unwrap();
    execute(&server, "CREATE DATABASE ids");
    restore(&server, &dump, "ids");

    let [of, is] = ["former", "ids"].map(|name| format!("database {} of", oid(&server, name)));
    is_refused(&mut open_copy(&server, "ids"), &of, &is);
}
