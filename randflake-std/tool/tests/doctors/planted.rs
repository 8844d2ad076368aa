//! Rows that somebody plants who may only use the store: an administrator's command names them, and
//! runs nothing of what stands in them.

use ::postgres::{Client as Postgres, NoTls};
use harness::etcd::EtcdCluster;
use harness::mariadb::MariadbServer;
use harness::postgres::PostgresServer;
use harness::redis::RedisServer;

use crate::init;
use crate::user::User;

/// Each as the tool shows it.
const POSTGRES: [&str; 3] = [
    "a'; ALTER ROLE ids_app SUPERUSER; --",
    r"a\'; ALTER ROLE ids_app SUPERUSER; --",
    "{texts}' || $1 %s ?",
];
const MARIADB: [&str; 3] = [
    "a'; GRANT ALL ON *.* TO ids_app; --",
    r"a\'; GRANT ALL ON *.* TO ids_app; --",
    "x'27' ? %s",
];

/// The administrator looks for namespaces, in each way that there is.
fn look(url: &str, planted: &[&str]) {
    let user = User::new();
    let answer = user.run(&["lease", "namespaces", "--store", url]);
    assert!(answer.stdout.contains("default "), "{answer:?}");
    for name in planted {
        let named = format!("it has a namespace {name:?}, a name that randflake never writes");
        assert!(answer.stderr.contains(&named), "{named}: {answer:?}");
    }
    let end = "namespaces cannot be read\n";
    assert!(answer.stderr.ends_with(end), "{answer:?}");
    assert_eq!(answer.status, Some(1));

    for command in [
        &["list", "--namespace", "other"][..],
        &["status", "--namespace", "other"],
        &["drop", "other", "--yes"],
    ] {
        let arguments = [&["lease"], command, &["--store", url]].concat();
        let said = user.run(&arguments).fails(1);
        let known = "it has \"default\"; choose one with --namespace";
        assert!(said.ends_with(known), "{command:?}: {said}");
    }
    // Not even by name.
    for name in planted {
        let list = ["lease", "list", "--store", url, "--namespace", name];
        let said = user.run(&list).fails(2);
        assert!(said.contains("1 to 64 characters"), "{said}");
    }
}

#[test]
fn a_row_in_postgresql_gives_nobody_a_right() {
    let server = PostgresServer::start();
    let admin = server.url("postgres");
    init(&admin).ok();
    let mut client = server.client("postgres");
    client
        .batch_execute(
            "CREATE ROLE ids_app LOGIN;
            GRANT USAGE ON SCHEMA randflake TO ids_app;
            GRANT SELECT, INSERT, UPDATE ON ALL TABLES IN SCHEMA randflake TO ids_app",
        )
        .unwrap();
    let url = format!("postgres://ids_app@127.0.0.1:{}/postgres", server.port);
    let mut app = Postgres::connect(&url, NoTls).unwrap();
    for name in POSTGRES {
        let plant =
            "INSERT INTO randflake.record (namespace, kind, number, value) VALUES ($1, 0, 0, 'x')";
        app.execute(plant, &[&name]).unwrap();
    }
    look(&admin, &POSTGRES);
    let is_superuser = "SELECT rolsuper FROM pg_roles WHERE rolname = 'ids_app'";
    let row = client.query_one(is_superuser, &[]).unwrap();
    assert!(!row.get::<_, bool>(0), "ids_app is a superuser now");
}

/// An owner in the URL is a value too.
#[test]
fn an_owner_of_postgresql_is_only_a_name() {
    let server = PostgresServer::start();
    let url = server.url("postgres");
    let mut client = server.client("postgres");
    client.batch_execute("CREATE ROLE ids_app LOGIN").unwrap();
    let owner = "?owner=x%27%3B%20ALTER%20ROLE%20ids_app%20SUPERUSER%3B%20--";
    let told = init(&format!("{url}{owner}"));
    assert!(told.stderr.is_empty(), "{told:?}");
    let is_superuser = "SELECT rolsuper FROM pg_roles WHERE rolname = 'ids_app'";
    let row = client.query_one(is_superuser, &[]).unwrap();
    assert!(!row.get::<_, bool>(0), "ids_app is a superuser now");
}

#[test]
fn a_row_in_mariadb_gives_nobody_a_right() {
    let server = MariadbServer::start();
    let mut client = server.client(None);
    for statement in [
        "CREATE DATABASE ids",
        "CREATE USER ids_app",
        "GRANT SELECT, INSERT, UPDATE ON ids.* TO ids_app",
    ] {
        client.query_drop(statement).unwrap();
    }
    let admin = server.url("ids");
    init(&admin).ok();
    let mut app = server.client_as("ids_app", "ids");
    for name in MARIADB {
        let plant = "INSERT INTO randflake_record VALUES (?, 0, 0, 'x', 0)";
        app.exec_drop(plant, (name,)).unwrap();
    }
    // No text at all.
    let plant = "INSERT INTO randflake_record VALUES (x'62ff27', 0, 0, x'ff', 0)";
    app.query_drop(plant).unwrap();
    look(&admin, &MARIADB);
    let grants: Option<String> = client.query_first("SHOW GRANTS FOR ids_app").unwrap();
    let grants = grants.unwrap();
    assert!(
        grants.contains("USAGE") && !grants.contains("ALL"),
        "{grants}"
    );
}

/// Keys that are no text, or no namespace's: a list that ended there would hide others.
fn hides_nothing(url: &str, planted: &[&str]) {
    let user = User::new();
    let answer = user.run(&["lease", "namespaces", "--store", url]);
    let damaged = "node id 7 of \"default\": it is";
    assert!(answer.stderr.contains(damaged), "{answer:?}");
    for name in planted {
        let named = format!("it has a namespace {name:?}, a name that randflake never writes");
        assert!(answer.stderr.contains(&named), "{named}: {answer:?}");
    }
    let said = user.run(&["lease", "list", "--namespace", "other", "--store", url]);
    assert!(said.stderr.contains("it has \"default\""), "{said:?}");
    let said = user.run(&["lease", "list", "--store", url]);
    assert!(said.stderr.contains(damaged), "{said:?}");
}

#[test]
fn keys_in_redis_hide_no_namespace() {
    let server = RedisServer::start();
    let url = server.url();
    init(&url).ok();
    for plant in [
        r#"HSET "randflake:{\xff}" namespace x"#,
        r#"SET "randflake:{no hash}" x"#,
        r#"HSET "randflake:{default}" "\xff" x 7 "\xff" 007 x"#,
        // A node id is listed from its first lease on.
        r#"ZADD "randflake:{default}:nodes" 7 7"#,
    ] {
        let answer = server.ask(plant);
        assert!(!answer.starts_with('-'), "{answer}");
    }
    hides_nothing(&url, &["\u{fffd}", "no hash"]);
}

#[test]
fn keys_in_etcd_hide_no_namespace() {
    let cluster = EtcdCluster::start(1);
    let url = cluster.url();
    init(&url).ok();
    // randflake/-a, randflake/a?/namespace and randflake/default/lease/00000007, with bytes that
    // are no text.
    for key in [
        "cmFuZGZsYWtlLy1h",
        "cmFuZGZsYWtlL2H/L25hbWVzcGFjZQ==",
        "cmFuZGZsYWtlL2RlZmF1bHQvbGVhc2UvMDAwMDAwMDc=",
    ] {
        let put = format!(r#"{{"key":"{key}","value":"/w=="}}"#);
        cluster.members[0].post("kv/put", &put);
    }
    hides_nothing(&url, &["a\u{fffd}"]);
}
