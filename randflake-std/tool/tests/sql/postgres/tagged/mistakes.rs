//! What tired operators do.

use crate::postgres::{Database, refusal};
use crate::tagged::secret;

const ORDERS: [&str; 2] = ["--namespace", "orders"];

#[test]
fn numbers_that_no_key_has_are_refused() {
    let (database, mut client) = Database::with_tagged_orders(&[]);
    let bring = |number: &str| {
        let arguments = [&ORDERS[..], &["--tagged", number]].concat();
        database.bring_key_of("postgres", &secret(3).to_hex(), &arguments)
    };
    for number in ["0", "64", "99"] {
        let said = bring(number).fails(2);
        let expected = format!("key number {number} is out of range: 1 to 63 are allowed");
        assert!(said.ends_with(&expected), "{said}");
    }
    for number in ["01", "256", "one", ""] {
        let said = bring(number).fails(2);
        assert!(said.contains("decimal number from 1 to 63"), "{said}");
    }
    for number in ["0", "64", "-1", "NULL"] {
        let refused = refusal(
            &mut client,
            &format!("SELECT randflake_orders.make_uuid(1, {number})"),
        );
        assert_eq!(
            refused,
            format!("key number {number} is out of range: 1 to 63 are allowed")
        );
    }
    assert_eq!(
        refusal(&mut client, "SELECT randflake_orders.make_uuid(1, 3)"),
        "no key of number 3: the schema randflake_orders has those of 1, 2"
    );
    let copied =
        "INSERT INTO randflake_orders.key SELECT 64, round_keys, 'x' FROM randflake_orders.key";
    assert!(refusal(&mut client, copied).contains("check constraint"));
    // Two commands at once may both find that a secret is not there.
    let again = "UPDATE randflake_orders.key SET check_value = (SELECT max(check_value) FROM randflake_orders.key)";
    assert!(refusal(&mut client, again).contains("duplicate key value"));
}

#[test]
fn every_command_may_be_run_twice() {
    let (database, mut client) = Database::with_tagged_orders(&[]);
    let printed = database.printed(&["--namespace", "orders", "--tagged"]);
    assert_eq!(
        refusal(&mut client, &printed),
        "schema \"randflake_orders\" already exists"
    );
    client.batch_execute("ROLLBACK").unwrap();
    let keys =
        "SELECT string_agg(number || ' ' || check_value, ', ') FROM randflake_orders.key_checks()";
    let mut keys = || -> String { client.query_one(keys, &[]).unwrap().get(0) };
    let before = keys();
    let check = before.split([' ', ',']).nth(1).unwrap();
    let said = database.bring_tag_key(1, &ORDERS).ok();
    assert_eq!(
        said,
        format!("randflake_orders had the key of number 1 of check value {check} already\n")
    );
    assert_eq!(keys(), before);
}

#[test]
fn a_key_goes_only_where_it_belongs() {
    let (database, mut client) = Database::with_tagged_orders(&[]);
    let install = |arguments: &[&str]| {
        let printed = database.printed(arguments);
        database.client().batch_execute(&printed).unwrap();
    };
    install(&["--namespace", "items", "--tagged"]);
    install(&["--namespace", "ids", "--layout", "randflake"]);
    let hex = |number| secret(number).to_hex();
    let bring =
        |secret: &str, arguments: &[&str]| database.bring_key_of("postgres", secret, arguments);
    for (of, arguments, said) in [
        // The file of another number, whether that number has a key or not.
        (
            1,
            "--namespace orders --tagged 2",
            "has the key of this secret as number 1",
        ),
        (
            1,
            "--namespace orders --tagged 3",
            "has the key of this secret as number 1",
        ),
        (
            9,
            "--namespace orders --tagged 1",
            "has a key of number 1 with check value ",
        ),
        // Another namespace's.
        (
            9,
            "--namespace items --schema randflake_orders --tagged 3",
            "is for the namespace \"orders\", not for \"items\"",
        ),
        (
            1,
            "--namespace items --tagged 1",
            "the schema randflake_orders has this key, for the namespace \"orders\"",
        ),
        (
            2,
            "--namespace ids",
            "the schema randflake_orders has this key, for the namespace \"orders\"",
        ),
        // The kinds of schemas.
        (
            1,
            "--namespace orders",
            "is for tagged UUIDs: name the number of the key with --tagged",
        ),
        (
            1,
            "--namespace ids --tagged 1",
            "is not for tagged UUIDs: leave out --tagged",
        ),
        (
            9,
            "--namespace others --tagged 1",
            "is not in the database postgres",
        ),
    ] {
        let words: Vec<_> = arguments.split(' ').collect();
        let refused = bring(&hex(of), &words).fails(1);
        assert!(refused.contains(said), "{of}: {arguments}: {refused}");
    }
    // Nothing of that has changed anything.
    let count = "SELECT (SELECT count(*) FROM randflake_orders.key), (SELECT count(*) FROM randflake_items.key), \
                 (SELECT count(*) FROM randflake_ids.key)";
    let row = client.query_one(count, &[]).unwrap();
    assert_eq!(
        [0, 1, 2].map(|table| row.get::<usize, i64>(table)),
        [2, 0, 0]
    );
    bring(&hex(9), &["--namespace", "items", "--tagged", "1"]).ok();
    // The ids of one key number, beside its tags.
    client
        .batch_execute("DELETE FROM randflake_ids.key")
        .unwrap();
    install(&[
        "--namespace",
        "orders",
        "--layout",
        "randflake",
        "--schema",
        "ids_1",
    ]);
    bring(&hex(1), &["--namespace", "orders", "--schema", "ids_1"]).ok();
}

