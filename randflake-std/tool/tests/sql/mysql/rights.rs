//! Who may do what, and who may make the functions.

use harness::mariadb::Client;

use super::{Database, refusal, run};

const ID: i64 = 4_594_531_474_933_654_033;
const RAW: i64 = 63_673_697_622_556_673;

fn number(client: &mut Client, question: &str) -> Option<i64> {
    client
        .query_first::<Option<i64>>(question)
        .unwrap()
        .flatten()
}

#[test]
fn each_right_is_granted_alone() {
    let (database, mut root) = Database::with_orders(&[]);
    for (user, right) in [
        ("reader", "EXECUTE ON FUNCTION randflake_orders.decrypt"),
        ("writer", "EXECUTE ON FUNCTION randflake_orders.encrypt"),
        ("auditor", "SELECT ON *.*"),
    ] {
        root.query_drop(format!("CREATE USER {user}")).unwrap();
        root.query_drop(format!("GRANT {right} TO {user}")).unwrap();
    }
    let decrypted = format!("SELECT randflake_orders.decrypt({ID})");
    let encrypted = format!("SELECT randflake_orders.encrypt({RAW})");
    let key = "SELECT k1 FROM randflake_orders.`key`";
    let mut reader = database.server.client_as("reader", "randflake_orders");
    assert_eq!(number(&mut reader, &decrypted), Some(RAW));
    for statement in [&*encrypted, key, "DELETE FROM randflake_orders.`key`"] {
        let refused = refusal(&mut reader, statement);
        assert!(refused.contains("denied"), "{statement}: {refused}");
    }
    let mut writer = database.server.client_as("writer", "randflake_orders");
    assert_eq!(number(&mut writer, &encrypted), Some(ID));
    assert!(refusal(&mut writer, &decrypted).contains("denied"));
    // Whoever reads every table reads the key, and the guide says so.
    let mut auditor = database.server.client_as("auditor", "randflake_orders");
    assert!(refusal(&mut auditor, &decrypted).contains("denied"));
    assert_eq!(auditor.query::<u64>(key).unwrap().len(), 1);
}

#[test]
fn a_second_run_changes_nothing_and_another_key_is_refused() {
    let (database, mut client) = Database::with_orders(&[]);
    let again = database.printed(&["--namespace", "orders", "--layout", "discord"]);
    let refused = run(&mut client, &again).unwrap_err();
    assert!(refused.contains("layout already exists"), "{refused}");
    let had = database.bring_key(&["--namespace", "orders"]).ok();
    assert!(had.contains("had the key"), "{had}");
    let url = database.server.url("mysql");
    let other = [("RANDFLAKE_KEY", "00000000000000000000000000000001")];
    let arguments = ["sql", "key", "--database", &url, "--namespace", "orders"];
    let refused = database.user.run_in(&other, &arguments).fails(1);
    assert!(refused.contains("has the key of check value"), "{refused}");
}

#[test]
fn a_layout_without_encryption_needs_no_key() {
    let database = Database::start();
    database.install(&["--namespace", "events", "--layout", "discord"]);
    let refused = database.bring_key(&["--namespace", "events"]).fails(1);
    assert_eq!(
        refused,
        "the functions of randflake_events need no key: ids of their layout are not encrypted"
    );
}

/// The binary log in all of its formats, and a user who has no SUPER.
#[test]
fn functions_are_made_and_used_with_a_binary_log() {
    let database = Database::start_with(&["--log-bin", "--server-id=1"]);
    let mut root = database.client();
    for statement in [
        "CREATE USER owner",
        "GRANT ALL ON randflake_orders.* TO owner",
        "GRANT ALL ON shop.* TO owner",
        "CREATE DATABASE shop",
        "CREATE TABLE shop.orders (raw BIGINT PRIMARY KEY, paid INT)",
    ] {
        root.query_drop(statement).unwrap();
    }
    let printed = database.printed(&["--namespace", "orders", "--layout", "randflake"]);
    let mut owner = database.server.client_as("owner", "shop");
    let refused = run(&mut owner, &printed).unwrap_err();
    assert!(
        refused.contains("log_bin_trust_function_creators"),
        "{refused}"
    );
    // What the guide says to do then. Nothing of the first run is in the way.
    root.query_drop("SET GLOBAL log_bin_trust_function_creators = 1")
        .unwrap();
    run(&mut owner, &printed).unwrap();

    let refused = database
        .bring_key_as("owner", &["--namespace", "orders"])
        .fails(1);
    assert!(refused.contains("BINLOG ADMIN"), "{refused}");
    let refused = database.bring_key(&["--namespace", "orders"]).fails(1);
    assert!(refused.contains("were made by owner@%"), "{refused}");
    root.query_drop("GRANT BINLOG ADMIN ON *.* TO owner")
        .unwrap();
    database
        .bring_key_as("owner", &["--namespace", "orders"])
        .ok();

    for format in ["ROW", "MIXED", "STATEMENT"] {
        root.query_drop(format!("SET GLOBAL binlog_format = {format}"))
            .unwrap();
        let mut client = database.server.client_as("owner", "shop");
        for statement in [
            "TRUNCATE orders".to_owned(),
            format!("INSERT INTO orders VALUES (randflake_orders.decrypt({ID}), 0)"),
            format!("UPDATE orders SET paid = 1 WHERE raw = randflake_orders.decrypt({ID})"),
        ] {
            client.query_drop(statement).unwrap();
        }
        let id = number(
            &mut client,
            "SELECT randflake_orders.encrypt(raw) FROM orders WHERE paid = 1",
        );
        assert_eq!(id, Some(ID), "{format}");
    }
    // They run with the rights of the account that made them.
    root.query_drop("DROP USER owner").unwrap();
    let refused = refusal(&mut root, "SELECT randflake_orders.decrypt(1)");
    assert!(refused.contains("definer"), "{refused}");
}
