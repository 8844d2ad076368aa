//! Dumps of databases with the functions, and what is restored from them.

use std::path::PathBuf;
use std::process::Output;

use postgres::Client;

use super::{Database, program, refusal};
use crate::guide;
use crate::user::KEY;

/// Forms of a dump, and options for its restore.
const FORMS: [(&str, &[&str]); 5] = [
    ("plain", &[]),
    ("custom", &[]),
    ("tar", &[]),
    ("directory", &[]),
    ("directory", &["--jobs=2"]),
];

/// The option of the guide that leaves out the key.
fn without_key() -> String {
    let chapter = guide::postgresql();
    let (_, rest) = chapter.split_once("$ pg_dump ").unwrap();
    let option = rest.split(' ').next().unwrap();
    assert!(option.starts_with("--exclude-table-data="), "{option}");
    option.to_owned()
}

impl Database {
    fn dump_in(&self, form: &str, arguments: &[&str]) -> PathBuf {
        let path = self.user.path(&format!("dump.{form}"));
        // Whatever was there before.
        _ = std::fs::remove_dir_all(&path);
        let dumped = program("pg_dump")
            .arg(format!("--format={form}"))
            .args(arguments)
            .arg("--file")
            .arg(&path)
            .arg(self.server.url("postgres"))
            .output();
        let dumped = dumped.unwrap();
        assert!(dumped.status.success(), "{dumped:?}");
        path
    }

    /// Restores it into another database, and goes on after errors, as the programs do by default.
    fn restore_in(&self, form: &str, dump: &PathBuf, name: &str, options: &[&str]) -> Output {
        let url = self.server.url(name);
        let mut command = if form == "plain" {
            let mut psql = program("psql");
            psql.args(["--quiet", "--file"]).arg(dump).arg(url);
            psql
        } else {
            let mut restore = program("pg_restore");
            restore.args(options).arg("--dbname").arg(url).arg(dump);
            restore
        };
        command.output().unwrap()
    }

    fn create(&self, name: &str) -> Client {
        let create = format!("CREATE DATABASE {name}");
        self.client().batch_execute(&create).unwrap();
        self.server.client(name)
    }

    /// Brings the key of the published example to a database.
    fn bring_key_to(&self, name: &str) -> crate::user::Answer {
        let url = self.server.url(name);
        self.user
            .run_keyed(&["sql", "key", "--namespace", "orders", "--database", &url])
    }
}

fn count(client: &mut Client, table: &str) -> i64 {
    let question = format!("SELECT count(*) FROM {table}");
    client.query_one(&question, &[]).unwrap().get(0)
}

/// Rows are in their table as long as they pass. In one of the tables, `late`, and one of the domains the constraint is not
/// valid: then a dump has it behind all rows.
const CHECKED: &str = "
    CREATE TABLE early (id bigint PRIMARY KEY CHECK (randflake_orders.id_time(id) < '2025-01-01'));
    CREATE TABLE late (id bigint PRIMARY KEY);
    ALTER TABLE late ADD CHECK (randflake_orders.id_time(id) < '2025-01-01') NOT VALID;
    CREATE DOMAIN early_id AS bigint CHECK (randflake_orders.id_time(VALUE) < '2025-01-01');
    CREATE DOMAIN late_id AS bigint;
    ALTER DOMAIN late_id ADD CHECK (randflake_orders.id_time(VALUE) < '2025-01-01') NOT VALID;
    CREATE TABLE of_early (id early_id PRIMARY KEY);
    CREATE TABLE of_late (id late_id PRIMARY KEY);
    INSERT INTO early VALUES (4594531474933654033);
    INSERT INTO late VALUES (4594531474933654033);
    INSERT INTO of_early VALUES (4594531474933654033);
    INSERT INTO of_late VALUES (4594531474933654033);";

