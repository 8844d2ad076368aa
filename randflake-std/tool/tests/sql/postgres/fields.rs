//! Ids, their texts and fields, of each layout.

use std::fs;
use std::path::Path;

use randflake_std::Id;
use serde_json::Value;

use super::{Database, refusal};
use crate::layouts::{Sample, all};

/// What one statement gives: of arrays of ids and raw ids, the text of all that differs from what was expected.
const COMPARED: &str = "
    SELECT count(*) FROM unnest($1::bigint[], $2::bigint[], $3::text[], $4::bigint[], $5::bigint[], $6::bigint[], $8::bigint[])
        AS expected (id, raw, text, unix_ms, node, sequence, composed),
        LATERAL (SELECT
            s.id_to_text(id) AS text, s.id_from_text(expected.text) AS read,
            extract(epoch FROM s.id_time(id)) * 1000 AS unix_ms, s.id_node(id) AS node, s.id_sequence(id) AS sequence,
            extract(epoch FROM s.raw_time(raw)) * 1000 AS raw_ms, s.raw_node(raw) AS raw_node,
            s.raw_sequence(raw) AS raw_sequence,
            s.compose_raw(s.raw_time(raw), s.raw_node(raw), s.raw_sequence(raw)) AS composed_raw,
            s.compose(s.id_time(id), s.id_node(id), s.id_sequence(id)) AS composed_id
        ) AS found
    WHERE (found.text, read, found.unix_ms, found.node, found.sequence, raw_ms, raw_node, raw_sequence, composed_raw, composed_id)
        IS NOT DISTINCT FROM
        (expected.text, id, expected.unix_ms, expected.node, expected.sequence,
            expected.unix_ms, expected.node, expected.sequence, raw & $7, expected.composed)";

/// The fields of many ids, in their order.
const MANY: &str = "
    SELECT count(*) FROM unnest($1::bigint[], $2::bigint[], $3::bigint[], $4::bigint[])
        WITH ORDINALITY AS expected (id, unix_ms, node, sequence, place)
        JOIN s.id_fields_many($1) WITH ORDINALITY AS found (id, at, node, sequence, place) USING (place)
    WHERE (found.id, extract(epoch FROM at) * 1000, found.node, found.sequence)
        IS NOT DISTINCT FROM (expected.id, expected.unix_ms, expected.node, expected.sequence)";

const ENCRYPTED: &str = "
    SELECT count(*) FROM unnest($1::bigint[], $2::bigint[]) AS expected (id, raw)
    WHERE s.decrypt(id) = raw AND s.encrypt(raw) = id";

#[test]
fn every_layout_reads_as_in_core() {
    let database = Database::start();
    let mut client = database.client();
    for sample in all() {
        client
            .batch_execute("DROP SCHEMA IF EXISTS s CASCADE")
            .unwrap();
        let arguments = ["--layout", &sample.layout, "--schema", "s"];
        client.batch_execute(&database.printed(&arguments)).unwrap();
        if sample.is_encrypted() {
            let arguments = ["--namespace", "default", "--schema", "s"];
            database.bring_key_as("postgres", &arguments).ok();
        }
        compare(&mut client, &sample);
    }
}

