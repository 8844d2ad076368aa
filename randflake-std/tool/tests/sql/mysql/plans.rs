//! Which conditions use an index, and what a range finds.

use super::{Database, refusal};

/// Of 2,000 rows.
const ROWS: &str = "
    INSERT INTO shop.orders SELECT randflake_orders.compose_raw('2041-10-31' + INTERVAL seq MINUTE, 42, 0)
    FROM seq_1_to_2000";

#[test]
fn a_public_id_and_a_range_of_times_are_found_by_the_index() {
    let (_database, mut client) = Database::with_orders(&[]);
    for statement in [
        "CREATE DATABASE shop",
        "CREATE TABLE shop.orders (raw BIGINT PRIMARY KEY)",
        ROWS,
        "ANALYZE TABLE shop.orders",
    ] {
        client.query_drop(statement).unwrap();
    }
    let id: Option<i64> = client
        .query_first("SELECT randflake_orders.encrypt(raw) FROM shop.orders LIMIT 1")
        .unwrap();
    let by_id = format!("raw = randflake_orders.decrypt({})", id.unwrap());
    let in_an_hour = "raw BETWEEN randflake_orders.raw_first('2041-11-01', '2041-11-01 01:00') \
                   AND randflake_orders.raw_last('2041-11-01', '2041-11-01 01:00')";
    for (condition, kind, count) in [(by_id.as_str(), "const", 1), (in_an_hour, "range", 60)] {
        let rows = format!("FROM shop.orders WHERE {condition}");
        let found: Option<u64> = client
            .query_first(format!("SELECT COUNT(*) {rows}"))
            .unwrap();
        assert_eq!(found, Some(count), "{condition}");
        let plan: Option<String> = client
            .query_first(format!("EXPLAIN FORMAT=JSON SELECT raw {rows}"))
            .unwrap();
        let plan = plan.unwrap();
        assert!(
            plan.contains(&format!("\"access_type\": \"{kind}\"")),
            "{condition}: {plan}"
        );
    }
    // Over the day when raw ids become negative: 2041-10-31T22:21:52Z. What it has read, of each part.
    let joined = "FROM JSON_TABLE(randflake_orders.raw_ranges('2041-10-31 22:00', '2041-10-31 23:00'), '$[*]' \
         COLUMNS (first BIGINT PATH '$[0]', last BIGINT PATH '$[1]')) AS r \
         JOIN shop.orders AS o ON o.raw BETWEEN r.first AND r.last";
    let analyzed: Option<String> = client
        .query_first(format!("ANALYZE FORMAT=JSON SELECT raw {joined}"))
        .unwrap();
    let analyzed = analyzed.unwrap();
    let words: Vec<_> = analyzed.split_whitespace().collect();
    let read = r#""full_scan": 0, "index_merge": 0, "range": { "PRIMARY": 2 }"#;
    assert!(words.join(" ").contains(read), "{analyzed}");
    let both: Option<u64> = client
        .query_first(format!("SELECT COUNT(*) {joined}"))
        .unwrap();
    assert_eq!(both, Some(60));
}

/// A tick counts by its first moment, so a range between two of them has no ids. Here the ids behind it are negative: the
/// ends of a range of no ids would be those of all.
#[test]
fn a_range_in_which_no_tick_begins_has_no_rows() {
    let (_database, mut client) = Database::with_orders(&[]);
    for statement in [
        "CREATE DATABASE shop",
        "CREATE TABLE shop.orders (raw BIGINT PRIMARY KEY)",
        ROWS,
        "CREATE TABLE shop.positive (raw BIGINT UNSIGNED PRIMARY KEY)",
        "INSERT INTO shop.positive SELECT raw FROM shop.orders WHERE raw >= 0",
    ] {
        client.query_drop(statement).unwrap();
    }
    let times = "'2041-10-31 22:21:51.1', '2041-10-31 22:21:51.9'";
    let ends = ["first", "last"].map(|end| format!("randflake_orders.raw_{end}({times})"));
    let [first, last] = &ends;
    for rows in [
        format!("shop.orders WHERE raw BETWEEN {first} AND {last}"),
        format!(
            "shop.positive WHERE raw BETWEEN CAST({first} AS UNSIGNED) AND CAST({last} AS UNSIGNED)"
        ),
        format!(
            "JSON_TABLE(randflake_orders.raw_ranges({times}), '$[*]' \
             COLUMNS (first BIGINT PATH '$[0]', last BIGINT PATH '$[1]')) AS r \
             JOIN shop.orders AS o ON o.raw BETWEEN r.first AND r.last"
        ),
    ] {
        let found: Option<u64> = client
            .query_first(format!("SELECT COUNT(*) FROM {rows}"))
            .unwrap();
        assert_eq!(found, Some(0), "{rows}");
    }
    // At the end of the layout too, and nothing after it.
    let at_the_end =
        "SELECT randflake_orders.raw_ranges('2058-11-05 17:10:23.1', '2058-11-05 17:10:24')";
    let found: Option<String> = client.query_first(at_the_end).unwrap();
    assert_eq!(found.as_deref(), Some("[]"));
}

