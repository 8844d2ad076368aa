//! Many clients that do nothing, or nearly.

use crate::client::Client;
use crate::server::{Home, Server, wait_until};

#[test]
fn a_thousand_idle_clients_and_slow_ones_leave_room_for_others() {
    let server = Server::start();
    let mut idle: Vec<Client> = (0..1_000).map(|_| server.connect()).collect();
    for slow in &mut idle[..100] {
        slow.send(b"*2\r\n$4\r\nINC");
    }
    let mut client = server.connect();
    for _ in 0..1_000 {
        assert!(client.ask(&["INCR", "default"]).starts_with(':'));
    }
    assert!(client.ask(&["INFO"]).contains("connected_clients:1001"));
    // 16 kB each would be 16 MB.
    let memory = server.memory_kb();
    assert!(memory < 100_000, "{memory} kB");
    for slow in &mut idle[..100] {
        slow.send(b"R\r\n$7\r\ndefault\r\n");
        assert!(slow.reply().starts_with(':'));
    }
}

#[test]
fn a_connection_too_many_is_told_so() {
    for (limit, refusal) in [
        ("--max-connections", "reached"),
        ("--max-connections-per-address", "of one address reached"),
    ] {
        let server = Server::start_with(Home::new(), &[limit, "2"]);
        let (mut first, mut second) = (server.connect(), server.connect());
        assert_eq!(first.ask(&["PING"]), "+PONG");
        assert_eq!(second.ask(&["PING"]), "+PONG");
        let refused = server.connect().rest();
        let told = format!("-ERR max number of clients {refusal}\\r\\n");
        assert_eq!(refused, told);
        drop(second);
        wait_until("its place is not free", || {
            let mut next = server.connect();
            next.send(b"QUIT\r\n");
            next.rest_or_reset().is_ok_and(|told| told == "+OK\\r\\n")
        });
    }
}

#[test]
fn who_asks_nothing_is_sent_away() {
    let server = Server::start_with(Home::new(), &["--idle", "50ms"]);
    let mut client = server.connect();
    assert_eq!(client.rest(), "");
}

/// What a client sends and does not read must not fill the server's memory.
#[test]
fn who_does_not_read_is_not_answered_without_end() {
    let server = Server::start();
    let before = server.memory_kb();
    let mut deaf = server.connect();
    // Answers of 200 MB.
    for _ in 0..100 {
        deaf.send(&Client::command(&["ID.NEXT", "default", "COUNT", "100000"]));
    }
    let mut other = server.connect();
    wait_until("others wait", || other.ask(&["PING"]) == "+PONG");
    let more = server.memory_kb().saturating_sub(before);
    assert!(more < 60_000, "{more} kB");
}
