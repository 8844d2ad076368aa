//! Ids that the database makes, while its server forgets or is exchanged.

use core::time::Duration;
use std::collections::BTreeSet;
use std::{fs, thread};

use harness::postgres::PostgresServer;
use harness::server;
use postgres::Client;

use super::{Database, refusal};
use crate::user::User;

const INSERT: &str = "INSERT INTO invoices DEFAULT VALUES RETURNING id";
const NEXT: &str = "SELECT randflake_invoices.next_id('invoices')";

/// A server with a counter, and a table that uses it.
fn with_invoices(settings: &[&str]) -> Database {
    let database = Database::start_with(settings);
    let mut client = database.install(&["--namespace", "invoices", "--counter"]);
    database.bring_key("invoices").ok();
    client
        .batch_execute("CREATE TABLE invoices (id bigint PRIMARY KEY DEFAULT randflake_invoices.next_id('invoices'))")
        .unwrap();
    database
}

fn ids(client: &mut Client, statement: &str, count: usize) -> BTreeSet<i64> {
    (0..count)
        .map(|_| client.query_one(statement, &[]).unwrap().get(0))
        .collect()
}

/// How many were issued before.
fn equal(before: &BTreeSet<i64>, after: &BTreeSet<i64>) -> usize {
    before.intersection(after).count()
}

fn number(client: &mut Client) -> i64 {
    let number = "SELECT last_value FROM randflake_invoices.number";
    client.query_one(number, &[]).unwrap().get(0)
}

/// Its commits do not wait for the disk, and nothing else brings them there in time.
const FORGETS: &[&str] = &["synchronous_commit=off", "wal_writer_delay=10s"];
/// A commit that does not wait, as nothing in `next_id` can see.
const ASYNCHRONOUS: &str =
    "BEGIN; INSERT INTO invoices DEFAULT VALUES; SET LOCAL synchronous_commit = off; COMMIT";

/// Ids of transactions that are lost are not made again, whether they were inserted or selected
/// alone.
#[test]
fn a_crash_that_loses_commits_repeats_no_id() {
    let mut database = with_invoices(FORGETS);
    database.client().batch_execute("CHECKPOINT").unwrap();
    let before = number(&mut database.client());
    let mut client = database.client();
    let mut issued = BTreeSet::new();
    for _ in 0..40 {
        let mut transaction = client.transaction().unwrap();
        issued.extend::<[i64; 1]>([transaction.query_one(INSERT, &[]).unwrap().get(0)]);
        transaction
            .batch_execute("SET LOCAL synchronous_commit = off")
            .unwrap();
        transaction.commit().unwrap();
        issued.extend(ids(&mut client, NEXT, 1));
    }
    database.server.server.restart();
    let mut client = database.client();
    // The crash took them back: the sequence stands where it stood.
    let rows = "SELECT count(*) FROM invoices";
    let rows: i64 = client.query_one(rows, &[]).unwrap().get(0);
    assert!(rows < 40, "the fault did not happen: {rows}");
    let again = ids(&mut client, INSERT, 100);
    assert_eq!(equal(&issued, &again), 0);
    assert!(number(&mut client) > before + 1_000_000_000_000);
}

/// The server keeps its process, and starts again within it.
#[test]
fn a_killed_process_of_the_server_repeats_no_id() {
    let database = with_invoices(FORGETS);
    database.client().batch_execute("CHECKPOINT").unwrap();
    let mut client = database.client();
    client.batch_execute(ASYNCHRONOUS).unwrap();
    let issued = ids(&mut client, NEXT, 20);
    let started = "SELECT pg_postmaster_start_time()::text";
    let started_at: String = client.query_one(started, &[]).unwrap().get(0);
    let mut other = database.client();
    let process: i32 = other
        .query_one("SELECT pg_backend_pid()", &[])
        .unwrap()
        .get(0);
    server::kill(process);
    // Until it has seen that, which closes all connections, and not only that of the killed
    // process.
    while client.batch_execute("SELECT 1").is_ok() {
        thread::sleep(Duration::from_millis(10));
    }
    let url = database.server.url("postgres");
    let mut client = loop {
        let connected = Client::connect(&url, postgres::NoTls);
        if let Ok(client) = connected {
            break client;
        }
        thread::sleep(Duration::from_millis(20));
    };
    let started: String = client.query_one(started, &[]).unwrap().get(0);
    assert_eq!(started, started_at);
    let again = ids(&mut client, NEXT, 100);
    assert_eq!(equal(&issued, &again), 0);
}

