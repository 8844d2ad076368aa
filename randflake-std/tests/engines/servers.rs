//! The servers that other tests run against start, fall, come back and go away as those tests need
//! it.

#![cfg(unix)]

use core::time::Duration;
use std::fs::{self, Permissions};
use std::io::{BufRead, BufReader};
use std::net::TcpListener;
use std::os::unix::fs::PermissionsExt;
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::thread;
use std::time::Instant;

use harness::clock::WallClock;
use harness::etcd::EtcdCluster;
use harness::mariadb::MariadbServer;
use harness::postgres::PostgresServer;
use harness::redis::RedisServer;

#[test]
fn redis_keeps_what_it_has_answered() {
    let mut redis = RedisServer::start();
    assert_eq!(redis.ask("SET key value"), "+OK\r\n");
    redis.server.suspend();
    redis.server.resume();
    redis.server.restart();
    assert_eq!(redis.ask("GET key"), "$5\r\nvalue\r\n");
    assert!(redis.url().ends_with(&redis.port.to_string()));
    assert!(redis.server.folder().join("appendonlydir").is_dir());
}

#[test]
fn redis_follows_another() {
    let first = RedisServer::start();
    let replica = RedisServer::start_with(&["--replicaof", "127.0.0.1", &first.port.to_string()]);
    assert!(replica.ask("INFO replication").contains("role:slave"));
}

#[test]
fn etcd_goes_on_without_a_member() {
    let mut cluster = EtcdCluster::start(3);
    assert_eq!(cluster.url().split(',').count(), 3);
    cluster.members[0].server.kill();
    cluster.members[1].server.wait();
    cluster.members[0].server.restart();
    let status = cluster.members[0].post("maintenance/status", "{}");
    assert!(status.contains("leader"), "{status}");
}

#[test]
fn postgres_keeps_what_it_has_answered() {
    let mut postgres = PostgresServer::start();
    let create = "CREATE TABLE kept AS SELECT 7 AS number";
    postgres.client("postgres").batch_execute(create).unwrap();
    postgres.server.restart();
    let ask = "SELECT number FROM kept";
    let row = postgres.client("postgres").query_one(ask, &[]).unwrap();
    assert_eq!(row.get::<_, i32>(0), 7);
    assert!(postgres.url("ids").ends_with("/ids"));
}

#[test]
fn postgres_follows_another_until_it_is_promoted() {
    let mut first = PostgresServer::start_with(&["synchronous_commit=off"]);
    let second = PostgresServer::standby_of(first.port);
    let mut client = second.client("postgres");
    let create = "CREATE TABLE kept AS SELECT 7 AS number";
    client.batch_execute(create).unwrap_err();
    first.server.kill();
    second.promote();
    client.batch_execute(create).unwrap();
}

#[test]
fn postgres_goes_by_the_clock_it_is_given() {
    let folder = tempfile::tempdir().unwrap();
    fs::set_permissions(folder.path(), Permissions::from_mode(0o755)).unwrap();
    let clock = Arc::new(WallClock::new(folder.path()));
    let postgres = PostgresServer::start_by(Arc::clone(&clock));
    let mut client = postgres.client("postgres");
    let mut unix = || {
        let ask = "SELECT extract(epoch FROM clock_timestamp())::bigint";
        client.query_one(ask, &[]).unwrap().get::<_, i64>(0)
    };
    let before = unix();
    clock.step_ms(3_600_000);
    assert!((3_600..3_660).contains(&(unix() - before)));
}

#[test]
fn mariadb_keeps_what_it_has_answered() {
    let mut mariadb = MariadbServer::start();
    let mut client = mariadb.client(None);
    client.query_drop("CREATE DATABASE ids").unwrap();
    let mut client = mariadb.client(Some("ids"));
    client
        .query_drop("CREATE TABLE kept AS SELECT 7 AS number")
        .unwrap();
    mariadb.server.restart();
    let mut client = mariadb.client(Some("ids"));
    let number: Option<u8> = client.query_first("SELECT number FROM kept").unwrap();
    assert_eq!(number, Some(7));
    assert!(mariadb.url("ids").ends_with("/ids"));
}

#[test]
fn mariadb_goes_by_the_clock_it_is_given() {
    let folder = tempfile::tempdir().unwrap();
    fs::set_permissions(folder.path(), Permissions::from_mode(0o755)).unwrap();
    let clock = Arc::new(WallClock::new(folder.path()));
    let mariadb = MariadbServer::start_by(Arc::clone(&clock));
    let mut client = mariadb.client(None);
    let mut unix = || {
        let ask = "SELECT UNIX_TIMESTAMP(SYSDATE())";
        client.query_first::<i64>(ask).unwrap().unwrap()
    };
    let before = unix();
    clock.step_ms(3_600_000);
    assert!((3_600..3_660).contains(&(unix() - before)));
}

#[test]
fn a_wall_clock_steps() {
    let folder = tempfile::tempdir().unwrap();
    let clock = WallClock::new(folder.path());
    let unix = || {
        let mut date = Command::new("date");
        clock.give_to(&mut date);
        let output = date.arg("+%s").output().unwrap();
        let seconds: u64 = String::from_utf8_lossy(&output.stdout)
            .trim()
            .parse()
            .unwrap();
        seconds
    };
    let before = unix();
    clock.step_ms(3_600_000);
    assert!((3_600..3_660).contains(&(unix() - before)));
    clock.step_ms(-7_200_000);
    assert!((3_500..=3_600).contains(&(before - unix())));
}

const PORT_ONLY: &str = "SERVERS_TEST_PORT_ONLY";

/// Starts itself again as a test that is killed while its server runs.
#[test]
fn no_server_outlives_a_killed_test() {
    if std::env::var_os(PORT_ONLY).is_some() {
        let redis = RedisServer::start();
        eprintln!("port {}", redis.port);
        // Until killed.
        thread::sleep(Duration::from_secs(600));
    }
    let folder = tempfile::tempdir().unwrap();
    let mut test = Command::new(std::env::current_exe().unwrap())
        .args([
            "--exact",
            "servers::no_server_outlives_a_killed_test",
            "--nocapture",
        ])
        .env(PORT_ONLY, "")
        .env("TMPDIR", folder.path())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let lines = BufReader::new(test.stderr.take().unwrap()).lines();
    let port: u16 = lines
        .map_while(Result::ok)
        .find_map(|line| line.strip_prefix("port ")?.parse().ok())
        .unwrap();
    TcpListener::bind(("127.0.0.1", port)).unwrap_err();
    test.kill().unwrap();
    test.wait().unwrap();
    let killed = Instant::now();
    while TcpListener::bind(("127.0.0.1", port)).is_err() {
        assert!(
            killed.elapsed() < Duration::from_secs(60),
            "it still listens"
        );
        thread::sleep(Duration::from_millis(20));
    }
}
