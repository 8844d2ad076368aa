//! Where the key is, and where it is not.

use std::fs;
use std::path::Path;

use harness::certificates::{Authority, REMOTE};
use harness::mariadb::MariadbServer;

use super::Database;
use crate::user::{KEY, User};
use crate::wiretap::Wiretap;

/// Everything that a server may log.
pub(super) const LOGS: [&str; 11] = [
    "--log-bin=binary",
    "--server-id=1",
    "--general-log=1",
    "--general-log-file=general.log",
    "--slow-query-log=1",
    "--slow-query-log-file=slow.log",
    "--long-query-time=0",
    "--performance-schema=ON",
    "--performance-schema-consumer-events-statements-current=ON",
    "--performance-schema-consumer-events-statements-history=ON",
    "--performance-schema-consumer-events-statements-history-long=ON",
];

/// The logs' bytes, of names that begin so.
pub(super) fn logged(data: &Path, name: &str) -> Vec<u8> {
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

pub(super) fn has(bytes: &[u8], part: &[u8]) -> bool {
    bytes.windows(part.len()).any(|window| window == part)
}

/// A connection on which others read, and an encrypted one. A number and the key combined with it cross the same one.
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

#[test]
fn the_key_is_in_no_log() {
    let (database, mut client) = Database::with_orders(&LOGS);
    let columns: Vec<_> = (1..=25).map(|i| format!("k{i}")).collect();
    let keys = columns.iter().map(|column| {
        let question = format!("SELECT {column} FROM randflake_orders.`key`");
        client.query_first::<u64>(question).unwrap().unwrap()
    });
    let keys: Vec<u64> = keys.collect();
    let shapes = |key: &u64| {
        let secret = KEY.as_bytes().to_vec();
        [
            key.to_string().into_bytes(),
            key.to_le_bytes().to_vec(),
            secret,
        ]
    };
    let shapes: Vec<Vec<u8>> = keys.iter().flat_map(shapes).collect();
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
        assert!(!shapes.iter().any(|shape| has(&bytes, shape)), "{log}");
    }
    let inserted = |bytes: &[u8]| shapes.iter().any(|shape| has(bytes, shape));
    // The other tables of the kind have these rows too, for as long as the session lives.
    let history = "SELECT SQL_TEXT FROM performance_schema.events_statements_history_long";
    let mut remembered = || -> String {
        let texts: Vec<Option<String>> = client.query(history).unwrap();
        texts.into_iter().flatten().collect()
    };
    let texts = remembered();
    // What the command did; of a prepared statement this server remembers no text.
    assert!(texts.contains("SET @randflake_1 = CONV("), "{texts}");
    assert!(!inserted(texts.as_bytes()), "{texts}");
    // What has a key in it is found there.
    let mut other = database.client();
    other.query_drop(format!("SELECT {}", keys[0])).unwrap();
    assert!(inserted(remembered().as_bytes()));

    // Where it is told to let replicas have it, they do: the comparison above can fail.
    client
        .query_drop("DELETE FROM randflake_orders.`key`")
        .unwrap();
    client.query_drop("SET GLOBAL binlog_format = ROW").unwrap();
    database
        .bring_key(&["--namespace", "orders", "--published"])
        .ok();
    client.query_drop("FLUSH LOGS").unwrap();
    assert!(inserted(&logged(&data, "binary.")));
}
