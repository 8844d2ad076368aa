//! To check, to make and to have the keys are rights of their own.

use crate::postgres::expected_rights::{
    OPERATORS, each_has_only, others_have_none_by_default, sees_no_key,
};
use crate::postgres::{Database, refusal};
use crate::tagged::secret;

/// With the schema `randflake_orders`, whose owner is no superuser, and roles with one right each.
fn with_roles() -> Database {
    let database = Database::start();
    database
        .client()
        .batch_execute(
            "CREATE ROLE owner LOGIN; CREATE ROLE checks LOGIN; CREATE ROLE makes LOGIN; CREATE ROLE reads LOGIN;
             GRANT CREATE ON DATABASE postgres TO owner, checks;
             GRANT pg_read_all_data TO reads",
        )
        .unwrap();
    let printed = database.printed(&["--namespace", "orders", "--tagged"]);
    let mut owner = database.client_of("owner");
    owner.batch_execute(&printed).unwrap();
    let arguments = ["--namespace", "orders", "--tagged", "1"];
    database
        .bring_key_of("owner", &secret(1).to_hex(), &arguments)
        .ok();
    owner
        .batch_execute(
            "GRANT USAGE ON SCHEMA randflake_orders TO checks, makes;
             GRANT EXECUTE ON FUNCTION randflake_orders.is_tagged, randflake_orders.tagged_id TO checks;
             GRANT EXECUTE ON FUNCTION randflake_orders.make_uuid TO makes",
        )
        .unwrap();
    database
}

#[test]
fn each_role_has_its_right_and_no_other() {
    let database = with_roles();
    let statements = [
        ("randflake_orders.is_tagged(gen_random_uuid())", "oc"),
        ("randflake_orders.tagged_id(gen_random_uuid())", "oc"),
        ("randflake_orders.make_uuid(1, 1)", "om"),
        ("randflake_orders.round_keys(1)", "o"),
        ("randflake_orders.encrypt_block(1, ARRAY[1])", "o"),
        ("* FROM randflake_orders.key_checks()", "ocmr"),
        ("* FROM randflake_orders.about()", "ocmr"),
        // Of every table, but of this one no row.
        ("count(*) FROM randflake_orders.key", "or"),
    ];
    each_has_only(
        &database,
        &["owner", "checks", "makes", "reads"],
        &statements,
    );
}

#[test]
fn nobody_else_reads_or_changes_the_keys() {
    let database = with_roles();
    sees_no_key(&database, "reads");
    for change in [
        "DELETE FROM randflake_orders.key",
        "UPDATE randflake_orders.key SET number = 2",
        "TRUNCATE randflake_orders.key",
        "INSERT INTO randflake_orders.key VALUES (2, '{1}', '')",
    ] {
        for role in ["checks", "makes", "reads"] {
            let refused = refusal(&mut database.client_of(role), change);
            assert!(
                refused.starts_with("permission denied"),
                "{role}: {change}: {refused}"
            );
        }
    }
}

/// With other operators, functions and tables of the same names before those that are meant.
#[test]
fn names_of_the_caller_are_not_taken() {
    let database = with_roles();
    let mut client = database.client_of("checks");
    client.batch_execute(OPERATORS).unwrap();
    client
        .batch_execute(
            "CREATE FUNCTION mine.uuid_send(uuid) RETURNS bytea LANGUAGE plpgsql AS
                 $$ BEGIN RAISE 'taken by %', current_user; END $$;
             CREATE TEMPORARY TABLE key (number integer, round_keys bigint[], check_value text);
             INSERT INTO key VALUES (1, array_fill(1, ARRAY[50]), '');
             SET search_path = mine, pg_temp, pg_catalog, randflake_orders",
        )
        .unwrap();
    assert_eq!(
        refusal(&mut client, "SELECT uuid_send(gen_random_uuid())"),
        "taken by checks"
    );
    let mut makes = database.client_of("makes");
    makes
        .batch_execute("SET search_path = mine, pg_catalog")
        .unwrap();
    let made = "SELECT randflake_orders.make_uuid(1, 1)::text";
    let made: String = makes.query_one(made, &[]).unwrap().get(0);
    let read = format!(
        "SELECT randflake_orders.tagged_id('{made}'), randflake_orders.is_tagged('{made}')"
    );
    let row = client.query_one(&read, &[]).unwrap();
    assert_eq!((row.get(0), row.get(1)), (1_i64, true));
}

#[test]
fn rights_by_default_are_noticed() {
    let database = Database::start();
    let printed = database.printed(&["--namespace", "orders", "--tagged"]);
    let functions = "app on is_tagged, app on make_uuid,";
    others_have_none_by_default(&database, &printed, [functions, "app on key"]);
    database.client().batch_execute(&printed).unwrap();
}
