//! PostgreSQL, in the version whose programs the environment names.

mod counter_faults;
mod overloads;
mod secrecy;
mod tagged;

use std::io::Write as _;
use std::path::Path;
use std::process::Command;
use std::{env, fs};

use harness::postgres::PostgresServer;
use postgres::{Client, NoTls};
use randflake_std::Id;

use crate::answers::of_postgres as run;
use crate::guide;
use crate::samples::{Sample, all, reference_vectors, secret};
use crate::user::{Answer, KEY, User};

/// A server, and somebody who runs the tool.
struct Database {
    server: PostgresServer,
    user: User,
}

impl Database {
    fn start() -> Self {
        Self::start_with(&[])
    }

    fn start_with(settings: &[&str]) -> Self {
        // Nothing here outlives its test.
        let settings = [&["fsync=off"], settings].concat();
        Self {
            server: PostgresServer::start_with(&settings),
            user: User::new(),
        }
    }

    fn client(&self) -> Client {
        self.server.client("postgres")
    }

    /// A client of another role, which may log in.
    fn client_of(&self, role: &str) -> Client {
        Client::connect(&self.url_of(role), NoTls).unwrap()
    }

    fn url_of(&self, role: &str) -> String {
        let port = self.server.port;
        format!("postgres://{role}@127.0.0.1:{port}/postgres")
    }

    /// Runs what `sql postgres` prints, as the superuser.
    fn install(&self, arguments: &[&str]) -> Client {
        let mut client = self.client();
        client.batch_execute(&self.printed(arguments)).unwrap();
        client
    }

    fn printed(&self, arguments: &[&str]) -> String {
        let arguments = [&["sql", "postgres"], arguments].concat();
        self.user.run(&arguments).ok()
    }

    /// Brings the key of the published example.
    fn bring_key(&self, namespace: &str) -> Answer {
        self.bring_key_as("postgres", &["--namespace", namespace])
    }

    fn bring_key_as(&self, role: &str, arguments: &[&str]) -> Answer {
        self.bring_key_of(role, KEY, arguments)
    }

    /// Brings the key of tags of a number, of its own secret.
    fn bring_tag_key(&self, number: u8, arguments: &[&str]) -> Answer {
        let number_text = number.to_string();
        let numbered = ["--tagged", &number_text];
        let arguments = [&numbered[..], arguments].concat();
        self.bring_key_of("postgres", &secret(number).to_hex(), &arguments)
    }

    /// Brings what follows from a secret, as a role.
    fn bring_key_of(&self, role: &str, secret: &str, arguments: &[&str]) -> Answer {
        let url = self.url_of(role);
        let arguments = [&["sql", "key", "--database", &url], arguments].concat();
        self.user.run_in(&[("RANDFLAKE_KEY", secret)], &arguments)
    }

    /// With the schema `randflake_orders` of encrypted ids, and its key.
    fn with_orders(settings: &[&str]) -> (Self, Client) {
        let database = Self::start_with(settings);
        let client = database.install(&["--namespace", "orders", "--layout", "randflake"]);
        database.bring_key("orders").ok();
        (database, client)
    }

    /// What `pg_dump` writes of the database.
    fn dump(&self, arguments: &[&str]) -> String {
        let url = self.server.url("postgres");
        let dumped = program("pg_dump")
            .args(arguments)
            .arg(url)
            .output()
            .unwrap();
        assert!(dumped.status.success(), "{dumped:?}");
        String::from_utf8(dumped.stdout).unwrap()
    }

    /// Restores a dump as another database.
    fn restore(&self, dump: &str, name: &str) -> Client {
        let create = format!("CREATE DATABASE {name}");
        self.client().batch_execute(&create).unwrap();
        self.run_script(dump, name);
        self.server.client(name)
    }

    /// Runs statements by `psql`, in a database.
    fn run_script(&self, text: &str, name: &str) {
        let script = self.user.path("dump.sql");
        fs::write(&script, text).unwrap();
        let restored = program("psql")
            .args(["--quiet", "--set", "ON_ERROR_STOP=1", "--file"])
            .arg(script)
            .arg(self.server.url(name))
            .output()
            .unwrap();
        assert!(restored.status.success(), "{restored:?}");
    }
}

