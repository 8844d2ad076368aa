//! Connections to the port of Redis: cut commands, crowds, long pipelines, and answers that are
//! lost.

use core::time::Duration;
use std::collections::BTreeSet;
use std::io::{Read as _, Write as _};
use std::net::TcpStream;
use std::thread;
use std::time::Instant;

use serde_json::Value;

use crate::server::{Client, Home, Server, wait_until};

/// Bytes of a generator with a fixed start: whatever they are, the server answers others.
#[test]
fn random_bytes_harm_nobody_else() {
    let server = Server::start();
    let mut random = fastrand::Rng::with_seed(1);
    let alphabet = b"*$\r\n0123456789-:+_INCRPINGdefault \x00\xff";
    for _ in 0..200 {
        let mut client = server.connect();
        let length = random.usize(1..300);
        let sent: Vec<u8> = (0..length)
            .map(|_| alphabet[random.usize(..alphabet.len())])
            .collect();
        client.send(&sent);
        client.finish();
        client.rest();
    }
    assert_eq!(server.connect().ask(&["PING"]), "+PONG");
}

#[test]
fn cut_commands_are_answered_in_order() {
    let server = Server::start();
    let mut client = server.connect();
    let commands: Vec<u8> = (0..300)
        .flat_map(|number| {
            let name = number.to_string();
            let echo = Client::command(&["ECHO", &name]);
            [echo, Client::command(&["INCR", "default"])].concat()
        })
        .collect();
    let mut random = fastrand::Rng::with_seed(2);
    let mut rest = &commands[..];
    while !rest.is_empty() {
        let (piece, next) = rest.split_at(random.usize(1..=rest.len().min(64)));
        client.send(piece);
        rest = next;
    }
    let mut ids = BTreeSet::new();
    for number in 0..300 {
        assert_eq!(client.reply(), number.to_string());
        let id = client.reply();
        assert!(id.starts_with(':'), "{id}");
        assert!(ids.insert(id));
    }
}

#[test]
fn too_long_transactions_are_refused() {
    let server = Server::start();
    let mut client = server.connect();
    let count = 20_000;
    client.send(&Client::command(&["MULTI"]));
    client.send(&Client::command(&["INCR", "default"]).repeat(count));
    client.send(&Client::command(&["EXEC"]));
    assert_eq!(client.reply(), "+OK");
    for _ in 0..count {
        assert_eq!(client.reply(), "+QUEUED");
    }
    let ids = client.reply();
    let ids: BTreeSet<_> = ids.split(' ').collect();
    assert_eq!(ids.len(), count);
    let before = server.memory_kb();
    assert_eq!(client.ask(&["MULTI"]), "+OK");
    let long = "x".repeat(1_000_000);
    for _ in 0..4 {
        assert_eq!(client.ask(&["ECHO", &long]), "+QUEUED");
    }
    let told = client.ask(&["ECHO", &long]);
    assert_eq!(
        told,
        "-ERR the transaction is too long: 4194304 bytes of commands are allowed, send EXEC before"
    );
    for _ in 0..100 {
        assert_eq!(client.ask(&["ECHO", &long]), "+QUEUED");
    }
    assert!(client.ask(&["EXEC"]).starts_with("-EXECABORT"));
    let more = server.memory_kb().saturating_sub(before);
    assert!(more < 30_000, "{more} kB");
}

/// A transaction that is refused memory keeps none: otherwise each connection would keep what it
/// has, and others would get the memory that was given back.
#[test]
fn a_transaction_that_is_refused_keeps_nothing() {
    let home = Home::new();
    let token = home.token("shop", "ids", "default", &[]);
    // Of the smallest budget one token's long requests have 2 MiB.
    let arguments = ["--tokens", "tokens", "--memory", "16MiB"];
    let server = Server::start_with(home, &arguments);
    // Short enough to be read without memory of its own.
    let text = "x".repeat(3_900);
    let echo = ["ECHO", &*text];
    let mut first = server.connect_as(&token);
    assert_eq!(first.ask(&["MULTI"]), "+OK");
    let mut kept = 0;
    let refused = loop {
        let told = first.ask(&echo);
        if told != "+QUEUED" {
            break told;
        }
        kept += 1;
    };
    assert!(
        refused.starts_with("-TRYAGAIN the connections of token \"shop\""),
        "{refused}"
    );
    assert!(kept > 200, "{kept}");
    // Nothing more is kept, so nothing is waited for: each wait for memory would take five seconds.
    let begun = Instant::now();
    for _ in 0..kept {
        assert_eq!(first.ask(&echo), "+QUEUED");
    }
    assert!(begun.elapsed() < Duration::from_secs(kept));
    let mut second = server.connect_as(&token);
    assert_eq!(second.ask(&["MULTI"]), "+OK");
    for _ in 0..kept {
        assert_eq!(second.ask(&echo), "+QUEUED");
    }
    assert!(first.ask(&["EXEC"]).starts_with("-EXECABORT "));
    assert!(!second.ask(&["EXEC"]).starts_with('-'));
}

