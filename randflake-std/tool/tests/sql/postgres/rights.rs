//! Who may do what, and what is done to get at the key.

use super::expected_rights::{OPERATORS, each_has_only, others_have_none_by_default, sees_no_key};
use super::{Database, refusal};

const ID: i64 = 4_594_531_474_933_654_033;
const RAW: i64 = 63_673_697_622_556_673;

/// With the schema `randflake_orders`, whose owner is no superuser, and roles with one right each.
fn with_roles() -> Database {
    let database = Database::start();
    database
        .client()
        .batch_execute(
            "CREATE ROLE owner LOGIN; CREATE ROLE encrypts LOGIN; CREATE ROLE decrypts LOGIN; CREATE ROLE reads LOGIN;
             GRANT CREATE ON DATABASE postgres TO owner, decrypts;
             GRANT pg_read_all_data TO reads",
        )
        .unwrap();
    let printed = database.printed(&["--namespace", "orders", "--layout", "randflake"]);
    let mut owner = database.client_of("owner");
    owner.batch_execute(&printed).unwrap();
    database
        .bring_key_as("owner", &["--namespace", "orders"])
        .ok();
    owner
        .batch_execute(
            "GRANT USAGE ON SCHEMA randflake_orders TO encrypts, decrypts;
             GRANT EXECUTE ON FUNCTION randflake_orders.encrypt, randflake_orders.encrypt_many TO encrypts;
             GRANT EXECUTE ON FUNCTION randflake_orders.decrypt, randflake_orders.decrypt_many TO decrypts",
        )
        .unwrap();
    database
}

#[test]
fn each_role_has_its_right_and_no_other() {
    let database = with_roles();
    let statements = [
        ("randflake_orders.decrypt(1)", "od"),
        ("randflake_orders.decrypt_many(ARRAY[1])", "od"),
        ("randflake_orders.id_time(1)", "od"),
        (
            "count(*) FROM randflake_orders.id_fields_many(ARRAY[1])",
            "od",
        ),
        ("randflake_orders.encrypt(1)", "oe"),
        ("randflake_orders.encrypt_many(ARRAY[1])", "oe"),
        ("randflake_orders.compose('2026-01-01Z', 1, 1)", "oe"),
        ("randflake_orders.raw_time(1)", "oder"),
        ("randflake_orders.id_to_text(1)", "oder"),
        ("randflake_orders.key_check()", "oder"),
        ("randflake_orders.round_keys()", "o"),
        ("randflake_orders.encrypt_block(1, ARRAY[1])", "o"),
        ("randflake_orders.decrypt_block(1, ARRAY[1])", "o"),
        // Of every table, but of this one no row.
        ("count(*) FROM randflake_orders.key", "or"),
    ];
    each_has_only(
        &database,
        &["owner", "decrypts", "encrypts", "reads"],
        &statements,
    );
}

#[test]
fn who_reads_all_data_reads_no_key() {
    let database = with_roles();
    sees_no_key(&database, "reads");
    let mut reads = database.client_of("reads");
    for change in ["DELETE FROM", "TRUNCATE", "INSERT INTO"] {
        let rest = if change.starts_with("INSERT") {
            "SELECT '{1}', ''"
        } else {
            ""
        };
        let refused = refusal(&mut reads, &format!("{change} randflake_orders.key {rest}"));
        assert!(refused.starts_with("permission denied"), "{refused}");
    }
}

/// With other operators, functions and tables of the same names before those that are meant.
#[test]
fn names_of_the_caller_are_not_taken() {
    let database = with_roles();
    let mut client = database.client_of("decrypts");
    client.batch_execute(OPERATORS).unwrap();
    client
        .batch_execute(
            "CREATE TEMPORARY TABLE key (round_keys bigint[], check_value text);
             INSERT INTO key VALUES (array_fill(1, ARRAY[50]), '');
             SET search_path = mine, pg_temp, pg_catalog, randflake_orders",
        )
        .unwrap();
    assert_eq!(
        refusal(&mut client, "SELECT 1::bigint # 1::bigint"),
        "taken by decrypts"
    );
    let sql = "SELECT randflake_orders.decrypt($1), randflake_orders.decrypt_many(ARRAY[$1])";
    let row = client.query_one(sql, &[&ID]).unwrap();
    assert_eq!(row.get::<_, i64>(0), RAW);
    assert_eq!(row.get::<_, Vec<i64>>(1), [RAW]);
    let mut encrypts = database.client_of("encrypts");
    encrypts
        .batch_execute("SET search_path = mine, pg_catalog")
        .unwrap();
    let sql = "SELECT randflake_orders.encrypt($1), randflake_orders.encrypt_many(ARRAY[$1])";
    let row = encrypts.query_one(sql, &[&RAW]).unwrap();
    assert_eq!(row.get::<_, i64>(0), ID);
    assert_eq!(row.get::<_, Vec<i64>>(1), [ID]);
}

