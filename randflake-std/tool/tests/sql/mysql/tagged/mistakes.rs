//! What tired operators do.

use crate::mysql::{Database, refusal, run};
use crate::tagged::secret;

#[test]
fn numbers_that_no_key_has_are_refused() {
    let (database, mut client) = Database::with_tagged_orders(&[]);
    for number in ["0", "64"] {
        let arguments = ["--namespace", "orders", "--tagged", number];
        let said = database.bring_key_of("root", &secret(3).to_hex(), &arguments);
        let expected = format!("key number {number} is out of range: 1 to 63 are allowed");
        assert!(said.fails(2).ends_with(&expected));
    }
    for number in ["0", "64", "-1", "NULL"] {
        let call = format!("SELECT randflake_orders.make_uuid(1, {number})");
        let refused = refusal(&mut client, &call);
        let expected = format!("key number {number} is out of range: 1 to 63 are allowed");
        assert!(refused.contains(&expected), "{refused}");
    }
    let refused = refusal(&mut client, "SELECT randflake_orders.make_uuid(1, 3)");
    assert!(refused.contains("no key of number 3: "), "{refused}");
    let larger = "SELECT randflake_orders.make_uuid(18446744073709551616, 1)";
    refusal(&mut client, larger);
    let outside = "UPDATE randflake_orders.`key` SET number = 64 WHERE number = 1";
    let refused = refusal(&mut client, outside);
    assert!(refused.contains("CONSTRAINT"), "{refused}");
    // Two commands at once may both find that a secret is not there.
    let again = "UPDATE randflake_orders.`key` SET check_value = '00000000'";
    let refused = refusal(&mut client, again);
    assert!(refused.contains("Duplicate entry"), "{refused}");
}

#[test]
fn every_command_may_be_run_twice() {
    let (database, mut client) = Database::with_tagged_orders(&[]);
    let printed = database.printed(&["--namespace", "orders", "--tagged"]);
    let refused = run(&mut client, &printed).unwrap_err();
    assert!(refused.contains("layout already exists"), "{refused}");
    let checks = "SELECT randflake_orders.key_checks()";
    let before: Option<String> = client.query_first(checks).unwrap();
    let said = database.bring_tag_key(1, &["--namespace", "orders"]).ok();
    let check = said
        .strip_prefix("randflake_orders had the key of number 1 of check value ")
        .and_then(|rest| rest.strip_suffix(" already\n"))
        .unwrap();
    assert!(before.as_ref().unwrap().contains(check), "{before:?}");
    assert_eq!(client.query_first(checks).unwrap(), before);
}

#[test]
fn a_key_goes_only_where_it_belongs() {
    let (database, mut client) = Database::with_tagged_orders(&[]);
    let printed = database.printed(&["--namespace", "ids", "--layout", "randflake"]);
    run(&mut client, &printed).unwrap();
    for (of, arguments, said) in [
        (
            1,
            "--namespace orders --tagged 3",
            "has the key of this secret as number 1: is this the file of another number?",
        ),
        (
            9,
            "--namespace orders --tagged 1",
            "has a key of number 1 with check value ",
        ),
        (
            9,
            "--namespace items --schema randflake_orders --tagged 3",
            "is for the namespace \"orders\", not for \"items\"",
        ),
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
            "there is no table `randflake_others`.`key`",
        ),
    ] {
        let words: Vec<_> = arguments.split(' ').collect();
        let refused = database.bring_key_of("root", &secret(of).to_hex(), &words);
        let refused = refused.fails(1);
        assert!(refused.contains(said), "{of}: {arguments}: {refused}");
    }
    let count = "SELECT (SELECT COUNT(*) FROM randflake_orders.`key`) * 10 + (SELECT COUNT(*) FROM randflake_ids.`key`)";
    assert_eq!(client.query_first::<i64>(count).unwrap(), Some(20));
}

#[test]
fn a_database_without_a_key_says_so() {
    let database = Database::start();
    let mut client = database.install(&["--namespace", "orders", "--tagged"]);
    for call in [
        "make_uuid(1, 1)",
        "is_tagged(UNHEX('0000000000008000801c1a6d4fa37b6e'))",
    ] {
        let refused = refusal(&mut client, &format!("SELECT randflake_orders.{call}"));
        assert!(
            refused.contains("the database randflake_orders has no key: set it with randflake sql key --tagged NUMBER"),
            "{refused}"
        );
    }
}
