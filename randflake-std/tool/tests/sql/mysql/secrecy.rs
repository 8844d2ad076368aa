//! Places where the key is, and where it is not.

use core::time::Duration;
use std::fs;
use std::path::Path;
use std::time::Instant;

use harness::certificates::{Authority, REMOTE};
use harness::mariadb::{Client, MariadbServer};

use super::Database;
use crate::samples::secret;
use crate::user::{Answer, KEY, User};
use crate::wiretap::Wiretap;

/// Everything that a server may log.
const LOGS: &str = "--log-bin=binary --server-id=1 --general-log=1 --general-log-file=general.log \
    --slow-query-log=1 --slow-query-log-file=slow.log --long-query-time=0 \
    --performance-schema=ON --performance-schema-consumer-events-statements-current=ON \
    --performance-schema-consumer-events-statements-history=ON \
    --performance-schema-consumer-events-statements-history-long=ON";

/// The logs' bytes, of names that begin so.
fn logged(data: &Path, name: &str) -> Vec<u8> {
    let files = fs::read_dir(data).unwrap().map(|file| file.unwrap().path());
    let named = files.filter(|path| {
        path.file_name()
            .unwrap()
            .to_str()
            .unwrap()
            .starts_with(name)
    });
    named.flat_map(|path| fs::read(path).unwrap()).collect()
}

fn has(bytes: &[u8], part: &[u8]) -> bool {
    bytes.windows(part.len()).any(|window| window == part)
}

/// A connection on which others read, and an encrypted one. A number and the key combined with it
/// cross the same one.
#[test]
fn the_key_crosses_no_network_in_clear() {
    let authority = Authority::new();
    let database = Database {
        server: MariadbServer::start_encrypted(&authority),
        user: User::new(),
    };
    let mut client = database.install(&["--namespace", "orders", "--layout", "randflake"]);
    let wiretap = Wiretap::to(database.server.port);
    let bring = |options: &str, arguments: &[&str]| {
        let url = format!(
            "mysql://root@{REMOTE}:{}/information_schema{options}",
            wiretap.port
        );
        let arguments = [
            &["sql", "key", "--namespace", "orders", "--database", &url],
            arguments,
        ]
        .concat();
        database.user.run_keyed(&arguments)
    };
    let refused = bring("", &[]).fails(2);
    assert!(
        refused.starts_with("--database: the connection to 0.0.0.0 is not encrypted")
            && refused.contains("--trusted-network"),
        "{refused}"
    );
    assert_eq!(wiretap.take(), [0; 0]);
    bring(
        &format!(
            "?sslmode=verify-full&sslrootcert={}",
            authority.file().display()
        ),
        &[],
    )
    .ok();
    let sent = wiretap.take();
    assert!(
        sent.len() > 2_000 && !has(&sent, b"@randflake_1"),
        "{}",
        sent.len()
    );
    client
        .query_drop("DELETE FROM randflake_orders.`key`")
        .unwrap();
    bring("", &["--trusted-network"]).ok();
    assert!(has(&wiretap.take(), b"@randflake_1"));
    // A name of this machine's own.
    client
        .query_drop("DELETE FROM randflake_orders.`key`")
        .unwrap();
    let url = format!(
        "mysql://root@localhost:{}/information_schema",
        database.server.port
    );
    database
        .user
        .run_keyed(&["sql", "key", "--namespace", "orders", "--database", &url])
        .ok();
}

/// The numbers of a key, in the forms in which a log may have them.
fn shapes(client: &mut Client, condition: &str) -> Vec<Vec<u8>> {
    let numbers = (1..=25).flat_map(|i| {
        let question = format!("SELECT k{i} FROM randflake_orders.`key` {condition}");
        let number = client.query_first::<u64>(question).unwrap().unwrap();
        [
            number.to_string().into_bytes(),
            number.to_le_bytes().to_vec(),
        ]
    });
    numbers.collect()
}