fn program(name: &str) -> Command {
    Command::new(Path::new(&env::var_os("RANDFLAKE_POSTGRES").unwrap()).join(name))
}

/// What the server says of a statement that fails.
#[track_caller]
fn refusal(client: &mut Client, statement: &str) -> String {
    let error = client.batch_execute(statement).unwrap_err();
    let error = error.as_db_error().unwrap_or_else(|| panic!("{error}"));
    let detail = error.detail().map(|detail| format!(" {detail}"));
    format!("{}{}", error.message(), detail.unwrap_or_default())
}

/// What one statement gives: of arrays of ids and raw ids, the text of all that differs from what
/// was expected.
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

fn compare(client: &mut Client, sample: &Sample) {
    let layout = &sample.layout;
    let ids = sample.ids();
    let numbers: Vec<i64> = ids.iter().map(|id| id.to_i64()).collect();
    let raws: Vec<i64> = sample.raws.iter().map(|raw| raw.cast_signed()).collect();
    let texts: Vec<String> = ids.iter().map(ToString::to_string).collect();
    let parts: Vec<_> = ids.iter().map(|id| sample.codec.inspect(*id)).collect();
    let unix_ms: Vec<i64> = parts
        .iter()
        .map(|parts| sample.spec().unix_ms(parts.tick))
        .map(u64::cast_signed)
        .collect();
    let nodes: Vec<i64> = parts.iter().map(|parts| parts.node_id.into()).collect();
    let sequences: Vec<i64> = parts.iter().map(|parts| parts.sequence.into()).collect();
    // Bits that belong to no field are not composed.
    let bits = sample.field_bits();
    let composed: Vec<i64> = sample
        .raws
        .iter()
        .map(|raw| sample.codec.id(raw & bits))
        .map(Id::to_i64)
        .collect();
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
    let row = client
        .query_one(
            "SELECT s.decrypt_many($1), s.encrypt_many($2)",
            &[&numbers, &raws],
        )
        .unwrap();
    assert_eq!(
        (row.get::<_, Vec<i64>>(0), row.get::<_, Vec<i64>>(1)),
        (raws, numbers),
        "{layout}"
    );
}

/// The reference vectors, each under its own key.
#[test]
fn ids_of_others_are_read() {
    let (database, mut client) = Database::with_orders(&[]);
    for vector in reference_vectors() {
        client
            .batch_execute("DELETE FROM randflake_orders.key")
            .unwrap();
        database
            .bring_key_of("postgres", &vector.secret, &["--namespace", "orders"])
            .ok();
        let row = client
            .query_one(
                "SELECT randflake_orders.decrypt($1), randflake_orders.id_to_text($1), \
                 extract(epoch FROM randflake_orders.id_time($1))::bigint, \
                 randflake_orders.id_node($1), randflake_orders.id_sequence($1)",
                &[&vector.id],
            )
            .unwrap();
        assert_eq!(row.get::<_, i64>(0), vector.raw);
        assert_eq!(row.get::<_, String>(1), vector.text);
        let fields = [2, 3, 4].map(|column| row.get::<_, i64>(column));
        assert_eq!(fields, vector.fields);
    }
}

/// How many ids are in ranges of times, around times of ids themselves and between ticks; and for
/// how many of all ids the range of times and its raw ids differ.
const IN_RANGES: &str = "
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
        let bits = sample.field_bits();
        let mut raws: Vec<i64> = sample
            .raws
            .iter()
            .map(|raw| (raw & bits).cast_signed())
            .collect();
        let some = raws.clone();
        raws.rotate_left(7);
        let last = bits.cast_signed();
        let row = client.query_one(IN_RANGES, &[&some, &raws, &last]).unwrap();
        let (within, differing) = (row.get::<_, i64>(0), row.get::<_, i64>(1));
        assert_eq!(differing, 0, "{}", sample.layout);
        assert!(within > 1_000, "{}: {within}", sample.layout);
    }
}

