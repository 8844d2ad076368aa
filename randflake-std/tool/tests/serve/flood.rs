//! Clients that make the server hold memory. However many there are, it holds no more than its
//! budget, and a health check and a client with another token are served.

use std::io::{ErrorKind, Write};
use std::net::TcpStream;

use harness::certificates::Authority;
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

use crate::server::Client;
use crate::server::{Home, Server, wait_until};
use crate::tls::{Encrypted, install};

/// What `--memory` allows of itself, with half as much for what the C library keeps of freed
/// memory.
const BUDGET_KB: u64 = (128 << 10) * 3 / 2;
/// The same of its parts: of clients without a token, and of one token.
const GUESTS_KB: u64 = BUDGET_KB / 8;
const TOKEN_KB: u64 = BUDGET_KB / 4;

fn allow_many_files() {
    let limit = getrlimit(Resource::Nofile);
    let most = Rlimit {
        current: limit.maximum,
        ..limit
    };
    setrlimit(Resource::Nofile, most).unwrap();
}

fn probe(server: &Server) {
    for path in ["/healthz", "/readyz"] {
        let request =
            format!("GET {path} HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\r\n");
        let answer = server.ask_http(&request);
        assert!(answer.starts_with("HTTP/1.1 200 "), "{path}: {answer}");
    }
}

fn metrics(server: &Server, admin: &str) -> String {
    server.ask_http(&format!(
        "GET /metrics HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\nauthorization: Bearer {admin}\r\n\r\n"
    ))
}

/// Sends what the server takes; it may take it all, or close.
fn push(stream: &mut TcpStream, bytes: &mut &[u8]) -> bool {
    stream.set_nonblocking(true).unwrap();
    match stream.write(bytes) {
        Ok(sent) => *bytes = &bytes[sent..],
        Err(error) if error.kind() == ErrorKind::WouldBlock => return false,
        Err(_) => *bytes = &[],
    }
    true
}

/// A server with two tokens: one that is misused, and another.
fn served(home: Home, arguments: &[&str]) -> (Server, String, String) {
    let quotas = ["--ids-per-second", "1", "--requests-per-second", "1"];
    let limited = home.token("limited", "ids", "*", &quotas);
    let other = home.token("other", "ids", "*", &[]);
    let fixed = ["--tokens", "tokens", "--http", "127.0.0.1:0"];
    let server = Server::start_with(home, &[&fixed, arguments].concat());
    (server, limited, other)
}

#[test]
fn unfinished_handshakes_hold_a_part_and_delay_nobody() {
    const CONNECTIONS: usize = 5_000;
    allow_many_files();
    let authority = Authority::new();
    let home = Home::new();
    install(&home, &authority.server());
    let (server, _, other) = served(
        home,
        &["--tls-cert", "server.pem", "--tls-key", "server.key"],
    );
    let before = server.memory_kb();
    // A record of a handshake message of 64 kB, of which 16 kB come.
    let mut hello = b"\x16\x03\x01\x3f\xff\x01\x00\xff\x00".to_vec();
    hello.resize(5 + 0x3fff, 0);
    let mut flood = Vec::new();
    for number in 0..CONNECTIONS {
        let address = if number % 2 == 0 {
            server.http()
        } else {
            format!("127.0.0.1:{}", server.port())
        };
        let mut stream = TcpStream::connect(address).unwrap();
        push(&mut stream, &mut &hello[..]);
        flood.push(stream);
        if number % 500 == 499 {
            let request = b"GET /healthz HTTP/1.1\r\nhost: localhost\r\n\r\n";
            let answer = Encrypted::connect(&server.http(), &authority, None).ask(request);
            assert!(
                answer.starts_with("HTTP/1.1 200 "),
                "after {number}: {answer}"
            );
            let address = format!("127.0.0.1:{}", server.port());
            let mut client = Encrypted::connect(&address, &authority, None);
            assert_eq!(
                client.ask(format!("AUTH {other}\r\n").as_bytes()),
                "+OK\\r\\n"
            );
            assert!(client.ask(b"INCR default\r\n").starts_with(':'));
        }
    }
    let more = server.peak_kb() - before;
    assert!(more < GUESTS_KB, "{more} kB");
}

