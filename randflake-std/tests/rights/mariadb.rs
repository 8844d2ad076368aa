//! MariaDB.

use crate::engines::mariadb::MariadbServer;
use crate::user::User;
use crate::{guide, namespace, refused, uses};
use randflake_std::lease::{StoreError, open};

fn url(server: &MariadbServer, user: &str) -> String {
    format!("mysql://{user}@127.0.0.1:{}/ids", server.port)
}

/// A user of the database makes the tables as randflake does, with a procedure of its own, and waits for
/// root.
#[test]
fn root_runs_nothing_that_another_user_has_made() {
    let server = MariadbServer::start();
    let mut client = server.client(None);
    for statement in [
        "CREATE DATABASE ids",
        "CREATE USER mallory",
        "GRANT ALL ON ids.* TO mallory",
    ] {
        client.query_drop(statement).unwrap();
    }
    open(&url(&server, "mallory"), &namespace()).unwrap();
    let mut mallory = server.client_as("mallory", "ids");
    for statement in [
        "DROP PROCEDURE randflake_clock",
        "CREATE PROCEDURE randflake_clock(OUT unix_us BIGINT) SQL SECURITY INVOKER
        BEGIN
            SET unix_us = TIMESTAMPDIFF(MICROSECOND, '1970-01-01 00:00:00', SYSDATE(6));
            GRANT ALL ON *.* TO mallory;
        END",
    ] {
        mallory.query_drop(statement).unwrap();
    }
    let answer = User::new().run(&["lease", "status", "--store", &server.url("ids")]);
    assert_ne!(answer.status, Some(0), "{answer:?}");
    assert!(answer.stderr.contains("\"mallory@%\""), "{answer:?}");
    assert!(answer.stderr.contains("owner=USER"), "{answer:?}");
    let rights = "SELECT Super_priv FROM mysql.user WHERE User = 'mallory'";
    let rights: Option<String> = client.query_first(rights).unwrap();
    assert_eq!(rights.as_deref(), Some("N"), "mallory may do all now");
}

#[test]
fn tables_that_were_changed_are_refused() {
    let server = MariadbServer::start();
    let mut client = server.client(None);
    client.query_drop("CREATE DATABASE ids").unwrap();
    open(&server.url("ids"), &namespace()).unwrap();
    let mut client = server.client(Some("ids"));
    for (change, back, found) in [
        (
            "CREATE TRIGGER wakes BEFORE UPDATE ON randflake_lease FOR EACH ROW SET NEW.held = 0",
            "DROP TRIGGER wakes",
            "\"wakes\"",
        ),
        (
            "ALTER TABLE randflake_lease ENGINE = MyISAM",
            "ALTER TABLE randflake_lease ENGINE = InnoDB",
            "\"randflake_lease\" is no table of InnoDB",
        ),
        (
            "ALTER TABLE randflake_store RENAME aside",
            "DROP TABLE aside",
            "\"randflake_store\" is no table of InnoDB",
        ),
    ] {
        client.query_drop(change).unwrap();
        if back.contains("aside") {
            let view = "CREATE SQL SECURITY INVOKER VIEW randflake_store AS SELECT * FROM aside";
            client.query_drop(view).unwrap();
        }
        let told = refused(&server.url("ids"));
        assert!(told.contains(found), "{change}: {told}");
        client.query_drop(back).unwrap();
    }
}

#[test]
fn the_guides_user_can_do_what_is_needed_and_a_missing_right_is_named() {
    let server = MariadbServer::start();
    let mut client = server.client(None);
    for statement in guide("MySQL and MariaDB", 0) {
        client.query_drop(statement).unwrap();
    }
    let owner = url(&server, "ids_owner:change-me");
    let made = User::new().run(&[
        "lease",
        "status",
        "--namespace",
        "orders",
        "--store",
        &owner,
    ]);
    made.ok();

    let app = url(&server, "ids_app:change-me-too");
    let told = refused(&app);
    assert!(told.contains("\"ids_owner@%\""), "{told}");
    let app = format!("{app}?owner=ids_owner");
    uses(&app).unwrap();

    for (right, named) in [
        ("SELECT", "SELECT command denied"),
        ("UPDATE", "UPDATE command denied"),
        ("INSERT", "INSERT command denied"),
        ("EXECUTE", "execute command denied"),
    ] {
        // Nothing is left of the one before: neither the fence nor the counter.
        for forget in [
            "UPDATE ids.randflake_namespace SET fence_tick = 0",
            "DELETE FROM ids.randflake_counter",
        ] {
            client.query_drop(forget).unwrap();
        }
        let [revoke, grant] = ["REVOKE", "GRANT"].map(|verb| {
            let whom = if verb == "REVOKE" { "FROM" } else { "TO" };
            format!("{verb} {right} ON ids.* {whom} ids_app")
        });
        client.query_drop(revoke).unwrap();
        let error = uses(&app).unwrap_err();
        assert!(matches!(error, StoreError::Unusable(_)), "{error:?}");
        assert!(error.to_string().contains(named), "{right}: {error}");
        client.query_drop(grant).unwrap();
    }
}
