//! Connections: how long they stay open, slow clients, and answers before a body or after the last
//! byte.

use core::time::Duration;
use std::io::{Read as _, Write as _};
use std::net::{Shutdown, TcpStream};
use std::thread::sleep;
use std::time::Instant;

use crate::server::Server;
use crate::server::{Answer, FOREVER, wait_until};

const ACQUIRE: &str = "POST /v1/leases HTTP/1.1\r\nhost: localhost\r\n\
                       content-type: application/json\r\ncontent-length: 2\r\n\r\n{}";
const ONE_ID: &str = "GET /v1/ids HTTP/1.1\r\nhost: localhost\r\n\r\n";

/// Asks for an id on a connection that stays open, and reads the answer.
fn ask_again(stream: &mut TcpStream) -> Option<Answer> {
    stream.write_all(ONE_ID.as_bytes()).ok()?;
    let mut read = Vec::new();
    // Its last byte.
    while !read.ends_with(b"}\n") {
        let mut byte = [0];
        stream.read_exact(&mut byte).ok()?;
        read.extend(byte);
    }
    Answer::read(&read)
}

fn rest(mut stream: &TcpStream) -> Vec<u8> {
    let mut rest = Vec::new();
    _ = stream.read_to_end(&mut rest);
    rest
}

#[test]
fn a_client_that_sends_no_more_gets_its_answer() {
    let server = Server::start();
    let with_another_host = "POST /v1/leases HTTP/1.1\r\nHost: x\r\nContent-Length: 2\r\n\r\n{}";
    for (request, status) in [
        (ACQUIRE, 201),
        (ONE_ID, 200),
        (with_another_host, 403),
        (&ACQUIRE.replace("length: 2", "length: 3"), 400),
    ] {
        for _ in 0..3 {
            let mut stream = server.connect();
            stream.write_all(request.as_bytes()).unwrap();
            stream.shutdown(Shutdown::Write).unwrap();
            let answer = rest(&stream);
            let answer = Answer::read(&answer);
            assert_eq!(
                answer.map(|answer| answer.status),
                Some(status),
                "{request}"
            );
        }
    }
}

#[test]
fn an_idle_connection_closes_after_its_timeout() {
    let server = Server::start_with(&["--idle", "2s"]);
    let mut kept = server.connect();
    for _ in 0..4 {
        let answer = ask_again(&mut kept).unwrap();
        assert_eq!(answer.header("keep-alive"), Some("timeout=2"));
        // Together longer than that: each request begins the time anew.
        sleep(Duration::from_millis(800));
    }
    let begun = Instant::now();
    assert_eq!(rest(&kept), b"");
    assert!(begun.elapsed() < FOREVER, "it is still open");
    // Who closes after the answer, or does not know the header, is told nothing.
    assert_eq!(server.get("/v1/ids").header("keep-alive"), None);
}

/// `option httpchk` of `HAProxy`, and other checks that are no browser's.
#[test]
fn health_checks_of_http_1_0_are_answered() {
    let server = Server::start();
    for path in ["/healthz", "/readyz"] {
        let request = format!("GET {path} HTTP/1.0\r\n\r\n");
        let answer = String::from_utf8(server.send(request.as_bytes())).unwrap();
        assert!(answer.starts_with("HTTP/1.0 200 OK\r\n"), "{answer}");
        assert!(!answer.contains("keep-alive"), "{answer}");
    }
    // What HAProxy sends unless it is told otherwise.
    assert_eq!(server.request("OPTIONS", "/", &[], "").status, 405);
}

#[test]
fn who_has_no_right_is_told_before_the_body() {
    let (server, tokens) = Server::with_tokens(&[["shop", "ids", "*"], ["leases", "leases", "*"]]);
    let post = |token: &str, path: &str, more: &str| {
        let head = format!(
            "POST {path} HTTP/1.1\r\nhost: localhost\r\nauthorization: Bearer {token}\r\n\
             content-type: application/json\r\ncontent-length: 1000000\r\n{more}\r\n"
        );
        let mut stream = server.connect();
        stream.write_all(head.as_bytes()).unwrap();
        stream
    };
    for path in [
        "/v1/leases?namespace=default",
        "/v1/leases/renew?request=r",
        "/v1/leases/release?request=r",
        "/v1/tickets?namespace=default",
        "/v1/devices?namespace=default",
        "/v1/inspect?namespace=default",
    ] {
        let stream = post(&tokens[0], path, "expect: 100-continue\r\n");
        let answer = rest(&stream);
        let answer = Answer::read(&answer).unwrap();
        let detail = answer.problem(403, "forbidden");
        assert!(
            detail.contains("the token \"shop\" has no right to"),
            "{path}: {detail}"
        );
        // Nor does who sends it all the same, in pieces, find the connection broken.
        let mut stream = post(&tokens[0], path, "");
        for _ in 0..10 {
            stream.write_all(&vec![b' '; 100_000]).unwrap();
            sleep(Duration::from_millis(2));
        }
        let answer = rest(&stream);
        let answer = Answer::read(&answer).map(|answer| answer.status);
        assert_eq!(answer, Some(403), "{path}");
    }
    let mut stream = post(
        &tokens[1],
        "/v1/leases?namespace=default",
        "expect: 100-continue\r\n",
    );
    let mut line = [0; 25];
    stream.read_exact(&mut line).unwrap();
    assert_eq!(&line, b"HTTP/1.1 100 Continue\r\n\r\n");
}