/// The UUID form of ids in the type of PostgreSQL Texts that the server reads and writes otherwise,
/// or has other bytes for, or takes for another version or variant.
const OTHER_UUIDS: &str = "
    SELECT count(*) FROM unnest($1::text[], $2::bytea[]) AS expected (text, bytes)
    WHERE (text::uuid::text, uuid_send(text::uuid), substr(text::uuid::text, 15, 1), substr(text::uuid::text, 20, 1) ~ '[89ab]')
        IS DISTINCT FROM (text, bytes, '8', true)";

#[test]
fn the_server_takes_our_uuids_for_uuids_of_version_8() {
    let database = Database::start();
    let mut client = database.client();
    let sample = all().swap_remove(0);
    let ids: Vec<Id> = sample.raws.iter().copied().map(Id::from_u64).collect();
    let ints: Vec<_> = ids.iter().map(|id| id.to_i64().to_string()).collect();
    let convert = |from, to, lines: &[String]| -> Vec<String> {
        let arguments = ["convert", "--from", from, "--to", to];
        let printed = database
            .user
            .run_on((lines.join("\n") + "\n").as_bytes(), &arguments)
            .ok();
        printed.lines().map(str::to_owned).collect()
    };
    let texts = convert("int", "uuid", &ints);
    let bytes: Vec<_> = ids.iter().map(|id| id.to_uuid_bytes().to_vec()).collect();
    assert_eq!((texts.len(), bytes.len()), (ids.len(), ids.len()));
    let others: i64 = client
        .query_one(OTHER_UUIDS, &[&texts, &bytes])
        .unwrap()
        .get(0);
    assert_eq!(others, 0);
    // `uuid_extract_version` is there since version 17.
    let is_new: bool = client
        .query_one(
            "SELECT current_setting('server_version_num')::int >= 170000",
            &[],
        )
        .unwrap()
        .get(0);
    if is_new {
        let others = "SELECT count(*) FROM unnest($1::text[]) AS text
            WHERE uuid_extract_version(text::uuid) IS DISTINCT FROM 8";
        let others: i64 = client.query_one(others, &[&texts]).unwrap().get(0);
        assert_eq!(others, 0);
    }
    // What the server writes is read back.
    let written = "SELECT text::uuid::text FROM unnest($1::text[]) WITH ORDINALITY AS of (text, place) ORDER BY place";
    let written: Vec<String> = client
        .query(written, &[&texts])
        .unwrap()
        .iter()
        .map(|row| row.get(0))
        .collect();
    assert_eq!(convert("uuid", "int", &written), ints);
}