/// Who commits without waiting for the disk waits for it after `next_id`; stronger settings stay.
#[test]
fn a_transaction_with_an_id_waits_for_the_disk() {
    let database = with_invoices(&[]);
    let mut client = database.client();
    for (setting, then) in [
        ("off", "on"),
        ("local", "local"),
        ("remote_write", "remote_write"),
        ("on", "on"),
        ("remote_apply", "remote_apply"),
    ] {
        let set = format!("SET synchronous_commit = {setting}");
        client.batch_execute(&set).unwrap();
        let mut transaction = client.transaction().unwrap();
        transaction.batch_execute(NEXT).unwrap();
        let show = "SHOW synchronous_commit";
        let shown: String = transaction.query_one(show, &[]).unwrap().get(0);
        assert_eq!(shown, then, "{setting}");
        transaction.commit().unwrap();
        let shown: String = client.query_one(show, &[]).unwrap().get(0);
        assert_eq!(shown, setting);
    }
}

/// The first id after a start jumps, in a transaction that stays open or is rolled back: the others
/// neither wait for it nor jump once more.
#[test]
fn a_jump_neither_blocks_nor_rolls_back() {
    let mut database = with_invoices(&[]);
    database.server.server.restart();
    let mut first = database.client();
    let mut open = first.transaction().unwrap();
    let id: i64 = open.query_one(NEXT, &[]).unwrap().get(0);
    let mut second = database.client();
    second.batch_execute("SET lock_timeout = '10s'").unwrap();
    let jumped = number(&mut second);
    let others = ids(&mut second, INSERT, 10);
    assert!(!others.contains(&id));
    open.rollback().unwrap();
    assert_eq!(number(&mut second), jumped + 10);
    // By chance: two starts from the same number do not meet.
    let mut jumps = BTreeSet::new();
    for _ in 0..4 {
        second
            .batch_execute("SELECT setval('randflake_invoices.number', 1), setval('randflake_invoices.known_run', 1)")
            .unwrap();
        ids(&mut second, INSERT, 1);
        let number = number(&mut second);
        assert!((1_000_000_000_000..=2_000_000_000_002).contains(&number));
        jumps.insert(number);
    }
    assert_eq!(jumps.len(), 4);
}

/// It did not receive the last ids of its primary, and starts of it.
#[test]
fn a_promoted_standby_repeats_no_id() {
    let mut database = with_invoices(&[]);
    let mut issued = ids(&mut database.client(), INSERT, 3);
    let mut standby = PostgresServer::standby_of(database.server.port);
    standby.catch_up_with(&database.server);
    let refused = refusal(&mut standby.client("postgres"), NEXT);
    assert_eq!(refused, "recovery is in progress");
    standby.server.kill();
    for _ in 0..3 {
        issued.extend(ids(&mut database.client(), INSERT, 100));
        database.server.server.restart();
    }
    let last = number(&mut database.client());
    database.server.server.kill();
    standby.server.restart();
    standby.promote();
    let mut client = standby.client("postgres");
    let again = ids(&mut client, INSERT, 100);
    assert_eq!(equal(&issued, &again), 0);
    let first = number(&mut client) - 99;
    // More than all starts that it may have missed.
    assert!(first > 100_000_000_000_000 && first > last, "{first}");
}

/// Replication brings rows, and no values of sequences.
#[test]
fn promoted_logical_replicas_wait_until_resumed() {
    let database = with_invoices(&["wal_level=logical"]);
    let mut client = database.client();
    let mut issued = ids(&mut client, INSERT, 100);
    let schema = database.dump(&["--schema-only"]);
    let replica = Database::start();
    replica.run_script(&schema, "postgres");
    replica.bring_key("invoices").ok();
    client
        .batch_execute("CREATE PUBLICATION invoices FOR TABLE invoices")
        .unwrap();
    let mut follower = replica.client();
    let url = database.server.url("postgres");
    follower
        .batch_execute(&format!(
            "CREATE SUBSCRIPTION invoices CONNECTION '{url}' PUBLICATION invoices"
        ))
        .unwrap();
    let rows = "SELECT count(*) FROM invoices";
    while follower.query_one(rows, &[]).unwrap().get::<_, i64>(0) < 100 {
        thread::sleep(Duration::from_millis(20));
    }
    follower
        .batch_execute("DROP SUBSCRIPTION invoices")
        .unwrap();
    issued.extend(ids(&mut client, NEXT, 100));
    let refused = refusal(&mut follower, INSERT);
    assert_eq!(
        refused,
        "the counter of the schema randflake_invoices has no record of where it was used: its numbers were not copied \
         It may be behind ids that have left."
    );
    follower
        .batch_execute("SELECT randflake_invoices.resume(max(randflake_invoices.decrypt(id)) + 1000000) FROM invoices")
        .unwrap();
    assert_eq!(equal(&issued, &ids(&mut follower, INSERT, 100)), 0);
}

