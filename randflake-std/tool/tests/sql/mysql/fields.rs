//! Ids, their texts and fields, of each layout.

use core::fmt::Write as _;
use core::time::Duration;
use std::fs;
use std::path::Path;

use harness::mariadb::Client;
use randflake_std::date::{YEAR_10000_MS, utc};
use serde_json::Value;

use super::{Database, refusal};
use crate::layouts::{Sample, all};

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
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../randflake-core/tests/vectors");
    let (database, mut client) = Database::with_orders(&[]);
    let mut count = 0;
    for file in ["reference.json", "randflake.json"] {
        let vectors: Vec<Value> =
            serde_json::from_str(&fs::read_to_string(path.join(file)).unwrap()).unwrap();
        for vector in vectors {
            let text = |name: &str| vector[name].as_str().unwrap().to_owned();
            client
                .query_drop("DELETE FROM randflake_orders.`key`")
                .unwrap();
            let url = database.server.url("mysql");
            database
                .user
                .run_in(
                    &[("RANDFLAKE_KEY", &text("secret"))],
                    &["sql", "key", "--database", &url, "--namespace", "orders"],
                )
                .ok();
            let id = text("encrypted_id");
            let found: Option<(i64, String, i64, i64, i64)> = client
                .query_first(format!(
                    "SELECT randflake_orders.decrypt({id}), randflake_orders.id_to_text({id}), \
                     TIMESTAMPDIFF(SECOND, '1970-01-01', randflake_orders.id_time({id})), \
                     randflake_orders.id_node({id}), randflake_orders.id_sequence({id})"
                ))
                .unwrap();
            let raw = text("raw_id").parse::<u64>().unwrap().cast_signed();
            let [time, node, sequence] =
                ["timestamp", "node_id", "sequence"].map(|name| vector[name].as_i64().unwrap());
            assert_eq!(found, Some((raw, text("encoded_id"), time, node, sequence)));
            count += 1;
        }
    }
    assert!(count > 10, "{count}");
}

#[test]
fn bad_input_is_refused_with_its_reason() {
    let (_database, mut client) = Database::with_orders(&[]);
    for (call, said) in [
        ("decrypt('12abc')", "Data truncated for column 'id'"),
        ("decrypt(18446744073709551616)", "Out of range value"),
        ("decrypt(-9223372036854775809)", "an id has 64 bits"),
        ("id_from_text('')", "'': it is empty"),
        ("id_from_text('3VGOE')", "only 0-9 and a-v are allowed"),
        ("id_from_text('3vgoe ')", "only 0-9 and a-v are allowed"),
        ("id_from_text('3vgoé')", "only 0-9 and a-v are allowed"),
        ("id_from_text('03vgoe')", "it begins with a zero"),
        (
            "id_from_text('g000000000000')",
            "it is a number of more than 64 bits",
        ),
        (
            "id_from_text('3vgoe12ccb8gh0')",
            "at most 13 characters are allowed",
        ),
        ("compose(NULL, 0, 0)", "the time is NULL"),
        ("compose('2024-02-30', 0, 0)", "Incorrect datetime value"),
        ("compose('2024-12-09', NULL, 0)", "0 to 131071 is allowed"),
        ("compose('2024-12-09', 131072, 0)", "0 to 131071 is allowed"),
        ("compose('2024-12-09', 0, -1)", "0 to 131071 is allowed"),
        (
            "compose('2024-10-27 03:33:19', 0, 0)",
            "the time is before 2024-10-27T03:33:20Z",
        ),
        (
            "compose('2058-11-05 17:10:24', 0, 0)",
            "the time is after 2058-11-05T17:10:23Z",
        ),
        (
            "raw_ranges('2025-01-01', '2025-01-01')",
            "the range ends before it begins",
        ),
        (
            "raw_ranges('2025-01-01', '2059-01-01')",
            "the range ends after 2058-11-05T17:10:24Z",
        ),
        (
            "raw_first('2041-01-01', '2042-01-01')",
            "raw ids become negative",
        ),
    ] {
        let refused = refusal(&mut client, &format!("SELECT randflake_orders.{call}"));
        assert!(refused.contains(said), "{call}: {refused}");
    }
    let nulls: Option<u64> = client
        .query_first(
            "SELECT COUNT(*) FROM (SELECT randflake_orders.decrypt(NULL) AS a, randflake_orders.encrypt(NULL) AS b, \
             randflake_orders.id_time(NULL) AS c, randflake_orders.id_to_text(NULL) AS d, \
             randflake_orders.id_from_text(NULL) AS e) AS calls WHERE COALESCE(a, b, c, d, e) IS NULL",
        )
        .unwrap();
    assert_eq!(nulls, Some(1));
    client
        .query_drop("DELETE FROM randflake_orders.`key`")
        .unwrap();
    for call in ["decrypt(1)", "encrypt(1)", "id_time(1)"] {
        let refused = refusal(&mut client, &format!("SELECT randflake_orders.{call}"));
        assert!(
            refused.contains("the database randflake_orders has no key"),
            "{refused}"
        );
    }
}
