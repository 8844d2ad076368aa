//! Mistakes that last are told at once: no command waits for them, and `doctor` names them.

use core::time::Duration;
use std::time::Instant;

use harness::mariadb::MariadbServer;
use harness::postgres::PostgresServer;
use harness::redis::RedisServer;

use crate::user::{User, words};
use crate::{complains, init};

#[test]
fn a_mistake_that_lasts_is_not_waited_for() {
    let redis = RedisServer::start();
    let renamed = RedisServer::start_with(&["--rename-command", "INFO", ""]);
    for (url, said) in [
        (format!("{}/99", redis.url()), "has no database 99"),
        (renamed.url(), "does not know the command INFO"),
    ] {
        complains(&url, "store", &[said]);
        for line in [
            "generate --wait 10m",
            "lease acquire --wait 10m",
            "serve --http 127.0.0.1:0",
        ] {
            let begun = Instant::now();
            let answer = User::new().run_keyed(&[&words(line)[..], &["--store", &url]].concat());
            assert_eq!(answer.status, Some(1), "{line}: {answer:?}");
            assert!(answer.stderr.contains(said), "{line}: {answer:?}");
            assert!(begun.elapsed() < Duration::from_secs(60), "{line}");
        }
    }
}

#[test]
fn a_database_without_tables_is_no_file() {
    let (postgres, mariadb) = (PostgresServer::start(), MariadbServer::start());
    let create = "CREATE DATABASE ids";
    mariadb.client(None).query_drop(create).unwrap();
    let redis = RedisServer::start();
    for (url, said) in [
        (postgres.url("postgres"), "has no tables of a lease store"),
        (mariadb.url("ids"), "has no tables of a lease store"),
        (redis.url(), "it has none"),
    ] {
        for command in ["list", "status"] {
            let told = User::new()
                .run(&["lease", command, "--store", &url])
                .fails(1);
            assert!(told.contains(said) && !told.contains("file"), "{told}");
        }
    }
}

/// Also where tables and namespace are from before the setting.
#[test]
fn a_binary_log_of_statements_is_a_problem() {
    let mariadb = MariadbServer::start_with(&["--log-bin", "--sync-binlog=1"]);
    let mut client = mariadb.client(None);
    client.query_drop("CREATE DATABASE ids").unwrap();
    let url = mariadb.url("ids");
    init(&url).ok();
    let set = "SET GLOBAL binlog_format = 'STATEMENT'";
    client.query_drop(set).unwrap();
    let told = User::new().run_keyed(&["doctor", "--store", &url]);
    let problems: Vec<_> = told
        .stdout
        .lines()
        .filter(|line| line.starts_with("problem"))
        .collect();
    assert!(
        problems.len() == 2
            && problems[0].contains("set it to MIXED or ROW")
            && problems[1].contains("binlog_format=STATEMENT"),
        "{}",
        told.stdout
    );
}