#[test]
fn the_file_of_another_number_is_refused_by_its_name() {
    let (database, _client) = Database::with_tagged_orders(&[]);
    let url = database.url_of("postgres");
    let run = |file: &str, number: &str| {
        database.user.write_key(file, &secret(3).to_hex());
        let path = database.user.argument(file);
        database.user.run(&[
            "sql",
            "key",
            "--database",
            &url,
            "--namespace",
            "orders",
            "--tagged",
            number,
            "--key-file",
            &path,
        ])
    };
    let refused = run("4.key", "3").fails(2);
    assert_eq!(
        refused,
        "--key-file: the file 4.key is that of key number 4, and --tagged names 3"
    );
    let brought = run("3.key", "3").ok();
    assert!(
        brought.starts_with("randflake_orders has the key of number 3 of check value "),
        "{brought}"
    );
    // A name that is no number says nothing.
    let had = run("orders.key", "3").ok();
    assert!(had.ends_with(" already\n"), "{had}");
}

/// The hint is a command that works, but for the database and the number.
#[test]
fn who_has_no_key_is_told_the_command() {
    let database = Database::start();
    let arguments = ["--namespace", "orders", "--schema", "tags", "--tagged"];
    let mut client = database.install(&arguments);
    for (statement, number) in [
        (
            "SELECT tags.is_tagged('00000000-0000-8000-801c-1a6d4fa37b6e')",
            "1",
        ),
        ("SELECT tags.make_uuid(1, 2)", "2"),
    ] {
        let error = client.batch_execute(statement).unwrap_err();
        let hint = error.as_db_error().unwrap().hint().unwrap();
        let command = hint.strip_prefix("Run: randflake ").unwrap();
        let url = database.url_of("postgres");
        let words = command.split(' ').map(|word| match word {
            "URL" => &url,
            "NUMBER" => number,
            word => word,
        });
        let words: Vec<_> = words.collect();
        let key = secret(number.parse().unwrap());
        let key = [("RANDFLAKE_KEY", key.to_hex().to_string())];
        let key = key.each_ref().map(|(name, value)| (*name, value.as_str()));
        database.user.run_in(&key, &words).ok();
        client.batch_execute(statement).unwrap();
    }
}

/// Others would get the keys.
#[test]
fn a_schema_that_was_changed_gets_no_key() {
    let (database, mut client) = Database::with_tagged_orders(&[]);
    client.batch_execute("CREATE ROLE other LOGIN").unwrap();
    for (change, undo, said) in [
        (
            "ALTER TABLE randflake_orders.key OWNER TO other",
            "ALTER TABLE randflake_orders.key OWNER TO postgres",
            "its table key belongs to other",
        ),
        (
            "ALTER FUNCTION randflake_orders.key_checks OWNER TO other",
            "ALTER FUNCTION randflake_orders.key_checks OWNER TO postgres",
            "its function key_checks belongs to other",
        ),
        (
            "GRANT SELECT ON randflake_orders.key TO other",
            "REVOKE SELECT ON randflake_orders.key FROM other",
            "lets other use the table",
        ),
        (
            "CREATE TRIGGER steals BEFORE INSERT ON randflake_orders.key EXECUTE FUNCTION suppress_redundant_updates_trigger()",
            "DROP TRIGGER steals ON randflake_orders.key",
            "has a trigger",
        ),
        (
            "CREATE PUBLICATION all_tables FOR ALL TABLES",
            "DROP PUBLICATION all_tables",
            "in the publication all_tables",
        ),
    ] {
        client.batch_execute(change).unwrap();
        let refused = database.bring_tag_key(3, &ORDERS).fails(1);
        assert!(refused.contains(said), "{change}: {refused}");
        client.batch_execute(undo).unwrap();
    }
    database.bring_tag_key(3, &ORDERS).ok();
}

#[test]
fn options_that_say_two_things_are_refused() {
    let user = crate::user::User::new();
    for other in [&["--counter"][..], &["--layout", "randflake"]] {
        let arguments = [&["sql", "postgres", "--tagged"], other].concat();
        let refused = user.run(&arguments).fails(2);
        assert!(refused.contains("cannot be used with"), "{refused}");
    }
    let refused = user.run(&["sql", "postgres", "--tagged", "--namespace", "no such"]);
    assert!(refused.fails(2).contains("no such"));
}