/// Encrypted at the border, as in the guide: what uses the index, and what reads the whole table.
#[test]
fn rows_are_found_by_public_ids() {
    let (database, mut client) = Database::with_orders(&[]);
    for statement in [
        "CREATE DATABASE shop",
        "USE shop",
        "CREATE TABLE orders (raw BIGINT PRIMARY KEY)",
        ROWS,
        "CREATE TABLE wanted AS SELECT randflake_orders.encrypt(raw) AS id FROM orders LIMIT 3",
        "ANALYZE TABLE orders, wanted",
        "CREATE VIEW public_orders AS SELECT randflake_orders.encrypt(raw) AS id FROM orders",
        "CREATE PROCEDURE order_by_id(public_id BIGINT) READS SQL DATA \
         SELECT public_id AS id FROM orders WHERE raw = randflake_orders.decrypt(public_id)",
        "CREATE USER clerk",
        "GRANT SELECT ON public_orders TO clerk",
        "GRANT EXECUTE ON PROCEDURE order_by_id TO clerk",
    ] {
        client.query_drop(statement).unwrap();
    }
    let id: Option<i64> = client.query_first("SELECT id FROM wanted LIMIT 1").unwrap();
    let id = id.unwrap();
    let is_found = format!("raw = randflake_orders.decrypt({id})");
    for (statement, kind) in [
        (
            format!("UPDATE orders SET raw = raw WHERE {is_found}"),
            "range",
        ),
        (format!("DELETE FROM orders WHERE {is_found}"), "range"),
        (
            "SELECT * FROM wanted JOIN orders ON raw = randflake_orders.decrypt(wanted.id)"
                .to_owned(),
            "eq_ref",
        ),
        // The whole index.
        (
            format!("SELECT * FROM public_orders WHERE id = {id}"),
            "index",
        ),
    ] {
        let plan: Option<String> = client
            .query_first(format!("EXPLAIN FORMAT=JSON {statement}"))
            .unwrap();
        let plan = plan.unwrap();
        let of_orders = plan.split("\"table_name\": \"orders\"").nth(1);
        assert!(
            of_orders
                .unwrap()
                .contains(&format!("\"access_type\": \"{kind}\"")),
            "{statement}: {plan}"
        );
    }
    // The procedure has no plan to show: it reads by keys, and no row after another.
    let mut clerk = database.server.client_as("clerk", "shop");
    let call = format!("CALL order_by_id({id})");
    assert_eq!(clerk.query_first(call).unwrap(), Some(id));
    let scanned: Vec<(String, u64)> = clerk
        .query("SHOW STATUS WHERE Variable_name IN ('Handler_read_next', 'Handler_read_rnd_next') AND Value > 0")
        .unwrap();
    assert_eq!(scanned, []);
    let shown: Option<u64> = clerk
        .query_first(format!(
            "SELECT COUNT(*) FROM public_orders WHERE id = {id}"
        ))
        .unwrap();
    assert_eq!(shown, Some(1));
    for statement in [
        "SELECT raw FROM orders".to_owned(),
        format!("SELECT randflake_orders.decrypt({id})"),
        "SELECT randflake_orders.encrypt(1)".to_owned(),
    ] {
        let refused = refusal(&mut clerk, &statement);
        assert!(refused.contains("denied"), "{statement}: {refused}");
    }
}