#[test]
fn unfinished_heads_are_cut_off_and_delay_nobody() {
    let server = Server::start();
    let [mut kept, mut half] = [(); 2].map(|()| server.connect());
    for stream in [&mut kept, &mut half] {
        let answer = ask_again(stream).unwrap();
        assert_eq!(answer.header("keep-alive"), Some("timeout=3600"));
    }
    half.write_all(b"GET /healthz HTTP/1.1\r\n").unwrap();
    let mut slow: Vec<_> = (0..200).map(|_| server.connect()).collect();
    for stream in &mut slow {
        stream
            .write_all(b"GET /healthz HTTP/1.1\r\nhost: localhost\r\nx-slow: ")
            .unwrap();
    }
    // Connections that are open and say nothing.
    let _idle: Vec<_> = (0..200).map(|_| server.connect()).collect();
    for _ in 0..20 {
        assert_eq!(server.get("/v1/ids?count=10").status, 200);
    }
    for stream in &mut slow {
        let mut rest = Vec::new();
        // Closed by the server, with an answer or without.
        _ = stream.read_to_end(&mut rest);
        let answer = Answer::read(&rest);
        assert!(answer.is_none_or(|answer| answer.status == 408));
    }
    assert_eq!(server.get("/healthz").status, 200);
    // Half a head ends a connection that had answers, too; one that is idle goes on.
    _ = half.read_to_end(&mut Vec::new());
    assert_eq!(ask_again(&mut kept).map(|answer| answer.status), Some(200));
}

#[test]
fn who_never_ends_a_body_is_told_so() {
    let server = Server::start();
    let mut stream = server.connect();
    let head = "POST /v1/leases HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\ncontent-length: 100\r\n\r\n{";
    stream.write_all(head.as_bytes()).unwrap();
    let mut answer = Vec::new();
    _ = stream.read_to_end(&mut answer);
    Answer::read(&answer).unwrap().problem(408, "too_slow");
}

#[test]
fn who_takes_no_answer_is_cut_off() {
    let server = Server::start();
    let mut deaf = server.connect();
    // Far more than sockets keep.
    let request = "GET /v1/ids?count=100000 HTTP/1.1\r\nhost: localhost\r\n\r\n";
    deaf.write_all(request.repeat(8).as_bytes()).unwrap();
    let open = r#"randflake_serve_connections{protocol="http"}"#;
    wait_until("not that one and the one that asks", || {
        server.metric(open) == 2
    });
    wait_until("it is still open", || server.metric(open) <= 1);
}

#[cfg(target_os = "linux")]
#[test]
fn clients_that_leave_get_no_more_of_the_store() {
    const CLIENTS: u64 = 40;
    let server = Server::start();
    let path = server.path("state/randflake/leases.db");
    let store = rusqlite::Connection::open(path).unwrap();
    // From here on the store keeps every writer waiting.
    store.execute_batch("BEGIN IMMEDIATE").unwrap();
    let request = "POST /v1/leases HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\ncontent-length: 2\r\n\r\n{}";
    let before = server.threads();
    for _ in 0..CLIENTS {
        let mut client = server.connect();
        client.write_all(request.as_bytes()).unwrap();
        // It leaves while the store works.
        sleep(Duration::from_millis(20));
    }
    // A request counts once it is answered, and none is.
    let received = r#"randflake_serve_connections_total{protocol="http",outcome="accepted"}"#;
    wait_until("not all requests were received", || {
        server.metric(received) >= CLIENTS
    });
    let more = server.threads().saturating_sub(before);
    assert!(more < 20, "{more} threads wait for the store");
}
