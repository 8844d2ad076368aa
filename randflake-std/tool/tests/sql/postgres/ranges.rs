//! Times and ranges of raw ids, and partitions.

use postgres::Client;

use super::{Database, refusal};
use crate::guide;
use crate::layouts::{Sample, all};

/// How many ids are in ranges of times, around times of ids themselves and between ticks; and for how many of all ids the
/// range of times and its raw ids differ.
const COMPARED: &str = "
    SELECT count(*) FILTER (WHERE is_within), count(*) FILTER (WHERE is_within <> is_found) FROM (
        SELECT raw_time(raw) >= from_time AND raw_time(raw) < to_time AS is_within,
            EXISTS (SELECT FROM raw_ranges(from_time, to_time) r WHERE raw BETWEEN r.first AND r.last) AS is_found
        FROM (
            SELECT raw_time(a) + b % 3 * interval '300 microseconds' AS from_time,
                raw_time(b) + a % 3 * interval '300 microseconds' AS to_time
            FROM unnest($1::bigint[], $2::bigint[]) AS given (a, b)
            WHERE raw_time(a) < raw_time(b) AND raw_time(b) < raw_time($3) AND a % 3 >= 0 AND b % 3 >= 0
            LIMIT 40
        ) AS ranges, unnest($1) AS raw
    ) AS compared";

#[test]
fn a_range_of_times_is_one_of_raw_ids_in_every_layout() {
    let database = Database::start();
    let mut client = database.client();
    for sample in all().into_iter().filter(Sample::is_encrypted) {
        let arguments = ["--layout", &sample.layout, "--schema", "s"];
        let printed = database.printed(&arguments);
        let again = "SET search_path = s; DROP SCHEMA IF EXISTS s CASCADE";
        client.batch_execute(again).unwrap();
        client.batch_execute(&printed).unwrap();
        let of_fields = sample.spec().fields().bit_fields().into_iter();
        let of_fields = of_fields.filter(|field| field.bits > 0);
        let bits = of_fields.fold(0, |bits, field| bits | field.max() << field.shift);
        let mut raws: Vec<i64> = sample
            .raws
            .iter()
            .map(|raw| (raw & bits).cast_signed())
            .collect();
        let some = raws.clone();
        raws.rotate_left(7);
        let last = bits.cast_signed();
        let row = client.query_one(COMPARED, &[&some, &raws, &last]).unwrap();
        let (within, differing) = (row.get::<_, i64>(0), row.get::<_, i64>(1));
        assert_eq!(differing, 0, "{}", sample.layout);
        assert!(within > 1_000, "{}: {within}", sample.layout);
    }
}

#[test]
fn the_sessions_time_zone_changes_nothing() {
    let (_database, mut client) = Database::with_orders(&[]);
    let sql = "SELECT randflake_orders.raw_first('2026-03-29T01:00:00Z', '2026-03-29T02:00:00Z'), \
               randflake_orders.compose_raw('2026-03-29T01:30:00Z', 1, 1), \
               extract(epoch FROM randflake_orders.id_time(4594531474933654033))::bigint, \
               (SELECT sum(last - first) FROM randflake_orders.raw_ranges('2041-10-26Z', '2041-11-01Z'))::text";
    let found = [
        "UTC",
        "Europe/Berlin",
        "Pacific/Auckland",
        "America/St_Johns",
    ]
    .map(|zone| {
        client
            .batch_execute(&format!("SET TimeZone = '{zone}'"))
            .unwrap();
        let row = client.query_one(sql, &[]).unwrap();
        (
            row.get::<_, i64>(0),
            row.get::<_, i64>(1),
            row.get::<_, i64>(2),
            row.get::<_, String>(3),
        )
    });
    assert_eq!(found[0].2, 1_733_706_297);
    assert!(found.iter().all(|zone| *zone == found[0]), "{found:?}");
}