fn compare(client: &mut postgres::Client, sample: &Sample) {
    let layout = &sample.layout;
    let ids = sample.ids();
    let numbers: Vec<i64> = ids.iter().map(|id| id.to_i64()).collect();
    let raws: Vec<i64> = sample.raws.iter().map(|raw| raw.cast_signed()).collect();
    let texts: Vec<String> = ids.iter().map(ToString::to_string).collect();
    let parts: Vec<_> = ids.iter().map(|id| sample.codec.inspect(*id)).collect();
    let unix_ms = parts.iter().map(|parts| sample.spec().unix_ms(parts.tick));
    let unix_ms: Vec<i64> = unix_ms.map(u64::cast_signed).collect();
    let nodes: Vec<i64> = parts.iter().map(|parts| parts.node_id.into()).collect();
    let sequences: Vec<i64> = parts.iter().map(|parts| parts.sequence.into()).collect();
    // Bits that belong to no field are not composed.
    let of_fields = sample.spec().fields().bit_fields().into_iter();
    let of_fields = of_fields.filter(|field| field.bits > 0);
    let bits = of_fields.fold(0, |bits, field| bits | field.max() << field.shift);
    let composed = sample.raws.iter().map(|raw| sample.codec.id(raw & bits));
    let composed: Vec<i64> = composed.map(Id::to_i64).collect();
    let count: i64 = client
        .query_one(
            COMPARED,
            &[
                &numbers,
                &raws,
                &texts,
                &unix_ms,
                &nodes,
                &sequences,
                &bits.cast_signed(),
                &composed,
            ],
        )
        .unwrap_or_else(|error| panic!("{layout}: {error:?}"))
        .get(0);
    assert_eq!(usize::try_from(count).unwrap(), raws.len(), "{layout}");
    let count: i64 = client
        .query_one(MANY, &[&numbers, &unix_ms, &nodes, &sequences])
        .unwrap()
        .get(0);
    assert_eq!(usize::try_from(count).unwrap(), raws.len(), "{layout}");
    if !sample.is_encrypted() {
        return;
    }
    let count: i64 = client
        .query_one(ENCRYPTED, &[&numbers, &raws])
        .unwrap()
        .get(0);
    assert_eq!(usize::try_from(count).unwrap(), raws.len(), "{layout}");
    let row = client.query_one(
        "SELECT s.decrypt_many($1), s.encrypt_many($2)",
        &[&numbers, &raws],
    );
    let row = row.unwrap();
    assert_eq!(
        (row.get::<_, Vec<i64>>(0), row.get::<_, Vec<i64>>(1)),
        (raws, numbers),
        "{layout}"
    );
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
                .batch_execute("DELETE FROM randflake_orders.key")
                .unwrap();
            let arguments = [
                "sql",
                "key",
                "--database",
                &database.url_of("postgres"),
                "--namespace",
                "orders",
            ];
            database
                .user
                .run_in(&[("RANDFLAKE_KEY", &text("secret"))], &arguments)
                .ok();
            let id: i64 = text("encrypted_id").parse().unwrap();
            let raw = text("raw_id").parse::<u64>().unwrap().cast_signed();
            let row = client
                .query_one(
                    "SELECT randflake_orders.decrypt($1), randflake_orders.id_to_text($1), \
                     extract(epoch FROM randflake_orders.id_time($1))::bigint, \
                     randflake_orders.id_node($1), randflake_orders.id_sequence($1)",
                    &[&id],
                )
                .unwrap();
            assert_eq!(row.get::<_, i64>(0), raw);
            assert_eq!(row.get::<_, String>(1), text("encoded_id"));
            let fields =
                ["timestamp", "node_id", "sequence"].map(|name| vector[name].as_i64().unwrap());
            assert_eq!([2, 3, 4].map(|column| row.get::<_, i64>(column)), fields);
            count += 1;
        }
    }
    assert!(count > 10, "{count}");
}

#[test]
fn null_stays_null_and_arrays_keep_their_order() {
    let (_database, mut client) = Database::with_orders(&[]);
    let count: i64 = client
        .query_one(
            "SELECT num_nulls(randflake_orders.decrypt(NULL), randflake_orders.encrypt(NULL), \
             randflake_orders.id_time(NULL), randflake_orders.id_to_text(NULL), randflake_orders.id_from_text(NULL), \
             randflake_orders.decrypt_many(NULL))::bigint",
            &[],
        )
        .unwrap()
        .get(0);
    assert_eq!(count, 6);
    let ids = [Some(4_594_531_474_933_654_033_i64), None, Some(1)];
    let sql = "SELECT id, node FROM randflake_orders.id_fields_many($1)";
    let rows = client.query(sql, &[&&ids[..]]).unwrap();
    let rows: Vec<(Option<i64>, Option<i64>)> =
        rows.iter().map(|row| (row.get(0), row.get(1))).collect();
    assert_eq!(rows.iter().map(|row| row.0).collect::<Vec<_>>(), ids);
    assert_eq!(rows[0].1, Some(42));
    assert!(rows[1].1.is_none() && rows[2].1.is_some());
}

