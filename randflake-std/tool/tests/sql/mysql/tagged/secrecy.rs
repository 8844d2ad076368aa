//! Where the keys of tags are, and that the secret is nowhere.

use crate::mysql::Database;
use crate::mysql::secrecy::{LOGS, has, logged};
use crate::tagged::secret;

#[test]
fn the_key_is_in_no_log_and_the_secret_nowhere() {
    let (database, mut client) = Database::with_tagged_orders(&LOGS);
    client
        .query_drop("SELECT randflake_orders.is_tagged(randflake_orders.make_uuid(1, 1))")
        .unwrap();
    let columns = (1..=25).map(|i| format!("k{i}"));
    let keys = columns.map(|column| {
        let question = format!("SELECT {column} FROM randflake_orders.`key` WHERE number = 1");
        client.query_first::<u64>(question).unwrap().unwrap()
    });
    let keys: Vec<u64> = keys.collect();
    // The first four words of the schedule are the beginning of a key: of the secret they would read ids.
    let of_ids = secret(1).cipher();
    let [[x, y], ..] = *of_ids.round_keys().collect::<Vec<_>>() else {
        panic!("no round keys");
    };
    assert_ne!(keys[0] & 0xffff_ffff, u64::from(x) | u64::from(y) << 16);
    let shapes = |key: &u64| [key.to_string().into_bytes(), key.to_le_bytes().to_vec()];
    let secrets = [1, 2].map(|number| secret(number).to_hex().as_bytes().to_vec());
    let shapes: Vec<Vec<u8>> = keys.iter().flat_map(shapes).chain(secrets).collect();
    client.query_drop("FLUSH LOGS").unwrap();
    let data = database.server.server.folder().join("data");
    let is_inserted = |bytes: &[u8]| shapes.iter().any(|shape| has(bytes, shape));
    for (log, known) in [
        (
            "general.log",
            "INSERT INTO `randflake_orders`.`key` (number",
        ),
        ("slow.log", "INSERT INTO `randflake_orders`.`key` (number"),
        ("binary.", "FUNCTION"),
    ] {
        let bytes = logged(&data, log);
        // The log was written.
        assert!(has(&bytes, known.as_bytes()), "{log}");
        assert!(!is_inserted(&bytes), "{log}");
    }
    let history = "SELECT SQL_TEXT FROM performance_schema.events_statements_history_long";
    let texts: Vec<Option<String>> = client.query(history).unwrap();
    let texts: String = texts.into_iter().flatten().collect();
    assert!(texts.contains("SET @randflake_1 = CONV("), "{texts}");
    assert!(!is_inserted(texts.as_bytes()), "{texts}");

    // Where it is told to let replicas have it, they do: the comparison above can fail.
    client
        .query_drop("DELETE FROM randflake_orders.`key`")
        .unwrap();
    client.query_drop("SET GLOBAL binlog_format = ROW").unwrap();
    database
        .bring_tag_key(1, &["--namespace", "orders", "--published"])
        .ok();
    client.query_drop("FLUSH LOGS").unwrap();
    assert!(is_inserted(&logged(&data, "binary.")));
}
