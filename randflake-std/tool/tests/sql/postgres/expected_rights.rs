//! What tests of rights expect of every schema.

use super::{Database, refusal};

/// Each of these statements runs for the roles whose names begin with its letters, and is refused to the others.
pub(super) fn each_has_only(database: &Database, roles: &[&str], statements: &[(&str, &str)]) {
    for (statement, letters) in statements {
        for role in roles {
            let mut client = database.client_of(role);
            let statement = format!("SELECT {statement}");
            if letters.contains(&role[..1]) {
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

/// Neither a row of the table of keys, nor what `ANALYZE` has seen in it, although this role reads that of other tables.
pub(super) fn sees_no_key(database: &Database, role: &str) {
    database.client().batch_execute("ANALYZE").unwrap();
    let mut client = database.client_of(role);
    let mut count = |what: &str| {
        let question = format!("SELECT count(*) FROM {what}");
        client.query_one(&question, &[]).unwrap().get::<_, i64>(0)
    };
    assert_eq!(count("randflake_orders.key"), 0);
    let statistics = "pg_statistic WHERE starelid = 'randflake_orders.key'::regclass";
    assert_eq!(count(statistics), 0);
    assert!(count("pg_statistic WHERE starelid = 'pg_class'::regclass") > 0);
}

/// In a schema of the caller: a function that says who runs it, and operators of the names that functions here use.
pub(super) const OPERATORS: &str = "CREATE SCHEMA mine;
    GRANT USAGE ON SCHEMA mine TO PUBLIC; -- Else the owner does not see what is in it.
    CREATE FUNCTION mine.noted(bigint, bigint) RETURNS bigint LANGUAGE plpgsql AS
        $$ BEGIN RAISE 'taken by %', current_user; END $$;
    CREATE OPERATOR mine.# (LEFTARG = bigint, RIGHTARG = bigint, FUNCTION = mine.noted);
    CREATE OPERATOR mine.& (LEFTARG = bigint, RIGHTARG = bigint, FUNCTION = mine.noted)";

/// Where a database gives another role rights to all new functions, or tables, the schema is not made, and says to what.
pub(super) fn others_have_none_by_default(database: &Database, printed: &str, said: [&str; 2]) {
    let mut client = database.client();
    client.batch_execute("CREATE ROLE app").unwrap();
    for (kind, said) in ["EXECUTE ON FUNCTIONS", "SELECT ON TABLES"]
        .into_iter()
        .zip(said)
    {
        let change = |verb, to| format!("ALTER DEFAULT PRIVILEGES {verb} {kind} {to} app");
        client.batch_execute(&change("GRANT", "TO")).unwrap();
        let refused = refusal(&mut client, printed);
        assert!(
            refused.starts_with("others would have rights: ") && refused.contains(said),
            "{refused}"
        );
        client.batch_execute("ROLLBACK").unwrap();
        client.batch_execute(&change("REVOKE", "FROM")).unwrap();
    }
}