#[test]
fn unfinished_commands_hold_only_their_tokens_memory() {
    const CONNECTIONS: usize = 331;
    allow_many_files();
    let (server, limited, other) = served(Home::new(), &[]);
    let before = server.memory_kb();
    let mut command = b"*2\r\n$4\r\nECHO\r\n$1000000\r\n".to_vec();
    command.resize(1_000_000, b'x');
    let open = || {
        let mut client = server.connect();
        let told = client.ask(&["AUTH", &limited]);
        assert_eq!(told, "+OK");
        client.into_stream()
    };
    let mut flood: Vec<_> = (0..CONNECTIONS).map(|_| (open(), &command[..])).collect();
    // Until the server takes no more of any.
    while flood
        .iter_mut()
        .any(|(stream, rest)| !rest.is_empty() && push(stream, rest))
    {
        for (stream, rest) in &mut flood {
            push(stream, rest);
        }
    }
    probe(&server);
    let mut client = server.connect_as(&other);
    for _ in 0..100 {
        assert!(client.ask(&["INCR", "default"]).starts_with(':'));
    }
    // Also what takes more than a connection has of its own.
    let long = "y".repeat(500_000);
    assert_eq!(client.ask(&["ECHO", &long]), long);
    let more = server.peak_kb() - before;
    assert!(more < TOKEN_KB, "{more} kB");
}

#[test]
fn unread_answers_hold_only_their_tokens_memory() {
    const CONNECTIONS: usize = 60;
    let home = Home::new();
    let deaf = home.token("deaf", "ids", "*", &[]);
    let other = home.token("other", "ids", "*", &[]);
    let arguments = "--tokens tokens --http 127.0.0.1:0 --node-ids 64";
    let arguments: Vec<_> = arguments.split(' ').collect();
    let server = Server::start_with(home, &arguments);
    let before = server.memory_kb();
    let flood: Vec<_> = (0..CONNECTIONS)
        .map(|_| {
            let mut stream = TcpStream::connect(server.http()).unwrap();
            let request = format!(
                "GET /v1/ids?count=100000 HTTP/1.1\r\nhost: localhost\r\nauthorization: Bearer {deaf}\r\n\r\n"
            );
            stream.write_all(request.as_bytes()).unwrap();
            let mut client = server.connect_as(&deaf);
            client.send(&Client::command(&["ID.NEXT", "default", "COUNT", "100000"]));
            (stream, client)
        })
        .collect();
    probe(&server);
    let mut client = server.connect_as(&other);
    // As soon as there are ids again.
    wait_until("another token gets no ids", || {
        client.ask(&["ID.NEXT", "default", "COUNT", "10000"]).len() > 10_000
    });
    drop(flood);
    let more = server.peak_kb() - before;
    assert!(more < TOKEN_KB, "{more} kB");
}

#[test]
fn connections_of_a_token_end_with_its_memory() {
    allow_many_files();
    let home = Home::new();
    let admin = home.token("admin", "admin", "*", &[]);
    let (server, limited, other) = served(home, &["--memory", "16MiB"]);
    let refusals = "randflake_serve_memory_refusals_total{of=\"request\"}";
    assert!(metrics(&server, &admin).contains(&format!("{refusals} 0\n")));
    let mut open = Vec::new();
    let refused = loop {
        let mut client = server.connect();
        let told = client.ask(&["AUTH", &limited]);
        open.push(client);
        if told != "+OK" {
            break told;
        }
        assert!(open.len() < 10_000, "there is no end");
    };
    let told = "-TRYAGAIN the connections of token \"limited\" may hold 4096 KiB of the server's memory, and hold it";
    assert!(refused.starts_with(told), "{refused}");
    assert!(open.len() > 100, "{} connections", open.len());
    probe(&server);
    let mut client = server.connect_as(&other);
    assert!(client.ask(&["INCR", "default"]).starts_with(':'));
    server
        .home()
        .wait_for("1 requests were refused, and 0 connections without a token closed");
    let exported = metrics(&server, &admin);
    assert!(exported.contains(&format!("{refusals} 1\n")), "{exported}");
    let limit = "randflake_serve_memory_limit_bytes{part=\"tokens\"} 14680064\n";
    assert!(exported.contains(limit), "{exported}");
    // Whose connections end gets others.
    open.clear();
    wait_until("the memory is not free", || {
        server.connect().ask(&["AUTH", &limited]) == "+OK"
    });
}

/// Connections that say nothing have no place that a client with a token needs.
#[test]
fn connections_without_a_token_take_no_places() {
    let (server, _, other) = served(Home::new(), &["--max-connections", "2"]);
    let _silent: Vec<_> = (0..100).map(|_| server.connect()).collect();
    let mut first = server.connect_as(&other);
    let _second = server.connect_as(&other);
    let told = server.connect().ask(&["AUTH", &other]);
    assert_eq!(told, "-TRYAGAIN max number of clients reached");
    assert_eq!(first.ask(&["PING"]), "+PONG");
    probe(&server);
}
