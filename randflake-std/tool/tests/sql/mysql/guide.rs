//! Runs the guide to MySQL and MariaDB.

use super::{Database, run};
use crate::answers::of_mysql as answer;
use crate::guide;

#[test]
fn the_guide_is_right_line_by_line() {
    let (database, mut client) = Database::with_orders(&[]);
    for statement in [
        "CREATE DATABASE shop",
        "USE shop",
        "CREATE USER reports, shop, clerk",
    ] {
        client.query_drop(statement).unwrap();
    }
    run(
        &mut client,
        &database.printed(&["--namespace", "links", "--tagged"]),
    )
    .unwrap();
    database.bring_tag_key(1, &["--namespace", "links"]).ok();
    client.query_drop("USE shop").unwrap();
    let chapter = guide::mysql();
    guide::walk(&chapter, 31, |statement| answer(&mut client, statement));

    // What its roles may do then, and no more.
    let allowed = [
        ("reports", ["decrypt(1)", "id_time(1)"], "encrypt(1)"),
        ("shop", ["encrypt(1)", "encrypt(2)"], "decrypt(1)"),
    ];
    for (user, calls, refused) in allowed {
        let mut client = database.server.client_as(user, "information_schema");
        let mut call = |call| answer(&mut client, &format!("SELECT randflake_orders.{call}"));
        for allowed in calls {
            assert!(!call(allowed)[0].starts_with("ERROR"), "{user}: {allowed}");
        }
        assert!(call(refused)[0].contains("denied"), "{user}: {refused}");
    }
    for (statement, said) in [
        (
            "CREATE TABLE parts (raw BIGINT) PARTITION BY RANGE (randflake_orders.raw_node(raw)) (PARTITION p VALUES LESS THAN (1))",
            "not allowed",
        ),
        (
            "ALTER TABLE orders ADD node BIGINT GENERATED ALWAYS AS (randflake_orders.raw_node(raw)) STORED",
            "cannot be used in the GENERATED ALWAYS AS clause",
        ),
        (
            "CREATE TABLE numbered (id BIGINT DEFAULT (randflake_orders.encrypt(1)))",
            "cannot be used in the DEFAULT clause",
        ),
    ] {
        let refused = answer(&mut client, statement);
        assert!(
            refused.len() == 1 && refused[0].contains(said),
            "{statement}: {refused:?}"
        );
    }
    // A time is in UTC, whatever zone the session has; a TIMESTAMP is converted to that zone first.
    let time = "SELECT randflake_orders.id_time(4594531474933654033), \
                randflake_orders.compose_raw('2024-12-09 01:04:57', 42, 1), \
                randflake_orders.raw_time(randflake_orders.compose_raw(FROM_UNIXTIME(1733706297), 42, 1))";
    client.query_drop("SET time_zone = '+05:00'").unwrap();
    assert_eq!(
        answer(&mut client, time),
        ["2024-12-09 01:04:57.000|63673697622556673|2024-12-09 06:04:57.000"]
    );
    // A fraction is rounded.
    let both = "SELECT randflake_orders.decrypt(1.5) = randflake_orders.decrypt(2)";
    assert_eq!(answer(&mut client, both), ["1"]);
    client.query_drop("DROP DATABASE randflake_orders").unwrap();
    let refused = answer(&mut client, "SELECT * FROM public_orders");
    assert!(refused[0].starts_with("ERROR 1356 "), "{refused:?}");
}

/// What the guide shows of `sql partitions`, and what becomes of it.
#[test]
fn a_table_has_partitions_by_time() {
    let (database, mut client) = Database::with_orders(&[]);
    for statement in ["CREATE DATABASE shop", "USE shop"] {
        client.query_drop(statement).unwrap();
    }
    let chapter = guide::mysql();
    let table = "CREATE TABLE events";
    let table = guide::blocks(&chapter, "sql")
        .into_iter()
        .find_map(|block| block.find(table).map(|at| &block[at..]));
    run(
        &mut client,
        table.unwrap().split_inclusive(';').next().unwrap(),
    )
    .unwrap();
    let printed = |arguments: &str| {
        let words = "sql partitions --dialect mysql --layout randflake --table events ".to_owned()
            + arguments;
        database.user.run(&words.split(' ').collect::<Vec<_>>())
    };
    let months = printed("--from 2026-01-01 --to 2026-03-01").ok();
    assert!(chapter.contains(&months), "{months}");
    run(&mut client, &months).unwrap();
    for later in [
        "--from 2026-03-01 --to 2026-03-03 --every day",
        // To the second in which raw ids turn negative.
        "--from 2026-03-03 --to 2041-10-31T22:21:52Z --every year",
    ] {
        run(&mut client, &printed(later).ok()).unwrap();
    }
    for time in [
        "2025-12-31 23:59:59",
        "2026-01-01",
        "2026-02-28 23:59:59",
        "2026-03-01",
        "2041-10-31 22:21:51",
    ] {
        let insert = format!(
            "INSERT INTO events (raw) VALUES (randflake_orders.compose_raw('{time}', 131071, 131071))"
        );
        client.query_drop(insert).unwrap();
    }
    for (partition, times) in [
        ("p_earlier", "2025-12-31 23:59:59"),
        ("p2026_01", "2026-01-01 00:00:00"),
        ("p2026_02", "2026-02-28 23:59:59"),
        ("p2026_03_01", "2026-03-01 00:00:00"),
        ("p2026_03_02", ""),
        ("p2041", "2041-10-31 22:21:51"),
    ] {
        let question = format!(
            "SELECT COALESCE(GROUP_CONCAT(CAST(randflake_orders.raw_time(raw) AS DATETIME)), '') FROM events PARTITION ({partition})"
        );
        let found: Option<String> = client.query_first(question).unwrap();
        assert_eq!(found.as_deref(), Some(times), "{partition}");
    }
    // Plans leave out the others.
    let day = "EXPLAIN PARTITIONS SELECT * FROM events WHERE raw BETWEEN randflake_orders.raw_first('2026-01-03', '2026-01-04') \
               AND randflake_orders.raw_last('2026-01-03', '2026-01-04')";
    let plan = answer(&mut client, day);
    assert!(
        plan.len() == 1 && plan[0].starts_with("1|SIMPLE|events|p2026_01|"),
        "{plan:?}"
    );
    let refused = printed("--from 2041-01-01 --to 2042-01-01").fails(2);
    assert!(
        refused.contains("at most 2041-10-31T22:21:52Z is allowed with --dialect mysql"),
        "{refused}"
    );
}
