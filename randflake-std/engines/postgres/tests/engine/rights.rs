//! Owners of the tables, and the rights of those who use them: nobody's code is run who is not
//! trusted, and the roles of the guide are enough.

use harness::postgres::PostgresServer;
use randflake_lease::{LeaseStore, StoreError};
use randflake_postgres::PostgresStore;

use crate::{acquire, as_store_error, namespace, unused};
use randflake_lease::testkit::leases::declared_new;

const GUIDE: &str = include_str!("../../README.md");

/// The statements of one block of SQL below a heading of the guide.
fn guide(heading: &str, block: usize) -> impl Iterator<Item = &'static str> {
    let section = GUIDE
        .split_once(&format!("\n## {heading}\n"))
        .unwrap()
        .1
        .split("\n## ")
        .next()
        .unwrap();
    let sql = section.split("```sql\n").nth(block + 1).unwrap();
    let statements = sql.split("```").next().unwrap().split(';');
    statements.map(str::trim).filter(|one| !one.is_empty())
}

fn open(url: &str) -> Result<LeaseStore, StoreError> {
    declared_new(url, PostgresStore::open(url, &namespace())?)
}

fn refused(url: &str) -> String {
    let error = open(url).unwrap_err();
    assert!(
        matches!(error, StoreError::FailedPrecondition(_)),
        "{error:?}"
    );
    error.to_string()
}

/// A lease's whole life, and a segment.
fn uses(url: &str) -> Result<(), StoreError> {
    let mut store = open(url)?;
    let grants = acquire(&mut store, 2)?;
    let ends = store.renew(&grants, 120)?.ends;
    assert!(ends.iter().all(Result::is_ok), "{ends:?}");
    assert!(store.list()?.len() >= grants.len());
    let unused: Vec<_> = grants.into_iter().map(unused).collect();
    store.release(&unused)?;
    store.administration().diagnose()?;
    if store.counter().status().map_err(as_store_error)?.lost {
        store.counter().create().map_err(as_store_error)?;
    }
    store.counter().reserve(10).map_err(as_store_error)?;
    store.administration().start_quarantine()?;
    store.administration().override_quarantine()?;
    Ok(())
}

fn url(server: &PostgresServer, role: &str, database: &str) -> String {
    format!("postgres://{role}@127.0.0.1:{}/{database}", server.port)
}

/// A role that may create a schema makes one as randflake does, with a view of its own, and waits
/// for a superuser.
#[test]
fn superuser_runs_nothing_of_another_role() {
    let server = PostgresServer::start();
    let mut client = server.client("postgres");
    client
        .batch_execute("CREATE ROLE mallory LOGIN; GRANT CREATE ON DATABASE postgres TO mallory")
        .unwrap();
    open(&url(&server, "mallory", "postgres")).unwrap();
    client
        .batch_execute(
            "SET SESSION AUTHORIZATION mallory;
            CREATE FUNCTION randflake.mine() RETURNS boolean LANGUAGE plpgsql AS $$
            BEGIN
                ALTER ROLE mallory SUPERUSER;
                RETURN true;
            END $$;
            ALTER TABLE randflake.store RENAME TO stored;
            CREATE VIEW randflake.store AS SELECT * FROM randflake.stored WHERE randflake.mine();
            RESET SESSION AUTHORIZATION",
        )
        .unwrap();
    let told = refused(&server.url("postgres"));
    assert!(told.contains("\"mallory\""), "{told}");
    assert!(told.contains("owner=ROLE"), "{told}");
    let is_superuser = "SELECT rolsuper FROM pg_roles WHERE rolname = 'mallory'";
    let row = client.query_one(is_superuser, &[]).unwrap();
    assert!(!row.get::<_, bool>(0), "mallory is a superuser now");

    // Not even a schema without anything in it.
    client
        .batch_execute(
            "DROP SCHEMA randflake CASCADE; CREATE SCHEMA randflake AUTHORIZATION mallory",
        )
        .unwrap();
    let told = refused(&server.url("postgres"));
    assert!(told.contains("\"schema\" belongs"), "{told}");
    let made = "SELECT count(*) FROM pg_class WHERE relnamespace = 'randflake'::regnamespace";
    let row = client.query_one(made, &[]).unwrap();
    assert_eq!(row.get::<_, i64>(0), 0);
}