#[test]
fn bad_input_is_refused_with_its_reason() {
    let (_database, mut client) = Database::with_orders(&[]);
    for (call, said) in [
        (
            "id_from_text('')",
            "'' is not the text of an id It is empty.",
        ),
        (
            "id_from_text('3VGOE')",
            "Only the characters 0-9 and a-v are allowed.",
        ),
        (
            "id_from_text('3vgoe ')",
            "Only the characters 0-9 and a-v are allowed.",
        ),
        (
            "id_from_text('3vgoe' || chr(10))",
            "Only the characters 0-9 and a-v are allowed.",
        ),
        ("id_from_text('03vgoe')", "It begins with a zero."),
        (
            "id_from_text('g000000000000')",
            "It is a number of more than 64 bits.",
        ),
        (
            "id_from_text('3vgoe12ccb8gh0')",
            "It has 14 characters; at most 13 are allowed.",
        ),
        ("compose(NULL, 0, 0)", "the time is NULL"),
        (
            "compose('2024-12-09Z', NULL, 0)",
            "node id NULL: 0 to 131071 are allowed",
        ),
        (
            "compose('2024-12-09Z', 131072, 0)",
            "node id 131072: 0 to 131071 are allowed",
        ),
        (
            "compose('2024-12-09Z', 0, -1)",
            "sequence -1: 0 to 131071 are allowed",
        ),
        (
            "compose('2024-10-27T03:33:19Z', 0, 0)",
            "2024-10-27 03:33:19 is no time of the layout Its times are from 2024-10-27T03:33:20Z to 2058-11-05T17:10:23Z; a range of all of them ends at 2058-11-05T17:10:24Z.",
        ),
        (
            "compose('2058-11-05T17:10:24Z', 0, 0)",
            "2058-11-05 17:10:24 is no time of the layout",
        ),
        (
            "compose('infinity', 0, 0)",
            "infinity is no time of the layout",
        ),
    ] {
        let refused = refusal(&mut client, &format!("SELECT randflake_orders.{call}"));
        assert!(refused.contains(said), "{call}: {refused}");
    }
    client
        .batch_execute("DELETE FROM randflake_orders.key")
        .unwrap();
    for call in [
        "decrypt(1)",
        "encrypt(1)",
        "decrypt_many(ARRAY[1])",
        "id_time(1)",
    ] {
        let refused = refusal(&mut client, &format!("SELECT randflake_orders.{call}"));
        assert_eq!(refused, "no key: the schema randflake_orders has none");
    }
}

/// Its result would change with the key, so nothing that is stored may depend on it.
#[test]
fn no_index_generated_column_or_partition_uses_the_key() {
    let (_database, mut client) = Database::with_orders(&[]);
    client
        .batch_execute("CREATE TABLE orders (id bigint)")
        .unwrap();
    for statement in [
        "CREATE INDEX ON orders (randflake_orders.decrypt(id))",
        "ALTER TABLE orders ADD raw bigint GENERATED ALWAYS AS (randflake_orders.decrypt(id)) STORED",
        "CREATE TABLE parts (id bigint) PARTITION BY RANGE (randflake_orders.id_time(id))",
    ] {
        let refused = refusal(&mut client, statement);
        assert!(
            refused.contains("IMMUTABLE") || refused.contains("not immutable"),
            "{refused}"
        );
    }
}
