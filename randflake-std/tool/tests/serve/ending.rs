//! The end: what was received is answered, and the leases are released.

use std::collections::BTreeSet;

use rusqlite::Connection;

use crate::client::Client;
use crate::server::{Home, LIMIT, Server};

const CLIENTS: usize = 8;
const COMMANDS: usize = 2_000;

#[test]
fn requests_that_were_received_are_answered() {
    let mut server = Server::start();
    let mut clients: Vec<Client> = (0..CLIENTS).map(|_| server.connect()).collect();
    for client in &mut clients {
        assert_eq!(client.ask(&["PING"]), "+PONG");
    }
    // It finds the signal and the requests at the same time.
    server.signal(libc::SIGSTOP);
    let commands = Client::command(&["INCR", "default"]).repeat(COMMANDS);
    for client in &mut clients {
        client.send(&commands);
    }
    server.signal(libc::SIGTERM);
    server.signal(libc::SIGCONT);
    let mut ids = BTreeSet::new();
    for client in &mut clients {
        for _ in 0..COMMANDS {
            let id = client.reply();
            assert!(id.starts_with(':'), "{id}");
            ids.insert(id);
        }
        assert_eq!(client.rest(), "");
    }
    assert_eq!(ids.len(), CLIENTS * COMMANDS);
    drop(clients);
    assert!(server.ended().success());
    // Released from the first tick on in which nothing was issued.
    let lease = server.home().ask(&["lease", "list", "--json", "--all"]);
    let lease: serde_json::Value = serde_json::from_str(&lease).unwrap();
    assert!(lease["remaining_ms"].as_u64().unwrap() <= 1_000, "{lease}");
}

#[test]
fn idle_clients_do_not_delay_the_end() {
    let mut server = Server::start();
    let mut idle = server.connect();
    assert_eq!(idle.ask(&["PING"]), "+PONG");
    server.signal(libc::SIGINT);
    assert_eq!(idle.rest(), "");
    drop(idle);
    assert!(server.ended().success());
    let log = server.home().log();
    assert!(!log.contains("requests were left"), "{log}");
}

/// The second signal comes while a store that does not answer is asked to release the leases.
#[test]
fn a_second_signal_does_not_wait_for_the_store() {
    const TRIES: usize = 5;
    for _ in 0..TRIES {
        let mut server = Server::start();
        let store = server.home().path("state/randflake/leases.db");
        let busy = Connection::open(store).unwrap();
        busy.busy_timeout(LIMIT).unwrap();
        busy.execute_batch("BEGIN EXCLUSIVE").unwrap();
        server.signal(libc::SIGTERM);
        server.home().wait_for("releasing the leases");
        server.signal(libc::SIGTERM);
        assert!(server.ended().success());
        let log = server.home().log();
        if log.contains("asked again to stop") {
            return;
        }
        // The server gave up before the signal came: this machine is slow.
        assert!(log.contains("were not released"), "{log}");
    }
    panic!("the second signal was not seen in {TRIES} tries");
}

#[test]
fn a_store_that_does_not_answer_does_not_keep_the_server_longer_than_its_grace() {
    let mut server = Server::start_with(Home::new(), &["--grace=1s"]);
    let store = server.home().path("state/randflake/leases.db");
    let busy = Connection::open(store).unwrap();
    busy.busy_timeout(LIMIT).unwrap();
    busy.execute_batch("BEGIN EXCLUSIVE").unwrap();
    server.signal(libc::SIGTERM);
    assert!(server.ended().success());
    // A release waits for SQLite for 10 s, so nothing but the grace has ended it.
    let log = server.home().log();
    assert!(log.contains("the store does not answer"), "{log}");
    assert!(!log.contains("were not released"), "{log}");
}
