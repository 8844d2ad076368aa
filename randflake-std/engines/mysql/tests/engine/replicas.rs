//! Replicas that take their primary's place, and its `server_id` with it.

use std::thread;

use harness::mariadb::{Client, MariadbServer};
use randflake_lease::CounterError;
use randflake_lease::{Grant, Loss};
use randflake_mysql::MysqlStore;

use crate::continuity::A_SECOND;
use crate::database::{Database, TTL, acquire, assert_quarantined, namespace};

/// A primary with the tables, and a replica of it that has replayed all, within the same second.
fn pair() -> (Database, MariadbServer) {
    let primary = Database::of(MariadbServer::start_with_log(1));
    let replica = MariadbServer::start_with_log(2);
    replica.follow(primary.server.port);
    // A second may end between the two.
    for _ in 0..100 {
        // Not declared new yet.
        MysqlStore::open(&primary.url("root"), &namespace()).unwrap();
        replica.catch_up_with(&primary.server);
        if created(primary.client()) == created(replica.client(Some("ids"))) {
            return (primary, replica);
        }
        primary.do_all(&["DROP TABLE randflake_record", "DROP TABLE randflake_store"]);
    }
    panic!("the replica creates its tables later");
}

fn created(mut client: Client) -> Option<String> {
    let question = "SELECT CAST(MAX(create_time) AS CHAR) FROM information_schema.tables
        WHERE table_schema = 'ids'";
    client.query_first(question).unwrap()
}

/// Grants two leases and reserves two blocks of numbers, of which the replica has the first ones.
/// The second lease.
fn run_ahead(primary: &Database, replica: &MariadbServer) -> Grant {
    let (mut store, _) = primary.holder();
    if store.counter().status().unwrap().lost {
        store.counter().create().unwrap();
    }
    store.counter().reserve(1_000).unwrap();
    replica.catch_up_with(&primary.server);
    replica.client(None).query_drop("STOP SLAVE").unwrap();
    let later = acquire(&mut store, 1).unwrap()[0];
    store.counter().reserve(1_000).unwrap();
    later
}

/// Makes a replica the primary, with a `server_id` that belongs to the role.
fn promoted(replica: MariadbServer) -> Database {
    replica.promote();
    let by_role = "SET GLOBAL server_id = 1";
    replica.client(None).query_drop(by_role).unwrap();
    Database::of(replica)
}

fn assert_noticed(promoted: &Database, later: Grant) {
    let mut store = MysqlStore::open(&promoted.url("root"), &namespace()).unwrap();
    let reserved = store.counter().reserve(1_000);
    assert!(
        matches!(reserved, Err(CounterError::Lost { .. })),
        "{reserved:?}"
    );
    assert_quarantined(&mut store);
    let ends = store.renew(&[later], TTL).unwrap().ends;
    assert_eq!(ends, [Err(Loss::Forgotten)]);
}

#[test]
fn lagging_replica_with_same_id_is_quarantined() {
    let (primary, replica) = pair();
    let later = run_ahead(&primary, &replica);
    assert_noticed(&promoted(replica), later);
}

/// A restored table has the automatic number of the dump, on the replica too.
#[test]
fn failover_after_a_restored_dump_is_quarantined() {
    let (primary, replica) = pair();
    let mut client = primary.client();
    let dumped: Option<(String, String)> = client
        .query_first("SHOW CREATE TABLE randflake_record")
        .unwrap();
    thread::sleep(A_SECOND);
    for _ in 0..100 {
        for statement in [
            "CREATE TABLE kept AS SELECT * FROM randflake_record",
            "DROP TABLE randflake_record",
            &*dumped.as_ref().unwrap().1,
            "SET sql_mode = 'NO_AUTO_VALUE_ON_ZERO'",
            "INSERT INTO randflake_record SELECT * FROM kept",
            "DROP TABLE kept",
        ] {
            client.query_drop(statement).unwrap();
        }
        replica.catch_up_with(&primary.server);
        if created(primary.client()) == created(replica.client(Some("ids"))) {
            break;
        }
    }
    primary
        .open()
        .administration()
        .override_quarantine()
        .unwrap();
    let later = run_ahead(&primary, &replica);
    assert_noticed(&promoted(replica), later);
}

/// Rows that were inserted by hand took automatic numbers, which the replica has with the rows.
#[test]
fn failover_after_rows_put_by_hand_is_quarantined() {
    let (primary, replica) = pair();
    primary.do_all(&[
        "CREATE TABLE kept AS SELECT * FROM randflake_record",
        "DELETE FROM randflake_record",
        "INSERT INTO randflake_record SELECT * FROM kept",
    ]);
    primary
        .open()
        .administration()
        .override_quarantine()
        .unwrap();
    let later = run_ahead(&primary, &replica);
    assert_noticed(&promoted(replica), later);
}

/// Each writes what the other one has written, of which only one is used.
#[test]
fn one_of_two_replicating_servers_is_used() {
    let (primary, replica) = pair();
    primary.server.follow(replica.port);
    let (mut store, grant) = primary.holder();
    store.counter().create().unwrap();
    for _ in 0..3 {
        replica.catch_up_with(&primary.server);
        replica
            .client(Some("ids"))
            .query_drop("CREATE OR REPLACE TABLE others (a INT)")
            .unwrap();
        primary.server.catch_up_with(&replica);
        acquire(&mut store, 1).unwrap();
        assert!(store.renew(&[grant], TTL).unwrap().ends[0].is_ok());
        store.counter().reserve(10).unwrap();
    }
}
