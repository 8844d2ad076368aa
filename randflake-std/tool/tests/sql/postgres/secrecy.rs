//! Places where the key is not: logs, views of statements and dumps.

use core::slice;
use core::time::Duration;
use std::fs;
use std::thread;
use std::time::Instant;

use harness::certificates::{Authority, REMOTE};
use harness::postgres::PostgresServer;
use postgres::Client;
use randflake_std::Secret;

use super::{Database, refusal};
use crate::samples::{number, secret};
use crate::user::{Answer, KEY, User};
use crate::wiretap::Wiretap;

/// Everything that a server can be made to write down.
const TALKATIVE: &str = "logging_collector=on log_directory=log log_statement=all \
    log_min_duration_statement=0 log_error_verbosity=verbose \
    shared_preload_libraries=auto_explain,pg_stat_statements \
    auto_explain.log_min_duration=0 auto_explain.log_nested_statements=on \
    auto_explain.log_analyze=on auto_explain.log_verbose=on pg_stat_statements.track=all";

/// Texts of which each is a part of the key, or of what it is expanded to.
fn parts_of(key: &Secret) -> Vec<String> {
    let cipher = key.cipher();
    let words = cipher.round_keys().flatten().collect::<Vec<_>>();
    // As numbers of the array: a word of the left branch below one of the right.
    let step = words.chunks(12).filter(|step| step.len() == 12);
    let numbers = step.flat_map(|step| {
        let both = (0..6).map(|word| u64::from(step[word]) | u64::from(step[word + 6]) << 32);
        both.map(|number| number.to_string()).collect::<Vec<_>>()
    });
    let hex = key.to_hex();
    let digits = (0..hex.len() - 7).map(|at| hex[at..at + 8].to_owned());
    numbers.chain(digits).collect()
}

/// Parts of keys that a text has.
fn found(keys: &[Secret], text: &str) -> Vec<String> {
    let parts = keys.iter().flat_map(parts_of);
    parts.filter(|part| text.contains(&**part)).collect()
}

fn published_key() -> Secret {
    Secret::from_hex(KEY).unwrap()
}

#[test]
fn no_log_and_no_view_has_the_key() {
    let (database, client) = Database::with_orders(&TALKATIVE.split(' ').collect::<Vec<_>>());
    let uses = "SELECT randflake_orders.decrypt(g), randflake_orders.encrypt(g), randflake_orders.id_time(g),
            randflake_orders.compose('2026-01-01Z', g, g) FROM generate_series(1, 3) g;
        SELECT randflake_orders.decrypt_many(ARRAY[1, 2]), count(*) FROM randflake_orders.id_fields_many(ARRAY[1, 2]);
        EXPLAIN (ANALYZE, VERBOSE) SELECT randflake_orders.decrypt(1)";
    let bring = || database.bring_key("orders");
    is_nowhere(
        &database,
        client,
        uses,
        "'{1}', 'none'",
        bring,
        &[published_key()],
    );
}

#[test]
fn no_log_and_no_view_has_a_key_of_tags() {
    let (database, client) =
        Database::with_tagged_orders(&TALKATIVE.split(' ').collect::<Vec<_>>());
    let uses = "SELECT randflake_orders.is_tagged(u), randflake_orders.tagged_id(u)
            FROM (SELECT randflake_orders.make_uuid(g, 1) FROM generate_series(1, 3) g) AS of (u);
        SELECT randflake_orders.is_tagged(gen_random_uuid()), * FROM randflake_orders.key_checks();
        EXPLAIN (ANALYZE, VERBOSE) SELECT randflake_orders.make_uuid(1, 2)";
    let bring = || database.bring_tag_key(1, &["--namespace", "orders"]);
    is_nowhere(
        &database,
        client,
        uses,
        "1, '{1}', 'none'",
        bring,
        &keys_of_tags(),
    );
}

