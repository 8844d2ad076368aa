//! The end: what was received is answered, and the leases are released.

use std::collections::BTreeSet;

use crate::client::Client;
use crate::server::Server;

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
