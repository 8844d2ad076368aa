//! To check, to make and to have the keys are rights of their own.

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
    // Roles by the first letter of their names; the others are refused.
    for (statement, roles) in [
        ("randflake_orders.is_tagged(gen_random_uuid())", "oc"),
        ("randflake_orders.tagged_id(gen_random_uuid())", "oc"),
        ("randflake_orders.make_uuid(1, 1)", "om"),
        ("randflake_orders.round_keys(1)", "o"),
        ("randflake_orders.encrypt_block(1, ARRAY[1])", "o"),
        ("* FROM randflake_orders.key_checks()", "ocmr"),
        ("* FROM randflake_orders.about()", "ocmr"),
        // Of every table, but of this one no row.
        ("count(*) FROM randflake_orders.key", "or"),
    ] {
        for role in ["owner", "checks", "makes", "reads"] {
            let mut client = database.client_of(role);
            let statement = format!("SELECT {statement}");
            if roles.contains(&role[..1]) {
                client.query(&statement, &[]).unwrap();
            } else {
                let refused = refusal(&mut client, &statement);
                assert!(
                    refused.starts_with("permission denied for"),
                    "{role}: {statement}: {refused}"
                );
            }
        }
    }
}

#[test]
fn nobody_else_reads_or_changes_the_keys() {
    let database = with_roles();
    database.client().batch_execute("ANALYZE").unwrap();
    let mut reads = database.client_of("reads");
    let mut count = |what: &str| {
        let question = format!("SELECT count(*) FROM {what}");
        reads.query_one(&question, &[]).unwrap().get::<_, i64>(0)
    };
    assert_eq!(count("randflake_orders.key"), 0);
    let statistics = "pg_statistic WHERE starelid = 'randflake_orders.key'::regclass";
    assert_eq!(count(statistics), 0);
    assert!(count("pg_statistic WHERE starelid = 'pg_class'::regclass") > 0);
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
    client
        .batch_execute(
            "CREATE SCHEMA mine;
             GRANT USAGE ON SCHEMA mine TO PUBLIC; -- Else the owner does not see what is in it.
             CREATE FUNCTION mine.noted(bigint, bigint) RETURNS bigint LANGUAGE plpgsql AS
                 $$ BEGIN RAISE 'taken by %', current_user; END $$;
             CREATE OPERATOR mine.# (LEFTARG = bigint, RIGHTARG = bigint, FUNCTION = mine.noted);
             CREATE OPERATOR mine.& (LEFTARG = bigint, RIGHTARG = bigint, FUNCTION = mine.noted);
             CREATE FUNCTION mine.uuid_send(uuid) RETURNS bytea LANGUAGE plpgsql AS
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
    let mut client = database.client();
    let printed = database.printed(&["--namespace", "orders", "--tagged"]);
    client.batch_execute("CREATE ROLE app").unwrap();
    for (kind, said) in [
        (
            "EXECUTE ON FUNCTIONS",
            "app on is_tagged, app on make_uuid,",
        ),
        ("SELECT ON TABLES", "app on key"),
    ] {
        let change = |verb, to| format!("ALTER DEFAULT PRIVILEGES {verb} {kind} {to} app");
        client.batch_execute(&change("GRANT", "TO")).unwrap();
        let refused = refusal(&mut client, &printed);
        assert!(
            refused.starts_with("others would have rights: ") && refused.contains(said),
            "{refused}"
        );
        client.batch_execute("ROLLBACK").unwrap();
        client.batch_execute(&change("REVOKE", "FROM")).unwrap();
    }
    client.batch_execute(&printed).unwrap();
}
