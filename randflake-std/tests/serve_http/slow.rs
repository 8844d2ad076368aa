//! Clients that take their time.

use std::io::{Read as _, Write as _};

use crate::client::Answer;
use crate::server::Server;

#[test]
fn who_never_ends_a_head_is_cut_off_and_disturbs_nobody() {
    let server = Server::start();
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