/// From 2041-10-31 on raw ids are negative.
#[test]
fn the_day_when_raw_ids_turn_negative_has_two_ranges() {
    let (_database, mut client) = Database::with_orders(&[]);
    let mut ranges = |from: &str, to: &str| -> Vec<(i64, i64)> {
        let sql = format!("SELECT first, last FROM randflake_orders.raw_ranges('{from}', '{to}')");
        client
            .query(&sql, &[])
            .unwrap()
            .iter()
            .map(|row| (row.get(0), row.get(1)))
            .collect()
    };
    let border = "2041-10-31T22:21:52Z";
    assert_eq!(
        ranges("2041-10-31T22:21:51Z", border),
        [(i64::MAX - (1 << 34) + 1, i64::MAX)]
    );
    assert_eq!(
        ranges(border, "2041-10-31T22:21:53Z"),
        [(i64::MIN, i64::MIN + (1 << 34) - 1)]
    );
    assert_eq!(
        ranges("2024-10-27T03:33:20Z", "2058-11-05T17:10:24Z"),
        [(0, i64::MAX), (i64::MIN, -1)]
    );
    assert_eq!(
        ranges("2026-01-01T00:00:00.1Z", "2026-01-01T00:00:00.9Z"),
        []
    );
    for (from, to, said) in [
        (
            "'2041-10-31T22:21:51Z'",
            "'2041-10-31T22:21:53Z'",
            "raw ids become negative at 2041-10-31T22:21:52Z, within the range: join raw_ranges",
        ),
        (
            "'2026-01-02Z'",
            "'2026-01-01Z'",
            "the range begins at 2026-01-02 00:00:00 and does not end after that, but at 2026-01-01 00:00:00",
        ),
        ("'2026-01-01Z'", "'2026-01-01Z'", "does not end after that"),
        (
            "'2024-01-01Z'",
            "'2026-01-01Z'",
            "2024-01-01 00:00:00 is no time of the layout",
        ),
        (
            "'2026-01-01Z'",
            "'2058-11-05T17:10:25Z'",
            "2058-11-05 17:10:25 is no time of the layout Its times are from 2024-10-27T03:33:20Z to 2058-11-05T17:10:23Z; \
             a range of all of them ends at 2058-11-05T17:10:24Z.",
        ),
        (
            "'-infinity'",
            "'2026-01-01Z'",
            "-infinity is no time of the layout",
        ),
        ("NULL", "'2026-01-01Z'", "the time is NULL"),
        ("'2026-01-01Z'", "NULL", "the time is NULL"),
    ] {
        for end in ["raw_first", "raw_last"] {
            let refused = refusal(
                &mut client,
                &format!("SELECT randflake_orders.{end}({from}, {to})"),
            );
            assert!(refused.contains(said), "{refused}");
        }
    }
}

/// The plan of a query.
fn plan(client: &mut Client, query: &str) -> String {
    let rows = client
        .query(&format!("EXPLAIN (COSTS off) {query}"), &[])
        .unwrap();
    let lines: Vec<String> = rows.iter().map(|row| row.get(0)).collect();
    lines.join("\n")
}