/// Of a database by the server, and of a dump on another one.
#[test]
fn a_copy_of_the_database_waits_until_it_is_resumed() {
    let database = with_invoices(&[]);
    database
        .client()
        .batch_execute("CREATE DATABASE source TEMPLATE postgres")
        .unwrap();
    let said = |what: &str| {
        format!(
            "the counter of the schema randflake_invoices was last used {what} It may be behind ids that have left."
        )
    };
    let elsewhere = said("in another database, or before a dump was restored");
    let refused = refusal(&mut database.server.client("source"), INSERT);
    assert_eq!(refused, elsewhere);

    let other = Database {
        server: PostgresServer::start_unrelated(),
        user: User::new(),
    };
    other.run_script(&database.dump(&[]), "postgres");
    let system = "SELECT system_identifier::text FROM pg_control_system()";
    let system: String = database.client().query_one(system, &[]).unwrap().get(0);
    let elsewhere = format!("on another server, of system identifier {system}");
    let refused = refusal(&mut other.client(), INSERT);
    assert_eq!(refused, said(&elsewhere));
    // The original goes on.
    ids(&mut database.client(), INSERT, 1);
}

/// Files from before the last ids, which the server takes for its own: neither system identifier
/// nor timeline is another.
#[test]
fn an_older_copy_of_the_servers_files_repeats_no_id() {
    let mut database = with_invoices(&[]);
    ids(&mut database.client(), INSERT, 3);
    let copy = PostgresServer::standby_of(database.server.port);
    copy.catch_up_with(&database.server);
    let mut copy = copy;
    copy.server.kill();
    fs::remove_file(copy.server.folder().join("data/standby.signal")).unwrap();
    let issued = ids(&mut database.client(), INSERT, 100);
    database.server.server.kill();
    copy.server.restart();
    let mut client = copy.client("postgres");
    let timeline = "SELECT left(pg_walfile_name(pg_current_wal_insert_lsn()), 8)";
    let timeline: String = client.query_one(timeline, &[]).unwrap().get(0);
    assert_eq!(timeline, "00000001");
    assert_eq!(equal(&issued, &ids(&mut client, INSERT, 100)), 0);
}

/// Without these the counter would not notice anything: it is not made.
#[test]
fn an_unidentified_server_gets_no_counter() {
    let database = Database::start();
    let mut client = database.client();
    client
        .batch_execute(
            "CREATE ROLE owner LOGIN; GRANT CREATE ON DATABASE postgres TO owner;
             REVOKE EXECUTE ON FUNCTION pg_control_system FROM PUBLIC",
        )
        .unwrap();
    let printed = database.printed(&["--namespace", "invoices", "--counter"]);
    let mut owner = database.client_of("owner");
    let refused = refusal(&mut owner, &printed);
    assert_eq!(
        refused,
        "the counter does not notice a failover or a copy without the right to call pg_control_system()"
    );
    owner.batch_execute("ROLLBACK").unwrap();
    client
        .batch_execute("GRANT EXECUTE ON FUNCTION pg_control_system() TO owner")
        .unwrap();
    owner.batch_execute(&printed).unwrap();
    // Nobody else says where the counter goes on.
    client
        .batch_execute("CREATE ROLE app LOGIN; GRANT USAGE ON SCHEMA randflake_invoices TO app")
        .unwrap();
    let mut app = database.client_of("app");
    for inner in ["resume(1000)", "confirm()", "here()", "this_run()"] {
        let refused = refusal(&mut app, &format!("SELECT randflake_invoices.{inner}"));
        assert!(
            refused.starts_with("permission denied for function"),
            "{refused}"
        );
    }
}