/// Uses keys, fails to bring one, and looks for all of them in every log and view.
fn is_nowhere(
    database: &Database,
    mut client: Client,
    uses: &str,
    row: &str,
    bring: impl FnOnce() -> Answer + Send,
    keys: &[Secret],
) {
    client
        .batch_execute(&format!(
            "CREATE EXTENSION pg_stat_statements; {uses}; ANALYZE"
        ))
        .unwrap();
    // A copy that fails: somebody else was quicker by a moment.
    client
        .batch_execute("DELETE FROM randflake_orders.key")
        .unwrap();
    client
        .batch_execute(&format!(
            "BEGIN; INSERT INTO randflake_orders.key VALUES ({row})"
        ))
        .unwrap();
    let refused = thread::scope(|scope| {
        let bring = scope.spawn(bring);
        let waits =
            "SELECT FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND query LIKE 'COPY%'";
        let mut other = database.client();
        while !bring.is_finished() && other.query(waits, &[]).unwrap().is_empty() {
            thread::yield_now();
        }
        client.batch_execute("COMMIT").unwrap();
        bring.join().unwrap().fails(1)
    });
    assert!(refused.contains("duplicate key value"), "{refused}");
    let mut seen = logged(database);
    for said in [
        "COPY randflake_orders.key",
        "duplicate key value",
        // A nested statement.
        "Query Text: SELECT k.round_keys",
    ] {
        assert!(seen.contains(said), "no {said}: {seen}");
    }
    seen += &views(&mut client);
    assert_eq!(found(keys, &seen), [""; 0]);
    // The search finds what is there.
    let part = parts_of(&keys[0]).remove(0);
    client.batch_execute(&format!("SELECT '{part}'")).unwrap();
    assert_eq!(found(keys, &logged(database)), [part]);
}

/// What the catalogs and views tell of statements and tables.
fn views(client: &mut Client) -> String {
    let views = "pg_stat_statements pg_stat_activity pg_stats pg_statistic pg_prepared_statements";
    let each = views
        .split(' ')
        .map(|view| texts(client, &format!("SELECT v::text FROM {view} v")));
    each.collect()
}

fn texts(client: &mut Client, statement: &str) -> String {
    let rows = client.query(statement, &[]).unwrap();
    rows.iter().map(|row| row.get::<_, String>(0)).collect()
}

/// The log up to this moment: PostgreSQL's collector writes it from a pipe, some time after a
/// statement has answered, but in the order in which it was logged.
fn logged(database: &Database) -> String {
    let mark = format!("read at {:?}", Instant::now());
    let mut client = database.client();
    client.batch_execute(&format!("SELECT $${mark}$$")).unwrap();
    let deadline = Instant::now() + Duration::from_secs(30);
    loop {
        let text = log_files(database);
        if text.contains(&mark) {
            return text;
        }
        assert!(Instant::now() < deadline, "no {mark} in {text}");
        thread::sleep(Duration::from_millis(10));
    }
}

fn log_files(database: &Database) -> String {
    let folder = database.server.server.folder().join("data/log");
    let files = fs::read_dir(folder).unwrap();
    files
        .map(|file| fs::read_to_string(file.unwrap().path()).unwrap())
        .collect()
}

/// Brings the key of the published example over a network that is read.
fn bring_over(wiretap: &Wiretap, user: &User, options: &str, arguments: &[&str]) -> Answer {
    let port = wiretap.port;
    let url = format!("postgres://postgres@{REMOTE}:{port}/postgres{options}");
    let key = ["sql", "key", "--namespace", "orders", "--database", &url];
    user.run_keyed(&[&key, arguments].concat())
}

/// Whether a round key is among the bytes, as COPY sends it.
fn has_key(bytes: &[u8]) -> bool {
    let cipher = Secret::from_hex(KEY).unwrap().cipher();
    let [left, right] = [0, 3].map(|at| cipher.round_keys().nth(at).unwrap()[0]);
    let first = [[0; 2], right.to_be_bytes(), [0; 2], left.to_be_bytes()].concat();
    bytes.windows(first.len()).any(|window| window == first)
}

