//! Clients that take their time.

use core::time::Duration;
use std::io::{Read as _, Write as _};
use std::thread::sleep;
use std::time::Instant;

use crate::client::{Answer, FOREVER};
use crate::connections::ask_again;
use crate::server::Server;

#[test]
fn who_never_ends_a_head_is_cut_off_and_disturbs_nobody() {
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
    let begun = Instant::now();
    while server.metric(open) != 2 {
        assert!(
            begun.elapsed() < FOREVER,
            "not that one and the one that asks"
        );
    }
    let begun = Instant::now();
    while server.metric(open) > 1 {
        assert!(begun.elapsed() < FOREVER, "it is still open");
        sleep(Duration::from_millis(100));
    }
}

#[cfg(target_os = "linux")]
#[test]
fn who_asks_and_leaves_gets_no_more_of_the_store_than_others() {
    const CLIENTS: u64 = 40;
    let server = Server::start();
    let path = server.path("state/randflake/leases.db");
    let store = rusqlite::Connection::open(path).unwrap();
    // From here on the store keeps whoever writes waiting.
    store.execute_batch("BEGIN IMMEDIATE").unwrap();
    let request = "POST /v1/leases HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\ncontent-length: 2\r\n\r\n{}";
    let before = server.threads();
    for _ in 0..CLIENTS {
        let mut client = server.connect();
        client.write_all(request.as_bytes()).unwrap();
        // It leaves while the store works.
        sleep(Duration::from_millis(20));
    }
    let begun = Instant::now();
    // A request counts once it is answered, and none is.
    let received = r#"randflake_serve_connections_total{protocol="http",outcome="accepted"}"#;
    while server.metric(received) < CLIENTS {
        assert!(begun.elapsed() < FOREVER, "not all requests were received");
    }
    let more = server.threads().saturating_sub(before);
    assert!(more < 20, "{more} threads wait for the store");
}
