//! MariaDB, and whatever server of the kind the environment names.

mod secrecy;
mod tagged;

use core::fmt::Write as _;
use core::time::Duration;

use harness::mariadb::{Client, MariadbServer};
use randflake_std::date::{YEAR_10000_MS, utc};

use crate::answers::{self, of_mysql as answer};
use crate::guide;
use crate::samples::{Sample, all, reference_vectors, secret};
use crate::user::{Answer, KEY, User};

/// A server, and somebody who runs the tool.
struct Database {
    server: MariadbServer,
    user: User,
}

impl Database {
    fn start() -> Self {
        Self::start_with(&[])
    }

    fn start_with(settings: &[&str]) -> Self {
        Self {
            server: MariadbServer::start_with(settings),
            user: User::new(),
        }
    }

    fn client(&self) -> Client {
        self.server.client(None)
    }

    fn printed(&self, arguments: &[&str]) -> String {
        let arguments = [&["sql", "mysql"], arguments].concat();
        self.user.run(&arguments).ok()
    }

    /// Runs what `sql mysql` prints, as root.
    fn install(&self, arguments: &[&str]) -> Client {
        let mut client = self.client();
        run(&mut client, &self.printed(arguments)).unwrap();
        client
    }

    /// Brings the key of the published example.
    fn bring_key(&self, arguments: &[&str]) -> Answer {
        self.bring_key_as("root", arguments)
    }

    fn bring_key_as(&self, user: &str, arguments: &[&str]) -> Answer {
        self.bring_key_of(user, KEY, arguments)
    }

    /// Brings the key of tags of a number, of its own secret.
    fn bring_tag_key(&self, number: u8, arguments: &[&str]) -> Answer {
        let number_text = number.to_string();
        let numbered = ["--tagged", &number_text];
        let arguments = [&numbered[..], arguments].concat();
        self.bring_key_of("root", &secret(number).to_hex(), &arguments)
    }

    /// Brings what follows from a secret, as a user of the server.
    fn bring_key_of(&self, user: &str, secret: &str, arguments: &[&str]) -> Answer {
        let url = format!(
            "mysql://{user}@127.0.0.1:{}/information_schema",
            self.server.port
        );
        let arguments = [&["sql", "key", "--database", &url], arguments].concat();
        self.user.run_in(&[("RANDFLAKE_KEY", secret)], &arguments)
    }

    /// With the database `randflake_orders` of encrypted ids, and its key.
    fn with_orders(settings: &[&str]) -> (Self, Client) {
        let database = Self::start_with(settings);
        let client = database.install(&["--namespace", "orders", "--layout", "randflake"]);
        database.bring_key(&["--namespace", "orders"]).ok();
        (database, client)
    }
}

/// Runs a file as the client of MySQL does, to its first error.
fn run(client: &mut Client, file: &str) -> Result<(), String> {
    for statement in answers::mysql_statements(file) {
        client
            .query_drop(statement)
            .map_err(|error| error.to_string())?;
    }
    Ok(())
}

/// What the server says of a statement that fails.
#[track_caller]
fn refusal(client: &mut Client, statement: &str) -> String {
    client.query_drop(statement).unwrap_err().to_string()
}

/// Ids of which a database says something else than core. Times are compared as milliseconds; bits
/// of no field are not composed.
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
    let bits = sample.field_bits();
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