/// Whatever the form of the dump and of the restore, and whether the dump has the key.
#[test]
fn constraint_that_is_not_valid_is_restored_behind_the_rows() {
    let (database, mut client) = Database::with_orders(&[]);
    client.batch_execute(CHECKED).unwrap();
    let without_key = without_key();
    for (at, (form, jobs)) in FORMS.into_iter().enumerate() {
        for options in [&[][..], &[&*without_key]] {
            let dump = database.dump_in(form, options);
            let has_key = options.is_empty();
            let name = format!("copy_{at}_{has_key}");
            let mut copy = database.create(&name);
            database.restore_in(form, &dump, &name, jobs);
            let mut rows = |tables: [&str; 2]| tables.map(|table| count(&mut copy, table));
            // In parallel the constraint of a domain may come before rows: it is of no table that it could wait for.
            let has_domain = jobs.is_empty();
            assert_eq!(rows(["late", "late"]), [1, 1], "{form} {options:?}");
            assert!(
                !has_domain || rows(["late", "of_late"]) == [1, 1],
                "{form} {options:?}"
            );
            if !has_key {
                // Rows come before anybody can bring the key.
                assert_eq!(rows(["early", "of_early"]), [0, 0], "{form} {jobs:?}");
                database.bring_key_to(&name).ok();
            }
            // New rows are checked. Hardly any of these ids is that early.
            for table in ["late", "of_late"] {
                let insert = format!("INSERT INTO {table} SELECT g FROM generate_series(1, 100) g");
                let refused = refusal(&mut copy, &insert);
                assert!(refused.contains("violates check constraint"), "{refused}");
            }
        }
    }
}

/// With a dump as it is, and constraints as they are.
#[test]
fn functions_and_key_come_before_the_restore() {
    let (database, mut client) = Database::with_orders(&[]);
    client.batch_execute(CHECKED).unwrap();
    let printed = database.printed(&["--namespace", "orders", "--layout", "randflake"]);
    let without_key = without_key();
    // One of them has the key: it is there already.
    let with_key = [("plain", &[][..], None)];
    let forms = FORMS.map(|(form, jobs)| (form, jobs, Some(&*without_key)));
    for (at, (form, jobs, option)) in forms.into_iter().chain(with_key).enumerate() {
        let dump = database.dump_in(form, option.as_slice());
        let name = format!("copy_{at}");
        let mut copy = database.create(&name);
        copy.batch_execute(&printed).unwrap();
        database.bring_key_to(&name).ok();
        let options = [jobs, &["--exclude-schema=randflake_orders"]].concat();
        let restored = database.restore_in(form, &dump, &name, &options);
        let said = String::from_utf8(restored.stderr).unwrap();
        let is_of_schema =
            |line: &&str| line.contains("already exists") || line.contains("\"one_key\"");
        let errors = said.lines().filter(|line| line.contains("ERROR: "));
        let others: Vec<_> = errors.filter(|line| !is_of_schema(line)).collect();
        assert_eq!(others, [""; 0], "{form}");
        for table in ["early", "late", "of_early", "of_late"] {
            assert_eq!(count(&mut copy, table), 1, "{form}, {table}");
        }
        let node = "SELECT randflake_orders.id_node(id) FROM early";
        assert_eq!(copy.query_one(node, &[]).unwrap().get::<_, i64>(0), 42);
    }
}

/// The option names one table: other tables of that name are the application's.
#[test]
fn a_dump_leaves_out_no_other_table() {
    let (database, mut client) = Database::with_orders(&[]);
    client
        .batch_execute("CREATE TABLE key (door text); INSERT INTO key VALUES ('front')")
        .unwrap();
    let dump = database.dump(&[&without_key()]);
    let mut copy = database.restore(&dump, "copy");
    assert_eq!(
        [
            count(&mut copy, "public.key"),
            count(&mut copy, "randflake_orders.key")
        ],
        [1, 0]
    );
}

/// With the option; without it a dump would have rows that the role may not see, so there is none.
#[test]
fn who_reads_all_data_dumps_without_the_key() {
    let (database, mut client) = Database::with_orders(&[]);
    client
        .batch_execute(
            "CREATE ROLE reads LOGIN; GRANT pg_read_all_data TO reads;
             CREATE TABLE orders (id bigint); INSERT INTO orders VALUES (1)",
        )
        .unwrap();
    let dump = |options: &[&str]| {
        let url = database.url_of("reads");
        program("pg_dump").args(options).arg(url).output().unwrap()
    };
    let refused = String::from_utf8(dump(&[]).stderr).unwrap();
    assert!(
        refused.contains("query would be affected by row-level security policy for table \"key\""),
        "{refused}"
    );
    let dumped = dump(&[&without_key()]);
    assert!(dumped.status.success(), "{dumped:?}");
    let mut copy = database.restore(&String::from_utf8(dumped.stdout).unwrap(), "copy");
    assert_eq!(count(&mut copy, "orders"), 1);
    database.bring_key_to("copy").ok();
}

