//! `randflake doctor` on real servers: it is content where all is well, and else names what is not
//! and what to do.

#![cfg(unix)]
#![expect(
    clippy::unwrap_used,
    clippy::panic,
    reason = "a test fails by panicking"
)]

/// Runs a check on a server of each engine: with its URL, and what makes it lose its data.
macro_rules! on_each_engine {
    ($check:path) => {
        #[test]
        fn redis() {
            let redis = ::harness::redis::RedisServer::start();
            $check(&redis.url(), || {
                assert_eq!(redis.ask("FLUSHALL"), "+OK\r\n")
            });
        }

        #[test]
        fn postgresql() {
            let server = ::harness::postgres::PostgresServer::start();
            $check(&server.url("postgres"), || {
                let mut client = server.client("postgres");
                client
                    .batch_execute("DROP SCHEMA randflake CASCADE")
                    .unwrap();
            });
        }

        #[test]
        fn mariadb() {
            let server =
                ::harness::mariadb::with_database(::harness::mariadb::MariadbServer::start());
            $check(&server.url("ids"), || {
                let mut client = server.client(None);
                client.query_drop("DROP DATABASE ids").unwrap();
                client.query_drop("CREATE DATABASE ids").unwrap();
            });
        }

        #[test]
        fn etcd() {
            let cluster = ::harness::etcd::EtcdCluster::start(1);
            $check(&cluster.url(), || {
                // All keys: from the first possible one on.
                let all = r#"{"key":"AA==","range_end":"AA=="}"#;
                cluster.members[0].post("kv/deleterange", all);
            });
        }
    };
}

#[path = "../aged_store/mod.rs"]
mod aged_store;
mod declared;
mod lasting;
mod line;
mod planted;
mod runbook;
#[expect(dead_code, reason = "other tests do more with the tool")]
#[path = "../cli/user.rs"]
mod user;

use core::time::Duration;
use std::thread;
use std::time::Instant;

use harness::etcd::EtcdCluster;
use harness::mariadb::MariadbServer;
use harness::postgres::PostgresServer;
use harness::redis::RedisServer;

use user::{Answer, User};

/// Declares the namespace of a new store.
fn init(url: &str) -> Answer {
    User::new().run(&["lease", "init", "--yes", "--no-wait", "--store", url])
}

fn doctor(url: &str) -> Answer {
    // Where the server is as it should be, there is a namespace then.
    init(url);
    User::new().run_keyed(&["doctor", "--store", url])
}

/// It finds no problem, and these cautions.
#[track_caller]
fn is_content(url: &str, cautions: &[&str]) -> String {
    let told = doctor(url).ok();
    let checks = told
        .lines()
        .filter_map(|line| line.strip_prefix("caution "))
        .map(|line| line.split_whitespace().next().unwrap());
    assert_eq!(checks.collect::<Vec<_>>(), cautions, "{told}");
    for said in ["acquired in ", "0 of 131072", "its clock is read in"] {
        assert!(told.contains(said), "{said}: {told}");
    }
    assert!(!told.contains("hunter2"), "{told}");
    told
}

/// It has one problem, of which it says so.
#[track_caller]
fn complains(url: &str, check: &str, said: &[&str]) {
    let answer = doctor(url);
    let told = answer.stdout.clone();
    let problem = told
        .lines()
        .find_map(|line| line.strip_prefix("problem "))
        .unwrap_or_else(|| panic!("{told}"))
        .trim_start();
    assert!(problem.starts_with(check), "{told}");
    for said in said {
        assert!(problem.contains(said), "{said}: {told}");
    }
    assert!(!told.contains("hunter2"), "{told}");
    assert_eq!(answer.fails(1), "1 problem");
}

#[track_caller]
fn warns(told: &str, check: &str, said: &str) {
    let warning = format!("caution  {check}");
    let line = told.lines().find(|line| line.starts_with(&warning));
    assert!(line.is_some_and(|line| line.contains(said)), "{told}");
}

#[test]
fn redis() {
    let redis = RedisServer::start();
    // A new server waits until what its predecessor may have granted is over.
    let told = User::new()
        .run_keyed(&["doctor", "--store", &redis.url()])
        .ok();
    warns(
        &told,
        "quarantine",
        "A new server or file looks like one that has lost its data",
    );
    assert!(told.contains("not made yet by a first generate"), "{told}");
    let said = init(&redis.url()).ok();
    assert_eq!(said, "the namespace grants leases\n");
    let told = is_content(&redis.url(), &["failover"]);
    assert!(told.contains("yes, appendfsync always"), "{told}");

    redis.ask("CONFIG SET appendfsync everysec");
    let told = is_content(&redis.url(), &["appendonly", "failover"]);
    warns(&told, "appendonly", "the last second is lost in a crash");
    redis.ask("CONFIG SET appendonly no");
    let told = is_content(&redis.url(), &["appendonly", "failover"]);
    warns(&told, "appendonly", "all leases are lost in a crash");
    warns(&told, "appendonly", "set it to yes");

    redis.ask("CONFIG SET maxmemory-policy allkeys-lru");
    let said = ["maxmemory-policy is allkeys-lru", "set noeviction"];
    complains(&redis.url(), "store", &said);
}