#[test]
fn queries_by_time_read_one_partition_by_its_index() {
    let (database, mut client) = Database::with_orders(&[]);
    let printed = |every: &str, from: &str, to: &str| {
        let terms = [
            "sql",
            "partitions",
            "--layout",
            "randflake",
            "--table",
            "orders",
        ];
        let times = ["--every", every, "--from", from, "--to", to];
        database.user.run(&[&terms[..], &times[..]].concat()).ok()
    };
    client
        .batch_execute("CREATE TABLE orders (raw bigint PRIMARY KEY) PARTITION BY RANGE (raw)")
        .unwrap();
    for (every, from, to) in [
        ("month", "2026-01-15", "2026-04-01"),
        ("day", "2026-04-01", "2026-04-03"),
        // The day when raw ids turn negative is in it, and the end of the layout.
        ("year", "2040-01-01", "2058-11-05T17:10:24Z"),
    ] {
        client.batch_execute(&printed(every, from, to)).unwrap();
    }
    let as_shown = printed("month", "2026-01-01", "2027-01-01");
    let first = as_shown.lines().next().unwrap();
    assert!(guide::postgresql().contains(first), "{first}");
    client
        .batch_execute(
            "INSERT INTO orders SELECT randflake_orders.compose_raw(at, 1, 1)
                 FROM generate_series('2026-01-15Z'::timestamptz, '2026-04-02T23:59:59Z', '1 hour') at;
             INSERT INTO orders SELECT randflake_orders.compose_raw(at, 1, 1)
                 FROM generate_series('2040-01-01Z'::timestamptz, '2058-11-05Z', '10 days') at;
             ANALYZE orders; SET enable_seqscan = off",
        )
        .unwrap();
    // Each row is in the partition of its time.
    let misplaced = "SELECT count(*) FROM orders o WHERE tableoid::regclass::text NOT LIKE 'orders\\_'
        || CASE WHEN randflake_orders.raw_time(raw) < '2026-04-01Z' THEN to_char(randflake_orders.raw_time(raw) AT TIME ZONE 'UTC', 'YYYY\\_MM')
            WHEN randflake_orders.raw_time(raw) < '2026-05-01Z' THEN to_char(randflake_orders.raw_time(raw) AT TIME ZONE 'UTC', 'YYYY\\_MM\\_DD')
            ELSE to_char(randflake_orders.raw_time(raw) AT TIME ZONE 'UTC', 'YYYY')
        END || CASE WHEN raw < 0 AND randflake_orders.raw_time(raw) < '2042-01-01Z' THEN '\\_negative' ELSE '' END";
    assert_eq!(
        client.query_one(misplaced, &[]).unwrap().get::<_, i64>(0),
        0
    );

    let february = "SELECT * FROM orders WHERE raw BETWEEN randflake_orders.raw_first('2026-02-03Z', '2026-02-04Z') \
                    AND randflake_orders.raw_last('2026-02-03Z', '2026-02-04Z')";
    assert_eq!(client.query(february, &[]).unwrap().len(), 24);
    let told = plan(&mut client, february);
    assert!(
        told.contains("orders_2026_02_pkey") && told.contains("Index Cond: ((raw >= "),
        "{told}"
    );
    assert!(!told.contains("Append") && !told.contains("_03"), "{told}");

    let over_the_border =
        "SELECT raw FROM randflake_orders.raw_ranges('2041-10-01Z', '2041-12-01Z') r
        JOIN orders ON raw BETWEEN r.first AND r.last";
    let count = client.query(over_the_border, &[]).unwrap().len();
    assert_eq!(count, 6, "one in ten days of 61");
    let told = plan(&mut client, over_the_border);
    assert!(
        told.contains("Index Cond: ((raw >= r.first) AND (raw <= r.last))"),
        "{told}"
    );
}

#[test]
fn partitions_that_cannot_be_are_refused() {
    let user = crate::user::User::new();
    let refused = |arguments: &[&str]| {
        let all = [&["sql", "partitions", "--layout", "randflake"], arguments].concat();
        user.run(&all).fails(2)
    };
    let table = ["--table", "orders"];
    for (times, said) in [
        (
            ["--from", "2026-01-01", "--to", "2026-01-01"],
            "--to must be after --from",
        ),
        (
            ["--from", "2024-01-01", "--to", "2026-01-01"],
            "2024-10-27T03:33:20Z to 2058-11-05T17:10:24Z are allowed",
        ),
        (
            ["--from", "2026-01-01", "--to", "2059-01-01"],
            "are allowed, the times of the layout",
        ),
        (
            ["--from", "1.1.2026", "--to", "2059-01-01"],
            "a date such as 2026-01-01",
        ),
    ] {
        let told = refused(&[&table[..], &times[..]].concat());
        assert!(told.contains(said), "{told}");
    }
    let times = ["--from", "2026-01-01", "--to", "2058-01-01"];
    let told = refused(&[&["--table", "Orders; DROP"], &times[..]].concat());
    assert!(told.contains("1 to 63 characters"), "{told}");
    let told = refused(&[&table[..], &times[..], &["--every", "day"]].concat());
    assert!(told.contains("more than 10000 partitions"), "{told}");
}
