//! Runs the guide to PostgreSQL.

use std::io::Write as _;

use postgres::Client;

use super::Database;
use crate::answers::of_postgres as run;
use crate::guide;
use crate::samples::secret;
use crate::user::KEY;

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
