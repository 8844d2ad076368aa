//! Ids, their texts and fields, of each layout.

use core::fmt::Write as _;
use core::time::Duration;

use harness::mariadb::Client;
use randflake_std::date::{YEAR_10000_MS, utc};

use super::{Database, refusal};
use crate::samples::{Sample, all, reference_vectors};

/// Ids of which a database says something else than core. Times are compared as milliseconds; bits of no field are not composed.
const DIFFERENT: &str = "
    SELECT COUNT(*) FROM test.expected AS e WHERE NOT (
        s.id_to_text(id) <=> e.text AND s.id_from_text(e.text) <=> id
        AND s.id_time(id) <=> at AND s.id_node(id) <=> node AND s.id_sequence(CAST(id AS UNSIGNED)) <=> sequence
        AND s.raw_time(raw) <=> at AND s.raw_node(CAST(raw AS UNSIGNED)) <=> node AND s.raw_sequence(raw) <=> sequence
        AND s.compose_raw(at, node, sequence) <=> composed)";
const ENCRYPTED_DIFFERENT: &str = "
    SELECT COUNT(*) FROM test.expected WHERE NOT (
        s.decrypt(id) <=> raw AND s.decrypt(CAST(id AS UNSIGNED)) <=> raw
        AND s.encrypt(raw) <=> id AND s.encrypt(CAST(raw AS UNSIGNED)) <=> id
        AND s.compose(at, node, sequence) <=> s.encrypt(composed))";

#[test]
fn every_layout_reads_as_in_core() {
    let database = Database::start();
    let mut client = database.client();
    client.query_drop("CREATE DATABASE test").unwrap();
    client
        .query_drop(
            "CREATE TABLE test.expected (id BIGINT, raw BIGINT, text VARCHAR(13) COLLATE utf8mb4_bin, at DATETIME(3), \
             node BIGINT, sequence BIGINT, composed BIGINT)",
        )
        .unwrap();
    for sample in all() {
        client.query_drop("DROP DATABASE IF EXISTS s").unwrap();
        database.install(&["--layout", &sample.layout, "--schema", "s"]);
        fill(&mut client, &sample);
        let mut compare = |question| {
            let different: Option<u64> = client.query_first(question).unwrap();
            assert_eq!(different, Some(0), "{}", sample.layout);
        };
        if sample.is_encrypted() {
            database.bring_key(&["--schema", "s"]).ok();
            compare(ENCRYPTED_DIFFERENT);
        }
        compare(DIFFERENT);
    }
}

/// Writes what core says. Ids of later times than a DATETIME holds are refused.
fn fill(client: &mut Client, sample: &Sample) {
    let of_fields = sample.spec().fields().bit_fields().into_iter();
    let of_fields = of_fields.filter(|field| field.bits > 0);
    let bits = of_fields.fold(0, |bits, field| bits | field.max() << field.shift);
    let mut insert = "INSERT INTO test.expected VALUES ".to_owned();
    for (raw, id) in sample.raws.iter().zip(sample.ids()) {
        let parts = sample.codec.inspect(id);
        let unix_ms = sample.spec().unix_ms(parts.tick);
        if unix_ms >= YEAR_10000_MS {
            let refused = refusal(client, &format!("SELECT s.raw_time({raw})"));
            assert!(refused.contains("after the year 9999"), "{refused}");
            continue;
        }
        let (number, raw_number, composed) =
            (id.to_i64(), raw.cast_signed(), (raw & bits).cast_signed());
        let (node, sequence) = (parts.node_id, parts.sequence);
        // By core's calendar, not the server's.
        let at = utc(Duration::from_millis(unix_ms));
        let at = format!("'{}.{:03}'", &at[..19], unix_ms % 1_000);
        write!(
            insert,
            "({number}, {raw_number}, '{id}', {at}, {node}, {sequence}, {composed}),"
        )
        .unwrap();
    }
    client.query_drop("TRUNCATE test.expected").unwrap();
    client.query_drop(insert.trim_end_matches(',')).unwrap();
}

/// The reference vectors, each under its own key.
#[test]
fn ids_of_others_are_read() {
    let (database, mut client) = Database::with_orders(&[]);
    for vector in reference_vectors() {
        client
            .query_drop("DELETE FROM randflake_orders.`key`")
            .unwrap();
        database
            .bring_key_of("root", &vector.secret, &["--namespace", "orders"])
            .ok();
        let id = vector.id;
        let found: Option<(i64, String, i64, i64, i64)> = client
            .query_first(format!(
                "SELECT randflake_orders.decrypt({id}), randflake_orders.id_to_text({id}), \
                 TIMESTAMPDIFF(SECOND, '1970-01-01', randflake_orders.id_time({id})), \
                 randflake_orders.id_node({id}), randflake_orders.id_sequence({id})"
            ))
            .unwrap();
        let [time, node, sequence] = vector.fields;
        assert_eq!(found, Some((vector.raw, vector.text, time, node, sequence)));
    }
}