/// What they would do, it does with the rights of the user of the store; or it forgets.
#[test]
fn a_schema_that_was_changed_is_refused() {
    let server = PostgresServer::start();
    let mut client = server.client("postgres");
    for create in ["CREATE ROLE mallory LOGIN", "CREATE DATABASE made"] {
        client.batch_execute(create).unwrap();
    }
    open(&server.url("made")).unwrap();
    for (case, (change, found)) in [
        (
            "GRANT USAGE, CREATE ON SCHEMA randflake TO mallory",
            "right to create",
        ),
        ("GRANT CREATE ON SCHEMA randflake TO PUBLIC", "\"PUBLIC\""),
        (
            "ALTER TABLE randflake.record OWNER TO mallory",
            "relation record",
        ),
        (
            "ALTER TABLE randflake.record RENAME TO r;
            CREATE VIEW randflake.record AS SELECT * FROM randflake.r",
            "view or foreign table record",
        ),
        (
            "ALTER TABLE randflake.record SET UNLOGGED",
            "unlogged table record",
        ),
        (
            "ALTER TABLE randflake.record ENABLE ROW LEVEL SECURITY",
            "row level security of record",
        ),
        (
            "CREATE TRIGGER wakes BEFORE UPDATE ON randflake.record
                FOR EACH ROW EXECUTE FUNCTION suppress_redundant_updates_trigger()",
            "trigger wakes",
        ),
        (
            "CREATE RULE keeps AS ON UPDATE TO randflake.store DO INSTEAD NOTHING",
            "rule keeps",
        ),
    ]
    .into_iter()
    .enumerate()
    {
        let database = format!("case_{case}");
        let create = format!("CREATE DATABASE {database} TEMPLATE made");
        client.batch_execute(&create).unwrap();
        let mut inside = server.client(&database);
        inside.batch_execute(change).unwrap();
        let told = refused(&server.url(&database));
        assert!(told.contains(found), "{change}: {told}");
    }
}

#[test]
fn guides_role_suffices_and_missing_right_is_named() {
    let server = PostgresServer::start();
    let mut client = server.client("postgres");
    for statement in guide("Rights", 0) {
        client.batch_execute(statement).unwrap();
    }
    let owner = url(&server, "ids_owner", "ids");
    open(&owner).unwrap();
    let mut client = server.client("ids");
    client.batch_execute("SET ROLE ids_owner").unwrap();
    for statement in guide("Rights", 1) {
        client.batch_execute(statement).unwrap();
    }

    let app = url(&server, "ids_app", "ids");
    let told = refused(&app);
    assert!(told.contains("\"ids_owner\""), "{told}");
    let app = format!("{app}?owner=ids_owner");
    uses(&app).unwrap();
    let mut as_app =
        ::postgres::Client::connect(&url(&server, "ids_app", "ids"), ::postgres::NoTls);
    let as_app = as_app.as_mut().unwrap();
    for forbidden in [
        "CREATE SCHEMA mine",
        "CREATE TABLE randflake.mine (id integer)",
        "DROP TABLE randflake.record",
        "DELETE FROM randflake.record",
    ] {
        as_app.batch_execute(forbidden).unwrap_err();
    }

    for (right, named) in [
        ("USAGE ON SCHEMA randflake", "schema randflake"),
        ("SELECT ON randflake.store", "table store"),
        ("SELECT ON randflake.record", "table record"),
        ("INSERT ON randflake.record", "table record"),
        ("UPDATE ON randflake.record", "table record"),
    ] {
        let revoke = format!("REVOKE {right} FROM ids_app");
        client.batch_execute(&revoke).unwrap();
        let error = uses(&app).unwrap_err();
        assert!(
            matches!(error, StoreError::FailedPrecondition(_)),
            "{error:?}"
        );
        let denied = format!("permission denied for {named}");
        assert!(error.to_string().contains(&denied), "{right}: {error}");
        client
            .batch_execute(&format!("GRANT {right} TO ids_app"))
            .unwrap();
    }
}