/// Calls by which a role uses a key, each with what `sql key` says of its schema.
const USES: [(&str, &str, &str); 7] = [
    (
        "orders",
        "decrypt(1)",
        "decrypt, decrypt_block, decrypt_many, encrypt, encrypt_block, encrypt_many, round_keys",
    ),
    ("orders", "encrypt(1)", "decrypt,"),
    ("orders", "id_time(1)", "decrypt,"),
    ("orders", "round_keys()", "decrypt,"),
    (
        "invoices",
        "next_id('invoices')",
        "confirm, decrypt, decrypt_block, decrypt_many, encrypt, encrypt_block, encrypt_many, here, next_id, resume,",
    ),
    (
        "links",
        "make_uuid(1, 1)",
        "encrypt_block, is_tagged, make_uuid, round_keys, tagged_id",
    ),
    (
        "links",
        "is_tagged('3fc30e08-98c5-8a21-8413-40841db3c29f')",
        "encrypt_block,",
    ),
];

/// Everybody may call every function then. No key is used for anybody until its owner has set the rights again.
#[test]
fn rights_that_were_not_restored_are_refused_by_name() {
    let (database, mut client) = Database::with_orders(&[]);
    for (namespace, arguments) in [("invoices", "--counter"), ("links", "--tagged")] {
        client
            .batch_execute(&database.printed(&["--namespace", namespace, arguments]))
            .unwrap();
    }
    let derived = database
        .user
        .run_keyed(&["keygen", "--derive", "invoices"])
        .ok();
    let bring_to = |name: &str, namespace: &str| {
        let url = database.server.url(name);
        let (key, tagged): (&str, &[&str]) = match namespace {
            "orders" => (KEY, &[]),
            "invoices" => (derived.trim(), &[]),
            _ => ("00112233445566778899aabbccddeeff", &["--tagged", "1"]),
        };
        let arguments = [
            &["sql", "key", "--namespace", namespace, "--database", &url],
            tagged,
        ]
        .concat();
        database.user.run_in(&[("RANDFLAKE_KEY", key)], &arguments)
    };
    for namespace in ["invoices", "links"] {
        bring_to("postgres", namespace).ok();
    }
    client
        .batch_execute("CREATE ROLE app LOGIN; GRANT USAGE ON SCHEMA randflake_orders, randflake_invoices, randflake_links TO app")
        .unwrap();
    let mut copy = database.restore(&database.dump(&["--no-acl"]), "copy");
    copy.batch_execute(
        "GRANT USAGE ON SCHEMA randflake_orders, randflake_invoices, randflake_links TO app",
    )
    .unwrap();
    let url = database.url_of("app").replace("/postgres", "/copy");
    let mut app = Client::connect(&url, postgres::NoTls).unwrap();
    for (namespace, call, _) in USES {
        let refused = refusal(&mut app, &format!("SELECT randflake_{namespace}.{call}"));
        assert_eq!(
            refused,
            format!(
                "everybody has rights to the key: the rights of the schema randflake_{namespace} were not restored"
            )
        );
    }
    // The key is there, and is not what matters.
    for (namespace, _, functions) in USES {
        let refused = bring_to("copy", namespace).fails(1);
        let said = format!("the schema randflake_{namespace} lets everybody call {functions}");
        assert!(refused.starts_with(&said), "{refused}");
    }
    // It says what to do, whoever has the key.
    for namespace in ["orders", "invoices", "links"] {
        let said = bring_to("copy", namespace).fails(1);
        let (_, statement) = said.split_once("Run, as this role: ").unwrap();
        let (statement, _) = statement.split_once(". Then").unwrap();
        copy.batch_execute(statement).unwrap();
        assert!(bring_to("copy", namespace).ok().contains("already"));
    }
    for (namespace, call, _) in USES {
        let refused = refusal(&mut app, &format!("SELECT randflake_{namespace}.{call}"));
        assert!(
            refused.starts_with("permission denied for function"),
            "{refused}"
        );
    }
    copy.batch_execute("GRANT EXECUTE ON FUNCTION randflake_orders.decrypt TO app")
        .unwrap();
    app.batch_execute("SELECT randflake_orders.id_time(4594531474933654033)")
        .unwrap();
    // What returns the key is nobody else's, by whatever grant.
    copy.batch_execute("GRANT EXECUTE ON FUNCTION randflake_orders.round_keys TO app")
        .unwrap();
    let refused = bring_to("copy", "orders").fails(1);
    assert_eq!(
        refused,
        "the schema randflake_orders lets app call round_keys, which only its owner may"
    );
}