#[test]
fn idle_and_slow_clients_leave_room_for_others() {
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

fn json(reply: &str) -> Value {
    serde_json::from_str(reply).unwrap_or_else(|_| panic!("{reply}"))
}

/// An answer that is JSON, as it was sent.
fn ask(client: &mut Client, words: &[&str]) -> String {
    client.ask(words).replace("\\\"", "\"")
}

fn acquire(client: &mut Client) -> String {
    let words = ["LEASE.ACQUIRE", "default", "NODES", "77", "EX", "30"];
    ask(client, &words)
}

/// A server, and another one of the same store.
fn servers() -> [Server; 2] {
    let first = Server::start();
    let second = Server::start_with(first.home().beside(), &[]);
    [first, second]
}

#[test]
fn an_answer_that_was_lost_is_given_again() {
    let servers = servers();
    let mut clients = [0, 1].map(|server: usize| servers[server].connect());
    let granted = acquire(&mut clients[0]);
    let mut listed = |of: &str| {
        let listed = clients[0].ask(&["LEASE.LIST", "default", "FROM", "77", "COUNT", "1"]);
        listed.contains(of)
    };
    let first_end = json(&granted)["leases"][0]["end_unix_ms"].to_string();
    let asked = ["LEASE.RENEW", &granted, "REQUEST", "renewal-1", "EX", "60"];
    // Its answer stays unread.
    let mut gone = servers[0].connect();
    gone.send(&Client::command(&asked));
    wait_until("it was not renewed", || !listed(&first_end));
    let answers = [1, 0, 1].map(|server: usize| {
        let mut answer = json(&ask(&mut clients[server], &asked));
        // When it was answered.
        answer["now_unix_ms"] = 0.into();
        answer
    });
    assert!(
        answers.iter().all(|answer| *answer == answers[0]),
        "{answers:?}"
    );
    let renewed = answers[0].to_string();
    let start = answers[0]["leases"][0]["start_unix_ms"].to_string();
    let release = [
        "LEASE.RELEASE",
        &renewed,
        "REQUEST",
        "release-1",
        "UNUSED-FROM",
        &start,
    ];
    for server in [0, 1] {
        assert_eq!(clients[server].ask(&release), "+OK");
    }
}

/// A pipeline, or a transaction, may take minutes: for ids of the seconds to come, or for a store
/// that is busy.
#[test]
fn a_revoked_token_ends_within_a_pipeline() {
    /// Of 131,072 that a node id has in a second.
    const NEXT: [&str; 6] = ["ID.NEXT", "default", "COUNT", "100000", "FORMAT", "raw"];
    const MANY: usize = 60;
    for is_transaction in [false, true] {
        let home = Home::new();
        let token = home.token("shop", "ids", "default", &[]);
        home.token("root", "admin", "*", &[]);
        let server = Server::start_with(home, &["--tokens", "tokens", "--node-ids", "1"]);
        let mut client = server.connect_as(&token);
        // The first lease may take longer than a command waits, on a busy machine.
        wait_until("the server has no ids", || {
            client.ask(&["INCR", "default"]).starts_with(':')
        });
        let mut pipeline = Client::command(&NEXT).repeat(MANY);
        if is_transaction {
            pipeline = [
                Client::command(&["MULTI"]),
                pipeline,
                Client::command(&["EXEC"]),
            ]
            .concat();
        }
        client.send(&pipeline);
        let queued = if is_transaction { MANY + 1 } else { 0 };
        for _ in 0..queued {
            assert!(client.reply().starts_with('+'));
        }
        if is_transaction {
            assert_eq!(client.head(), format!("*{MANY}"));
        }
        let first = client.reply();
        // By its length: random bytes may begin as an error does.
        assert!(first.len() >= 800_000, "{first}");
        let revoke = ["token", "revoke", "shop", "--file", "tokens"];
        server.home().ask(&revoke);
        server.signal(libc::SIGHUP);
        let replies: Vec<_> = (1..MANY).map(|_| client.reply()).collect();
        let refused = replies.iter().filter(|reply| reply.starts_with("-NOAUTH "));
        assert!(refused.count() > MANY / 2, "{is_transaction}");
    }
}

/// An idle connection, and one that asks for what needs no token, would keep places and memory from
/// others.
#[test]
fn connections_of_a_revoked_token_end_by_themselves() {
    let home = Home::new();
    let token = home.token("shop", "ids", "default", &[]);
    let other = home.token("other", "ids", "default", &[]);
    let arguments = ["--tokens", "tokens", "--http", "127.0.0.1:0"];
    let server = Server::start_with(home, &arguments);
    let mut idle = server.connect_as(&token);
    let mut rotated = server.connect_as(&token);
    let mut beside = server.connect_as(&other);
    let mut http = TcpStream::connect(server.http()).unwrap();
    let request = |path: &str, token: &str| {
        format!("GET {path} HTTP/1.1\r\nhost: localhost\r\nauthorization: Bearer {token}\r\n\r\n")
    };
    http.write_all(request("/v1/ids", &token).as_bytes())
        .unwrap();
    let new = server
        .home()
        .ask(&["token", "rotate", "shop", "--keep", "0", "--file", "tokens"]);
    server.signal(libc::SIGHUP);
    wait_until("the new token is not known", || {
        rotated.ask(&["AUTH", new.trim()]) == "+OK"
    });
    // Where nobody looks at the token: it is closed all the same.
    let probing = thread::spawn(move || {
        let probe = b"GET /healthz HTTP/1.1\r\nhost: localhost\r\n\r\n";
        let mut answers = [0; 4_096];
        while http.write_all(probe).is_ok() && http.read(&mut answers).is_ok_and(|read| read > 0) {
            thread::sleep(Duration::from_millis(500));
        }
    });
    assert_eq!(idle.rest(), "");
    probing.join().unwrap();
    assert!(rotated.ask(&["INCR", "default"]).starts_with(':'));
    assert!(beside.ask(&["INCR", "default"]).starts_with(':'));
}