#[test]
fn rights_by_default_are_noticed() {
    let database = Database::start();
    let printed = database.printed(&["--namespace", "orders", "--layout", "randflake"]);
    others_have_none_by_default(&database, &printed, ["app on decrypt,", "app on key"]);
    let mut client = database.client();
    client.batch_execute(&printed).unwrap();
    // Another layout does not replace what is there.
    let refused = refusal(&mut client, &printed);
    assert_eq!(refused, "schema \"randflake_orders\" already exists");
}

/// What is wrong is said of the database: there is no lease store here.
#[test]
fn a_database_that_cannot_be_reached_is_named() {
    let user = crate::user::User::new();
    for (url, status, said) in [
        (
            "sqlite:orders.db",
            2,
            "--database: postgres://USER@HOST/DATABASE and mysql://USER@HOST/DATABASE are allowed",
        ),
        (
            "postgres://owner@127.0.0.1:1/a/b",
            2,
            "--database: the URL has a / in the name of the database",
        ),
        (
            "mysql://root@127.0.0.1:1",
            2,
            "--database: the URL has no database",
        ),
        (
            "postgres://owner@127.0.0.1:1/shop",
            1,
            "the database is unavailable: the PostgreSQL server at 127.0.0.1:1: ",
        ),
        (
            "mysql://root@127.0.0.1:1/shop",
            1,
            "the database is unavailable: MySQL at 127.0.0.1:1: ",
        ),
    ] {
        let told = user
            .run_keyed(&["sql", "key", "--database", url])
            .fails(status);
        assert!(told.starts_with(said), "{url}: {told}");
    }
}

/// Without a layout the store says which one the namespace has.
#[test]
fn the_layout_is_that_of_the_namespace() {
    let user = crate::user::User::new();
    let make = [
        "generate",
        "--namespace",
        "orders",
        "--layout",
        "milliflake",
    ];
    user.run_keyed(&make).ok();
    for database in ["postgres", "mysql", "duckdb"] {
        let printed = user.run(&["sql", database, "--namespace", "orders"]).ok();
        assert!(
            printed.contains("time 40 bits from bit 24, node 14 bits")
                && printed.contains("decrypt("),
            "{printed}"
        );
        let unknown = user
            .run(&["sql", database, "--namespace", "items"])
            .fails(1);
        assert!(
            unknown.contains("give its layout, such as --layout randflake"),
            "{unknown}"
        );
    }
}

/// The hint is a command that works, but for the database.
#[test]
fn who_has_no_key_is_told_the_command() {
    let database = Database::start();
    let arguments = [
        "--namespace",
        "orders",
        "--schema",
        "ids",
        "--layout",
        "randflake",
    ];
    let mut client = database.install(&arguments);
    let error = client.batch_execute("SELECT ids.decrypt(1)").unwrap_err();
    let hint = error.as_db_error().unwrap().hint().unwrap();
    let command = hint.strip_prefix("Run: randflake ").unwrap();
    let url = database.url_of("postgres");
    let words = command
        .split(' ')
        .map(|word| if word == "URL" { &url } else { word });
    database.user.run_keyed(&words.collect::<Vec<_>>()).ok();
    client.batch_execute("SELECT ids.decrypt(1)").unwrap();
}

