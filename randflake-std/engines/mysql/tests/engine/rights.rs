//! Whose tables are used, and with which rights.

use harness::mariadb::MariadbServer;
use randflake_lease::CounterError;
use randflake_lease::StoreError;

use crate::database::{Database, TTL, acquire, assert_failed_precondition};

const GUIDE: &str = include_str!("../../README.md");

/// The statements of the guide's block of SQL for MySQL.
fn guide() -> impl Iterator<Item = &'static str> {
    let section = GUIDE.split_once("\n## Rights\n").unwrap().1;
    let sql = section.split("```sql\n").nth(1).unwrap();
    let statements = sql.split("```").next().unwrap().split(';');
    statements.map(str::trim).filter(|one| !one.is_empty())
}

/// A lease's whole life, and a segment.
fn uses(server: &Database, user: &str) -> Result<(), StoreError> {
    let mut store = server.open_as(user)?;
    for count in [1, 2] {
        let grants = acquire(&mut store, count)?;
        let ends = store.renew(&grants, TTL)?.ends;
        assert!(ends.iter().all(Result::is_ok), "{ends:?}");
        store.release(&grants)?;
    }
    assert!(!store.list()?.is_empty());
    store.administration().diagnose()?;
    if store.counter().status().map_err(as_store_error)?.lost {
        store.counter().create().map_err(as_store_error)?;
    }
    store.counter().reserve(10).map_err(as_store_error)?;
    store.administration().start_quarantine()?;
    Ok(())
}

/// A user of the database makes a view in place of a table, which runs a function, and waits for
/// root.
#[test]
fn root_runs_nothing_that_another_user_has_made() {
    let server = Database::new();
    server.open();
    server.do_all(&[
        "CREATE USER mallory",
        &format!("GRANT ALL ON {}.* TO mallory", server.name),
        "CREATE TABLE ran (times INT)",
    ]);
    let mut mallory = server.server.client_as("mallory", &server.name);
    for statement in [
        "CREATE FUNCTION f() RETURNS INT SQL SECURITY INVOKER MODIFIES SQL DATA
        BEGIN
            INSERT INTO ran VALUES (1);
            RETURN 1;
        END",
        "RENAME TABLE randflake_store TO aside",
        "CREATE SQL SECURITY INVOKER VIEW randflake_store AS
            SELECT only_row, f() AS version, id FROM aside",
    ] {
        mallory.query_drop(statement).unwrap();
    }
    assert_failed_precondition(
        server.open_as("root"),
        "\"randflake_store\" is no table of InnoDB",
    );
    let ran = "SELECT COUNT(*) FROM ran";
    let ran: Option<u64> = server.client().query_first(ran).unwrap();
    assert_eq!(ran, Some(0));
}

#[test]
fn tables_that_were_changed_are_refused() {
    let server = Database::new();
    server.open();
    for (change, back, found) in [
        (
            "CREATE TRIGGER wakes BEFORE UPDATE ON randflake_record FOR EACH ROW SET NEW.value = OLD.value",
            "DROP TRIGGER wakes",
            "\"wakes\"",
        ),
        (
            "ALTER TABLE randflake_record ENGINE = MyISAM",
            "ALTER TABLE randflake_record ENGINE = InnoDB",
            "\"randflake_record\" is no table of InnoDB",
        ),
    ] {
        server.do_all(&[change]);
        assert_failed_precondition(server.open_as("root"), found);
        server.do_all(&[back]);
        server.open();
    }
    server.do_all(&["UPDATE randflake_store SET version = 2"]);
    assert_failed_precondition(
        server.open_as("root"),
        "a newer randflake made it (version 2",
    );
    server.do_all(&[
        "UPDATE randflake_store SET version = 1",
        "ALTER TABLE randflake_store DROP COLUMN marked",
    ]);
    let acquired = server
        .open_as("root")
        .and_then(|mut store| acquire(&mut store, 1));
    assert_failed_precondition(acquired, "Unknown column 'marked'");
}

#[test]
fn guides_users_suffice_and_missing_right_is_named() {
    let server = MariadbServer::start();
    let mut client = server.client(None);
    for statement in guide() {
        client.query_drop(statement).unwrap();
    }
    let server = Database::of(server);
    let app = "ids_app:change-me-too";
    assert_failed_precondition(server.open_as(app), "CREATE command denied");
    server.open_as("ids_owner:change-me").unwrap();
    uses(&server, app).unwrap();

    for right in ["SELECT", "UPDATE", "INSERT"] {
        // Nothing is left of the one before: neither the quarantine nor the counter.
        server
            .open()
            .administration()
            .override_quarantine()
            .unwrap();
        server.do_all(&["DELETE FROM randflake_record WHERE kind = 1"]);
        client
            .query_drop(format!("REVOKE {right} ON ids.* FROM ids_app"))
            .unwrap();
        assert_failed_precondition(uses(&server, app), &format!("{right} command denied"));
        client
            .query_drop(format!("GRANT {right} ON ids.* TO ids_app"))
            .unwrap();
    }
}

/// As leases fail in the same way.
fn as_store_error(error: CounterError) -> StoreError {
    match error {
        CounterError::FailedPrecondition(error) | CounterError::Unavailable(error) => error.into(),
        error => panic!("{error:?}"),
    }
}
