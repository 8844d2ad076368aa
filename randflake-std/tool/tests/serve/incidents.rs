//! A running server whose store fails, forgets or comes back empty.

use core::time::Duration;
use std::collections::HashSet;
use std::fs::{Permissions, set_permissions};
use std::io::{BufRead as _, BufReader, Write as _};
use std::net::TcpStream;
use std::os::unix::fs::PermissionsExt;
use std::thread;
use std::time::Instant;

use harness::postgres::PostgresServer;
use harness::redis::RedisServer;
use randflake_std::Randflake;
use randflake_std::lease::{Namespace, RedisStore};

use crate::server::Client;
use crate::server::{Home, LIMIT, Server, wait_until};

const TTL: &str = "4s";

/// A server on a Redis server that is new.
fn start(redis: &RedisServer) -> Server {
    let namespace = Namespace::new("default", Randflake).unwrap();
    let mut store = RedisStore::open(&redis.url(), &namespace).unwrap();
    store.administration().end_quarantine().unwrap();
    let arguments = ["--store", &redis.url(), "--key-file", "key", "--ttl", TTL];
    let http = ["--http", "127.0.0.1:0"];
    Server::start_with(with_key(), &[&arguments[..], &http].concat())
}

/// A home with a secret.
fn with_key() -> Home {
    let home = Home::new();
    home.write("key", "dffd6021bb2bd5b0af676290809ec3a5\n");
    set_permissions(home.path("key"), Permissions::from_mode(0o600)).unwrap();
    home
}

fn ready(server: &Server) -> String {
    let request = "GET /readyz HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\r\n";
    let answer = server.ask_http(request);
    answer.split_once("\r\n\r\n").unwrap().1.to_owned()
}

/// How many lines say that.
fn said(server: &Server, what: &str) -> usize {
    let log = server.home().log();
    log.lines().filter(|line| line.contains(what)).count()
}

#[test]
fn a_store_away_past_the_ttl_is_logged_once() {
    let redis = RedisServer::start();
    let server = start(&redis);
    assert_eq!(ready(&server), "ready\n");
    assert_eq!(said(&server, "from 35s on, leases outlast it"), 1);
    redis.server.suspend();
    server.home().wait_for("ids are issued for another");
    server.home().wait_for("no ids are issued: ");
    wait_until("readiness does not change", || ready(&server) != "ready\n");
    let told = ready(&server);
    assert!(
        told.starts_with("not ready\ndefault: the lease store is unavailable"),
        "{told}"
    );
    // The server stops up to a second before the lease ends in the store, where it could still be
    // renewed.
    thread::sleep(Duration::from_secs(2));
    redis.server.resume();
    server
        .home()
        .wait_for("the store answers, and ids are issued");
    assert_eq!(ready(&server), "ready\n");
    for what in [
        "for another",
        "leases lost: 1 expired",
        "no ids are issued: the lease store is unavailable",
    ] {
        assert_eq!(said(&server, what), 1, "{what}: {}", server.home().log());
    }
}

/// Each `INCR` would wait for as long as the first one: a pipeline of 20 for 100 s.
#[test]
fn a_pipeline_waits_once_for_ids_that_do_not_come() {
    let redis = RedisServer::start();
    let server = start(&redis);
    redis.server.suspend();
    server.home().wait_for("no ids are issued: ");
    let mut stream = TcpStream::connect(("127.0.0.1", server.port())).unwrap();
    stream
        .set_read_timeout(Some(Duration::from_secs(60)))
        .unwrap();
    let pipeline = "INCR default\r\n".repeat(20) + "PING\r\n";
    stream.write_all(pipeline.as_bytes()).unwrap();
    let mut answers = BufReader::new(stream).lines();
    for _ in 0..20 {
        let answer = answers.next().unwrap().unwrap();
        assert!(answer.starts_with("-LOADING "), "{answer}");
    }
    assert_eq!(answers.next().unwrap().unwrap(), "+PONG");
    redis.server.resume();
    server
        .home()
        .wait_for("the store answers, and ids are issued");
}