/// Passwords, records and check values cross the network.
#[test]
fn plain_connection_to_another_machine_is_a_caution() {
    let postgres = PostgresServer::start();
    let url = postgres.url("postgres");
    is_content(&url, &["failover"]);
    // Not a loopback address, though it leads to this machine.
    let url = url.replace("127.0.0.1", "0.0.0.0");
    let told = is_content(&url, &["connection", "failover"]);
    let said = "plain: the connection to 0.0.0.0 is not encrypted, so others on the network could read what is sent: encrypt \
                it (sslmode=verify-full)";
    warns(&told, "connection", said);
}

#[test]
fn postgres() {
    let postgres = PostgresServer::start();
    let mut client = postgres.client("postgres");
    // The server asks for none.
    let url = format!(
        "postgres://postgres:hunter2@127.0.0.1:{}/postgres",
        postgres.port
    );
    let told = is_content(&url, &["failover"]);
    assert!(told.contains("synchronous_commit on\n"), "{told}");
    let shown = format!("postgres://127.0.0.1:{}/postgres\n", postgres.port);
    assert!(told.contains(&shown), "{told}");

    let mut set = |setting: &str, value: &str| {
        let set = format!("ALTER SYSTEM SET {setting} = {value}");
        client.execute(&set, &[]).unwrap();
        client.execute("SELECT pg_reload_conf()", &[]).unwrap();
        // Those who come from now on have it, sooner or later.
        let show = format!("SHOW {setting}");
        let is_set = || {
            let row = postgres.client("postgres").query_one(&show, &[]);
            row.unwrap().get::<_, String>(0) == value
        };
        let started = Instant::now();
        while !is_set() {
            assert!(
                started.elapsed() < Duration::from_secs(60),
                "{setting} is not set"
            );
            thread::sleep(Duration::from_millis(20));
        }
    };
    // It does not matter.
    set("synchronous_commit", "off");
    let told = is_content(&url, &["failover"]);
    assert!(told.contains("on for the store, off for others"), "{told}");
    set("full_page_writes", "off");
    let told = is_content(&url, &["full_page_writes", "failover"]);
    warns(&told, "full_page_writes", "tears a page");
    set("fsync", "off");
    complains(&url, "store", &["fsync=off", "turn them on"]);
}

/// A server that asks for no password is reached with any: what is shown is of the parsed URL
/// alone.
#[test]
fn a_password_that_looks_like_a_path_is_not_shown() {
    let (postgres, cluster) = (PostgresServer::start(), EtcdCluster::start(1));
    let servers = [
        format!("127.0.0.1:{}/postgres", postgres.port),
        cluster.url().replace("etcd://", ""),
    ];
    for (scheme, server) in ["postgres://postgres", "etcd://root"].iter().zip(servers) {
        for (password, is_whole) in [
            ("hun/ter2", false),
            ("hun?ter2", false),
            ("hun%2Fter2", true),
        ] {
            let url = format!("{scheme}:{password}@{server}");
            for line in [
                "lease init --yes --no-wait",
                "doctor",
                "lease status",
                "lease status --json",
                "lease list",
            ] {
                let answer =
                    User::new().run_keyed(&[&user::words(line)[..], &["--store", &url]].concat());
                let shown = format!("{} {}", answer.stdout, answer.stderr);
                assert!(
                    !shown.contains("hun") && !shown.contains("ter2"),
                    "{url}: {shown}"
                );
                // etcd refuses a login where it knows no users.
                if scheme.starts_with("postgres") {
                    assert_eq!(answer.status == Some(0), is_whole, "{url}: {shown}");
                }
            }
        }
    }
}

#[test]
fn mariadb() {
    let mariadb = MariadbServer::start();
    let mut client = mariadb.client(None);
    client.query_drop("CREATE DATABASE ids").unwrap();
    let url = mariadb.url("ids");
    let told = is_content(&url, &["failover"]);
    assert!(
        told.contains("innodb_flush_log_at_trx_commit 1\n"),
        "{told}"
    );

    // It does not matter without a binary log.
    client.query_drop("SET GLOBAL sync_binlog = 0").unwrap();
    let told = is_content(&url, &["failover"]);
    assert!(told.contains(" 0, unused: log_bin is off\n"), "{told}");

    let logging = MariadbServer::start_with(&["--log-bin", "--sync-binlog=1"]);
    let mut client_of_it = logging.client(None);
    client_of_it.query_drop("CREATE DATABASE ids").unwrap();
    let told = is_content(&logging.url("ids"), &["failover"]);
    let line = told.lines().find(|line| line.contains("sync_binlog"));
    assert!(line.is_some_and(|line| line.ends_with(" 1")), "{told}");
    client_of_it
        .query_drop("SET GLOBAL sync_binlog = 0")
        .unwrap();
    let said = ["sync_binlog=0", "set sync_binlog to 1"];
    complains(&logging.url("ids"), "store", &said);

    client
        .query_drop("SET GLOBAL innodb_flush_log_at_trx_commit = 0")
        .unwrap();
    let said = [
        "innodb_flush_log_at_trx_commit=0",
        "set innodb_flush_log_at_trx_commit to 1",
    ];
    complains(&url, "store", &said);
}

#[test]
fn etcd() {
    let cluster = EtcdCluster::start(1);
    let told = is_content(&cluster.url(), &["restore"]);
    warns(&told, "restore", "randflake lease quarantine");
}

#[test]
fn nobody_answers() {
    for url in [
        "redis://:hunter2@127.0.0.1:1",
        "etcd://me:hunter2@127.0.0.1:1",
        "postgres://me:hunter2@127.0.0.1:1/ids",
        "mysql://me:hunter2@127.0.0.1:1/ids",
    ] {
        complains(url, "store", &["refused"]);
    }
}