#[test]
fn the_key_crosses_no_network_in_clear() {
    let (database, mut client) = Database::with_orders(&[]);
    let mut forget = || {
        client
            .batch_execute("DELETE FROM randflake_orders.key")
            .unwrap();
    };
    forget();
    let wiretap = Wiretap::to(database.server.port);
    for mode in ["", "?sslmode=disable"] {
        assert_eq!(
            bring_over(&wiretap, &database.user, mode, &[]).fails(2),
            "--database: the connection to 0.0.0.0 is not encrypted, so others on the network could read what is sent: encrypt it \
             (sslmode=verify-full), or say with --trusted-network that nobody else can read that network"
        );
    }
    assert_eq!(wiretap.take(), [0; 0]);
    bring_over(&wiretap, &database.user, "", &["--trusted-network"]).ok();
    assert!(has_key(&wiretap.take()));
    // A name of this machine's own.
    forget();
    let url = database
        .url_of("postgres")
        .replace("127.0.0.1", "localhost");
    let key = ["sql", "key", "--namespace", "orders", "--database", &url];
    database.user.run_keyed(&key).ok();
}

/// `xtask` leaves it out where a server was built without TLS.
#[test]
fn an_encrypted_connection_brings_the_key() {
    let authority = Authority::new();
    let database = Database {
        server: PostgresServer::start_encrypted(&authority),
        user: User::new(),
    };
    database.install(&["--namespace", "orders", "--layout", "randflake"]);
    let wiretap = Wiretap::to(database.server.port);
    let trusting = |mode: &str, authority: &Authority| {
        let file = authority.file();
        let options = format!("?sslmode={mode}&sslrootcert={}", file.display());
        bring_over(&wiretap, &database.user, &options, &[])
    };
    // Whose certificate comes from nobody who is trusted gets nothing.
    for mode in ["require", "verify-full"] {
        let refused = trusting(mode, &Authority::new()).fails(1);
        assert!(
            refused.contains("comes from nobody who is trusted here"),
            "{refused}"
        );
    }
    trusting("verify-full", &authority).ok();
    let sent = wiretap.take();
    assert!(sent.len() > 2_000 && !has_key(&sent), "{}", sent.len());
}

/// The option is that of the guide.
#[test]
fn a_dump_leaves_the_key_out() {
    let (database, _) = Database::with_orders(&[]);
    let whole = database.dump(&[]);
    assert!(
        !found(&[published_key()], &whole).is_empty(),
        "the owner's dump of everything has it"
    );
    let dump = database.dump(&["--exclude-table-data=randflake_orders.key"]);
    assert_eq!(found(&[published_key()], &dump), [""; 0]);
}

/// The keys of both numbers, and the secrets that they are derived from.
fn keys_of_tags() -> Vec<Secret> {
    let of = |of| {
        let secret = secret(of);
        let key = secret.key_of_tags(number(of), "orders").unwrap();
        [key, secret]
    };
    [1, 2].into_iter().flat_map(of).collect()
}

/// A thief who gets hold of the whole database makes UUIDs of these numbers, and reads no id.
#[test]
fn the_secret_is_not_in_the_database() {
    let (database, mut client) = Database::with_tagged_orders(&[]);
    let whole = database.dump(&[]) + &raw_rows(&mut client);
    for (index, key) in keys_of_tags().iter().enumerate() {
        let is_derived = index % 2 == 0;
        assert_eq!(
            found(slice::from_ref(key), &whole).is_empty(),
            !is_derived,
            "{index}"
        );
    }
    // As the guide says it: a dump without the keys, and what its restore says.
    let dump = database.dump(&["--exclude-table-data=randflake_orders.key"]);
    assert_eq!(found(&keys_of_tags(), &dump), [""; 0]);
    let mut copy = database.restore(&dump, "copy");
    let none = "no key: the schema randflake_orders has none";
    let made = "SELECT randflake_orders.make_uuid(1, 1)::text";
    let made: String = client.query_one(made, &[]).unwrap().get(0);
    for statement in [
        &format!("SELECT randflake_orders.is_tagged('{made}')"),
        "SELECT randflake_orders.make_uuid(1, 1)",
    ] {
        assert_eq!(refusal(&mut copy, statement), none);
    }
}

fn raw_rows(client: &mut Client) -> String {
    texts(client, "SELECT k::text FROM randflake_orders.key k")
}