#[test]
fn a_key_goes_only_where_it_belongs() {
    let database = with_roles();
    let mut client = database.client();
    let orders = ["--namespace", "orders"];
    let bring = |role: &str, arguments: &[&str]| database.bring_key_as(role, arguments);
    assert_eq!(
        bring("owner", &orders).ok(),
        "randflake_orders had the key of check value 990dc77e already\n"
    );
    let url = database.url_of("owner");
    let other = database.user.run_in(
        &[("RANDFLAKE_KEY", "00000000000000000000000000000000")],
        &["sql", "key", "--database", &url, "--namespace", "orders"],
    );
    let said = other.fails(1);
    assert!(
        said.starts_with(
            "the schema randflake_orders has the key of check value 990dc77e, and this one has "
        ),
        "{said}"
    );
    let said = bring("owner", &["--namespace", "items"]).fails(1);
    assert_eq!(
        said,
        "the schema randflake_items is not in the database postgres: run the output of randflake sql postgres there first, or \
         name the database that has it"
    );
    let said = bring(
        "owner",
        &["--namespace", "items", "--schema", "randflake_orders"],
    )
    .fails(1);
    assert_eq!(
        said,
        "the schema randflake_orders is for the namespace \"orders\", not for \"items\""
    );
    // Nobody else gets the key, or makes something that does.
    client
        .batch_execute("DELETE FROM randflake_orders.key")
        .unwrap();
    for (change, undo, said) in [
        (
            "ALTER TABLE randflake_orders.key OWNER TO decrypts",
            "ALTER TABLE randflake_orders.key OWNER TO owner",
            "its table key belongs to decrypts",
        ),
        (
            "GRANT CREATE ON SCHEMA randflake_orders TO decrypts",
            "REVOKE CREATE ON SCHEMA randflake_orders FROM decrypts",
            "lets decrypts make something in it",
        ),
        (
            "GRANT SELECT ON randflake_orders.key TO PUBLIC",
            "REVOKE SELECT ON randflake_orders.key FROM PUBLIC",
            "lets everybody use the table",
        ),
        (
            "ALTER TABLE randflake_orders.key DISABLE ROW LEVEL SECURITY",
            "ALTER TABLE randflake_orders.key ENABLE ROW LEVEL SECURITY",
            "without row-level security",
        ),
        (
            "CREATE POLICY all_of_it ON randflake_orders.key USING (true)",
            "DROP POLICY all_of_it ON randflake_orders.key",
            "has a policy",
        ),
        (
            "CREATE TRIGGER steals BEFORE INSERT ON randflake_orders.key EXECUTE FUNCTION suppress_redundant_updates_trigger()",
            "DROP TRIGGER steals ON randflake_orders.key",
            "has a trigger",
        ),
        (
            "CREATE RULE steals AS ON INSERT TO randflake_orders.key DO ALSO NOTHING",
            "DROP RULE steals ON randflake_orders.key",
            "has a rule",
        ),
        (
            "CREATE PUBLICATION all_tables FOR ALL TABLES",
            "DROP PUBLICATION all_tables",
            "in the publication all_tables",
        ),
    ] {
        client.batch_execute(change).unwrap();
        let refused = bring("owner", &orders).fails(1);
        assert!(refused.contains(said), "{change}: {refused}");
        client.batch_execute(undo).unwrap();
    }
    let said = bring("decrypts", &orders).fails(1);
    assert!(
        said.contains("is not this role's: its schema belongs to owner"),
        "{said}"
    );
    bring("owner", &orders).ok();
}

#[test]
fn the_same_key_is_refused_for_other_ids() {
    let database = with_roles();
    let bring = |role: &str, arguments: &[&str]| database.bring_key_as(role, arguments);
    let printed = database.printed(&["--namespace", "invoices", "--counter"]);
    database.client_of("owner").batch_execute(&printed).unwrap();
    let said = bring("owner", &["--namespace", "invoices"]).fails(1);
    assert!(
        said.starts_with("the schema randflake_orders has this key, for the namespace \"orders\""),
        "{said}"
    );
}

/// Subscribers may have it where they are meant to.
#[test]
fn a_published_table_gets_a_key_where_that_is_allowed() {
    let database = with_roles();
    let statements =
        "DELETE FROM randflake_orders.key; CREATE PUBLICATION all_tables FOR ALL TABLES";
    database.client().batch_execute(statements).unwrap();
    let brought = database
        .bring_key_as("owner", &["--namespace", "orders", "--published"])
        .ok();
    assert_eq!(
        brought,
        "randflake_orders has the key of check value 990dc77e\n"
    );
}
