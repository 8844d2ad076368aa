//! Where the keys of tags are, and that the secret is nowhere.

use std::thread;

use postgres::Client;
use randflake_std::Secret;

use crate::postgres::secrecy::{TALKATIVE, found_of, logged, parts_of, views};
use crate::postgres::{Database, refusal};
use crate::tagged::{number, secret};

/// The keys of both numbers, and the secrets that they are derived from.
fn keys() -> Vec<Secret> {
    let of = |of| {
        let secret = secret(of);
        let key = secret.key_of_tags(number(of), "orders").unwrap();
        [key, secret]
    };
    [1, 2].into_iter().flat_map(of).collect()
}

fn found(text: &str) -> Vec<String> {
    let each = keys().into_iter().map(|key| found_of(&key, text));
    each.flatten().collect()
}

#[test]
fn no_log_and_no_view_has_a_key() {
    let (database, mut client) = Database::with_tagged_orders(&TALKATIVE);
    client
        .batch_execute(
            "CREATE EXTENSION pg_stat_statements;
             SELECT randflake_orders.is_tagged(u), randflake_orders.tagged_id(u)
                 FROM (SELECT randflake_orders.make_uuid(g, 1) FROM generate_series(1, 3) g) AS of (u);
             SELECT randflake_orders.is_tagged(gen_random_uuid()), * FROM randflake_orders.key_checks();
             EXPLAIN (ANALYZE, VERBOSE) SELECT randflake_orders.make_uuid(1, 2);
             ANALYZE",
        )
        .unwrap();
    refusal(&mut client, "SELECT randflake_orders.make_uuid(1, 3)");
    // A copy that fails: somebody else was quicker by a moment.
    client
        .batch_execute("DELETE FROM randflake_orders.key")
        .unwrap();
    client
        .batch_execute("BEGIN; INSERT INTO randflake_orders.key VALUES (1, '{1}', 'none')")
        .unwrap();
    let refused = thread::scope(|scope| {
        let bring = scope.spawn(|| database.bring_tag_key(1, &["--namespace", "orders"]));
        let waits =
            "SELECT FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND query LIKE 'COPY%'";
        let mut other = database.client();
        while !bring.is_finished() && other.query(waits, &[]).unwrap().is_empty() {
            thread::yield_now();
        }
        client.batch_execute("COMMIT").unwrap();
        bring.join().unwrap().fails(1)
    });
    assert!(refused.contains("duplicate key value"), "{refused}");
    let mut seen = logged(&database);
    for said in [
        "COPY randflake_orders.key (number",
        "duplicate key value",
        "Query Text: SELECT k.round_keys",
    ] {
        assert!(seen.contains(said), "no {said}: {seen}");
    }
    seen += &views(&mut client);
    assert_eq!(found(&seen), [""; 0]);
    // The search finds what is there.
    let part = parts_of(&keys()[0]).remove(0);
    client.batch_execute(&format!("SELECT '{part}'")).unwrap();
    assert_eq!(found(&logged(&database)), [part]);
}

/// Whoever gets hold of the whole database makes UUIDs of these numbers, and reads no id.
#[test]
fn the_secret_is_not_in_the_database() {
    let (database, mut client) = Database::with_tagged_orders(&[]);
    let whole = database.dump(&[]) + &raw_rows(&mut client);
    for (index, key) in keys().iter().enumerate() {
        let is_derived = index % 2 == 0;
        assert_eq!(found_of(key, &whole).is_empty(), !is_derived, "{index}");
    }
    // As the guide says it: a dump without the keys, and what its restore says.
    let dump = database.dump(&["--exclude-table-data=randflake_orders.key"]);
    assert_eq!(found(&dump), [""; 0]);
    let mut copy = database.restore(&dump, "copy");
    let none = "no key: the schema randflake_orders has none";
    let made = "SELECT randflake_orders.make_uuid(1, 1)::text";
    let made: String = client.query_one(made, &[]).unwrap().get(0);
    for statement in [
        &format!("SELECT randflake_orders.is_tagged('{made}')"),
        "SELECT randflake_orders.make_uuid(1, 1)",
    ] {
        assert_eq!(refusal(&mut copy, statement), none);
    }
}

fn raw_rows(client: &mut Client) -> String {
    let rows = client.query("SELECT k::text FROM randflake_orders.key k", &[]);
    rows.unwrap()
        .iter()
        .map(|row| row.get::<_, String>(0))
        .collect()
}