#[test]
fn the_guide_is_right_line_by_line() {
    let (database, mut client) = Database::with_orders(&[]);
    // What the guide does outside of SQL.
    let printed = database.printed(&["--namespace", "invoices", "--counter"]);
    client.batch_execute(&printed).unwrap();
    let arguments = ["keygen", "--derive", "invoices"];
    let derived = database
        .user
        .run_in(&[("RANDFLAKE_KEY", KEY)], &arguments)
        .ok();
    let url = database.url_of("postgres");
    let arguments = ["sql", "key", "--database", &url, "--namespace", "invoices"];
    database
        .user
        .run_in(&[("RANDFLAKE_KEY", derived.trim())], &arguments)
        .ok();
    let printed = database.printed(&["--namespace", "links", "--tagged"]);
    client.batch_execute(&printed).unwrap();
    for number in [1, 2] {
        let arguments = ["--namespace", "links"];
        database.bring_tag_key(number, &arguments).ok();
    }
    client
        .batch_execute("CREATE ROLE shop; CREATE ROLE analyst; SET TimeZone = 'UTC'")
        .unwrap();
    let chapter = guide::postgresql();
    guide::walk(&chapter, 50, |statement| run(&mut client, statement));

    // What it says of the view: whole rows are loaded and changed by it.
    let mut copy = client
        .copy_in("COPY public_orders (id, customer) FROM STDIN")
        .unwrap();
    copy.write_all(b"3\tcopied\n").unwrap();
    copy.finish().unwrap();
    for statement in [
        "UPDATE public_orders SET total = 3 WHERE customer = 'copied'",
        "DELETE FROM public_orders WHERE customer = 'copied' AND total = 3",
    ] {
        assert_eq!(client.execute(statement, &[]).unwrap(), 1, "{statement}");
    }
    mistakes_are_in_the_table(&mut client, &chapter);
    // As it says of another schema, which reads the ids.
    let ids = ["--namespace", "links", "--schema", "links_1"];
    let printed = [&ids[..], &["--layout", "randflake"]].concat();
    client.batch_execute(&database.printed(&printed)).unwrap();
    let key = secret(1).to_hex();
    database.bring_key_of("postgres", &key, &ids).ok();
    database.bring_tag_key(1, &["--namespace", "links"]).ok();
    let time = "SELECT links_1.id_time(randflake_links.tagged_id(id)) = links_1.id_time(4594531474933654033) FROM links";
    assert_eq!(run(&mut client, time), ["t"]);
    // Of what is removed with the schema.
    client
        .batch_execute(
            "DROP SCHEMA randflake_orders CASCADE; DROP SCHEMA randflake_invoices CASCADE",
        )
        .unwrap();
    let refused = run(&mut client, "SELECT * FROM public_orders");
    assert_eq!(
        refused,
        ["ERROR:  relation \"public_orders\" does not exist"]
    );
    let kept = "SELECT (SELECT count(*) > 0 FROM orders), (SELECT count(*) FROM invoices), \
                (SELECT count(*) FROM pg_attrdef WHERE adrelid = 'invoices'::regclass)";
    assert_eq!(run(&mut client, kept), ["t|1|0"]);
}

/// Each row of the table of what goes wrong has the words of a message.
fn mistakes_are_in_the_table(client: &mut Client, chapter: &str) {
    let (_, rest) = chapter.split_once("\n## What goes wrong\n").unwrap();
    let table = rest.split("\n## ").next().unwrap();
    let rows = table.lines().filter_map(|line| line.strip_prefix("| `"));
    let quoted: Vec<_> = rows.map(|row| row.split('`').next().unwrap()).collect();
    let statements = [
        "DELETE FROM randflake_orders.key; SELECT randflake_orders.decrypt(1)",
        "GRANT EXECUTE ON FUNCTION randflake_orders.round_keys TO PUBLIC; SELECT randflake_orders.decrypt(1)",
        "REVOKE EXECUTE ON FUNCTION randflake_orders.decrypt FROM shop; SET ROLE shop; SELECT randflake_orders.decrypt(1)",
        "CREATE ROLE nobody; SET ROLE nobody; SELECT randflake_orders.decrypt(1)",
        "SELECT randflake_orders.id_from_text('3VGOE')",
        "SELECT randflake_orders.decrypt(9223372036854775808)",
        "SELECT randflake_orders.raw_first('2020-01-01Z', '2026-01-01Z')",
        "SELECT randflake_orders.compose('2026-01-01Z', 131072, 0)",
        "SELECT randflake_orders.raw_first('2041-01-01Z', '2042-01-01Z')",
        "SELECT randflake_invoices.next_id('orders')",
        "SELECT setval('randflake_invoices.known_run', 1), setval('randflake_invoices.known_system', 1); \
         SELECT randflake_invoices.next_id('invoices')",
        "SELECT randflake_invoices.resume(1)",
        "SELECT randflake_links.make_uuid(1, 3)",
        "SELECT randflake_links.make_uuid(1, 64)",
        "CREATE SCHEMA randflake_orders",
    ];
    // The last row is of a script that `rights` runs.
    assert_eq!(quoted.len(), statements.len() + 1, "{quoted:?}");
    for (quoted, statement) in quoted.iter().zip(statements) {
        let mut transaction = client.transaction().unwrap();
        let error = transaction.batch_execute(statement).unwrap_err();
        let message = error.as_db_error().unwrap().message();
        let parts = quoted.split("...").map(str::trim);
        assert!(
            parts.into_iter().all(|part| message.contains(part)),
            "{quoted}: {message}"
        );
    }
}