#[test]
fn a_store_that_forgot_is_logged_once() {
    let redis = RedisServer::start();
    let server = start(&redis);
    assert_eq!(redis.ask("FLUSHALL"), "+OK\r\n");
    server.home().wait_for("were forgotten by the store");
    server.home().wait_for("nothing is granted until");
    let told = ready(&server);
    assert!(told.contains("nothing is granted until"), "{told}");
    assert_eq!(
        said(&server, "were forgotten"),
        1,
        "{}",
        server.home().log()
    );
    assert_eq!(
        said(&server, "no ids are issued: "),
        1,
        "{}",
        server.home().log()
    );
}

/// The log may name the store's host; a client must not learn it.
#[test]
fn a_client_does_not_learn_where_the_store_is() {
    let redis = RedisServer::start();
    let server = start(&redis);
    let mut client = server.connect();
    let url = redis.url();
    let (_, place) = url
        .rsplit_once('@')
        .unwrap_or(("", url.trim_start_matches("redis://")));
    let place = place.trim_end_matches('/').to_owned();
    redis.server.suspend();
    let told = client.ask(&["LEASE.ACQUIRE", "default"]);
    assert!(
        told.starts_with("-LOADING the lease store does not answer"),
        "{told}"
    );
    let told = wait_for_refusal(&mut client);
    assert!(!told.contains(&place), "{told}");
    redis.server.resume();
    assert!(
        server.home().log().contains(&place),
        "{place}: {}",
        server.home().log()
    );
}

/// What a client is told of ids when the lease is over.
fn wait_for_refusal(client: &mut Client) -> String {
    loop {
        let told = client.ask(&["INCR", "default"]);
        if told.starts_with('-') {
            return told;
        }
    }
}

const PAUSE: Duration = Duration::from_millis(1);

/// New ids of a server, until that is so. Refusals are none.
fn issued(client: &mut Client, ids: &mut Vec<String>, mut is_over: impl FnMut(&[String]) -> bool) {
    let begun = Instant::now();
    while !is_over(ids) {
        assert!(
            begun.elapsed() < LIMIT,
            "it does not end: {} ids",
            ids.len()
        );
        let told = client.ask(&["INCR", "default"]);
        if let Some(id) = told.strip_prefix(':') {
            ids.push(id.to_owned());
        }
        thread::sleep(PAUSE);
    }
}

#[test]
fn no_id_repeats_after_the_database_came_back_empty() {
    let postgres = PostgresServer::start();
    let remake = || {
        let mut client = postgres.client("postgres");
        for statement in [
            "DROP DATABASE IF EXISTS ids WITH (FORCE)",
            "CREATE DATABASE ids",
        ] {
            client.batch_execute(statement).unwrap();
        }
    };
    remake();
    let url = postgres.url("ids");
    let home = with_key();
    let init = ["lease", "init", "--yes", "--no-wait", "--store", &url];
    home.ask(&init);
    let arguments = ["--store", &url, "--key-file", "key", "--ttl", "4s"];
    let beside = home.beside();
    let old = Server::start_with(home, &arguments);
    let (mut of_old, mut of_new) = (Vec::new(), Vec::new());
    let mut client = old.connect();
    issued(&mut client, &mut of_old, |ids| ids.len() >= 100);

    remake();
    // It knows of nothing, as every server does that is started from now on.
    let new = Server::begin(beside, &arguments);
    let mut other = new.connect();
    let mut last = (Instant::now(), of_old.len());
    issued(&mut client, &mut of_old, |ids| {
        let told = other.ask(&["INCR", "default"]);
        assert!(told.starts_with('-'), "{told}");
        if ids.len() > last.1 {
            last = (Instant::now(), ids.len());
        }
        last.0.elapsed() > 2 * Duration::from_secs(4)
    });
    old.home().wait_for("were forgotten by the store");
    new.home().wait_for("nothing is granted until");
    let refused = old.home().tool(&init).output().unwrap();
    assert!(!refused.status.success(), "it was declared new");

    // Every lease from before has expired by now, as by itself after 320 s.
    let end = ["lease", "quarantine", "--end", "--store", &url];
    old.home().ask(&end);
    for (client, ids) in [(&mut client, &mut of_old), (&mut other, &mut of_new)] {
        let before = ids.len();
        issued(client, ids, |ids| ids.len() >= before + 100);
    }
    let all: HashSet<_> = of_old.iter().chain(&of_new).collect();
    assert_eq!(all.len(), of_old.len() + of_new.len());
}