fn has_any(bytes: &[u8], shapes: &[Vec<u8>]) -> bool {
    shapes.iter().any(|shape| has(bytes, shape))
}

/// Looks for a key in every log, and brings it again where it goes into one.
fn is_in_no_log(
    database: &Database,
    client: &mut Client,
    shapes: &[Vec<u8>],
    bring: impl FnOnce(&[&str]) -> Answer,
) {
    client.query_drop("FLUSH LOGS").unwrap();
    let data = database.server.server.folder().join("data");
    for (log, known) in [
        ("general.log", "INSERT INTO `randflake_orders`.`key`"),
        ("slow.log", "INSERT INTO `randflake_orders`.`key`"),
        ("binary.", "FUNCTION"),
    ] {
        let bytes = logged(&data, log);
        // The log was written.
        assert!(has(&bytes, known.as_bytes()), "{log}");
        assert!(!has_any(&bytes, shapes), "{log}");
    }
    // The other tables of the kind have these rows too, for as long as the session lives.
    let mut remembered = || -> String {
        let history = "SELECT SQL_TEXT FROM performance_schema.events_statements_history_long";
        let texts: Vec<Option<String>> = client.query(history).unwrap();
        texts.into_iter().flatten().collect()
    };
    let texts = remembered();
    // What the command did; of a prepared statement this server remembers no text.
    assert!(texts.contains("SET @randflake_1 = CONV("), "{texts}");
    assert!(!has_any(texts.as_bytes(), shapes), "{texts}");
    // What has a key in it is found there.
    let number = core::str::from_utf8(&shapes[0]).unwrap();
    let mut other = database.client();
    other.query_drop(format!("SELECT {number}")).unwrap();
    // The server remembers a statement a moment after it has answered.
    let begun = Instant::now();
    while !has_any(remembered().as_bytes(), shapes) {
        assert!(begun.elapsed() < Duration::from_secs(60), "not remembered");
    }

    // Where it is told to let replicas have it, they do: the comparison above can fail.
    for statement in [
        "DELETE FROM randflake_orders.`key`",
        "SET GLOBAL binlog_format = ROW",
    ] {
        client.query_drop(statement).unwrap();
    }
    bring(&["--namespace", "orders", "--published"]).ok();
    client.query_drop("FLUSH LOGS").unwrap();
    assert!(has_any(&logged(&data, "binary."), shapes));
}

#[test]
fn the_key_is_in_no_log() {
    let (database, mut client) = Database::with_orders(&LOGS.split(' ').collect::<Vec<_>>());
    let mut shapes = shapes(&mut client, "");
    shapes.push(KEY.as_bytes().to_vec());
    is_in_no_log(&database, &mut client, &shapes, |options| {
        database.bring_key(options)
    });
}

#[test]
fn the_tag_key_is_in_no_log_the_secret_nowhere() {
    let (database, mut client) = Database::with_tagged_orders(&LOGS.split(' ').collect::<Vec<_>>());
    client
        .query_drop("SELECT randflake_orders.is_tagged(randflake_orders.make_uuid(1, 1))")
        .unwrap();
    let mut shapes = shapes(&mut client, "WHERE number = 1");
    // The first four words of the schedule are the beginning of a key: of the secret they would
    // read ids.
    let of_ids = secret(1).cipher();
    let [[x, y], ..] = *of_ids.round_keys().collect::<Vec<_>>() else {
        panic!("no round keys");
    };
    let begin = "SELECT k1 & 0xffffffff FROM randflake_orders.`key` WHERE number = 1";
    let begin: Option<u64> = client.query_first(begin).unwrap();
    assert_ne!(begin, Some(u64::from(x) | u64::from(y) << 16));
    shapes.extend([1, 2].map(|number| secret(number).to_hex().as_bytes().to_vec()));
    is_in_no_log(&database, &mut client, &shapes, |options| {
        database.bring_tag_key(1, options)
    });
}
