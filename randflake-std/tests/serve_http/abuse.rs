//! What clients send that is wrong, and what each gets. The server goes on.

use crate::client::Answer;
use crate::server::Server;

/// What comes back: a status, or nothing but the end of the connection.
type Expected = Option<u16>;

fn corpus() -> Vec<(&'static str, Vec<u8>, Expected)> {
    let get = |rest: &str| format!("GET {rest}\r\n\r\n").into_bytes();
    let post = |head: &str, body: &[u8]| {
        let head =
            format!("POST /v1/leases HTTP/1.1\r\nhost: x\r\nconnection: close\r\n{head}\r\n");
        [head.as_bytes(), body].concat()
    };
    let json = "content-type: application/json\r\n";
    let close = "HTTP/1.1\r\nhost: x\r\nconnection: close";
    let deep = [b"[".repeat(100_000), b"]".repeat(100_000)].concat();
    let deep_head = format!("{json}content-length: {}\r\n", deep.len());
    let long_head = format!("{json}content-length: {}\r\n", 2 << 20);
    vec![
        ("no HTTP", b"hello\r\n\r\n".to_vec(), Some(400)),
        (
            "a command of Redis",
            b"*1\r\n$4\r\nPING\r\n".to_vec(),
            Some(400),
        ),
        (
            "a TLS hello",
            b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03".to_vec(),
            Some(400),
        ),
        ("zeros", vec![0; 4_096], Some(400)),
        (
            "HTTP/2 at once",
            b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n".to_vec(),
            None,
        ),
        ("HTTP/9", get("/healthz HTTP/9.9"), Some(400)),
        (
            "a method of its own",
            format!("BREW /v1/ids {close}\r\n\r\n").into_bytes(),
            Some(405),
        ),
        (
            "TRACE",
            format!("TRACE /v1/ids {close}\r\n\r\n").into_bytes(),
            Some(405),
        ),
        (
            "CONNECT",
            format!("CONNECT x:1 {close}\r\n\r\n").into_bytes(),
            Some(404),
        ),
        (
            "a method with control characters",
            b"G\x01T / HTTP/1.1\r\n\r\n".to_vec(),
            Some(400),
        ),
        ("a path with spaces", get("/v1/ ids HTTP/1.1"), Some(400)),
        (
            "a path that climbs",
            get(&format!("/page/../../etc/passwd {close}")),
            Some(404),
        ),
        (
            "a path that climbs, encoded",
            get(&format!("/page/%2e%2e/%2e%2e/etc/passwd {close}")),
            Some(404),
        ),
        (
            "a path with a null",
            get(&format!("/healthz%00 {close}")),
            Some(404),
        ),
        (
            "a path of 20,000 bytes",
            get(&format!("/{} {close}", "a".repeat(20_000))),
            Some(431),
        ),
        (
            "a header of 20,000 bytes",
            get(&format!("/healthz {close}\r\nx: {}", "a".repeat(20_000))),
            Some(431),
        ),
        (
            "1,000 headers",
            get(&format!("/healthz {close}{}", "\r\nx: y".repeat(1_000))),
            Some(431),
        ),
        (
            "a header without a name",
            get(&format!("/healthz {close}\r\n: x")),
            Some(400),
        ),
        (
            "a header with a null",
            get(&format!("/healthz {close}\r\nx: \0")),
            Some(400),
        ),
        (
            "a folded header",
            get(&format!("/healthz {close}\r\nx: a\r\n b")),
            Some(400),
        ),
        (
            "query: not UTF-8",
            get(&format!("/v1/ids?count=%ff%fe {close}")),
            Some(400),
        ),
        (
            "query: a count below zero",
            get(&format!("/v1/ids?count=-1 {close}")),
            Some(400),
        ),
        (
            "query: a count over 64 bits",
            get(&format!("/v1/ids?count=99999999999999999999 {close}")),
            Some(400),
        ),
        (
            "query: a count with a sign",
            get(&format!("/v1/ids?count=%2b1 {close}")),
            Some(400),
        ),
        (
            "query: a count in words",
            get(&format!("/v1/ids?count=many {close}")),
            Some(400),
        ),
        (
            "query: twice",
            get(&format!("/v1/ids?count=1&count=2 {close}")),
            Some(400),
        ),
        (
            "query: unknown",
            get(&format!("/v1/ids?cuont=1 {close}")),
            Some(400),
        ),
        (
            "query: a script",
            get(&format!("/v1/ids?namespace=%3Cscript%3E {close}")),
            Some(404),
        ),
        (
            "query: only signs",
            get(&format!("/v1/ids?&=&=& {close}")),
            Some(400),
        ),
        (
            "two lengths",
            post(
                &format!("{json}content-length: 2\r\ncontent-length: 3\r\n"),
                b"{}",
            ),
            Some(400),
        ),
        (
            "a length below zero",
            post(&format!("{json}content-length: -2\r\n"), b"{}"),
            Some(400),
        ),
        (
            "length and chunks",
            post(
                &format!("{json}content-length: 2\r\ntransfer-encoding: chunked\r\n"),
                b"0\r\n\r\n",
            ),
            Some(400),
        ),
        (
            "chunks of no length",
            post(
                &format!("{json}transfer-encoding: chunked\r\n"),
                b"zz\r\n{}\r\n0\r\n\r\n",
            ),
            Some(400),
        ),
        (
            "a chunk over 64 bits",
            post(
                &format!("{json}transfer-encoding: chunked\r\n"),
                b"fffffffffffffffff\r\n",
            ),
            Some(400),
        ),
        (
            "another encoding",
            post(&format!("{json}transfer-encoding: gzip\r\n"), b"{}"),
            Some(400),
        ),
        (
            "body: no type",
            post("content-length: 2\r\n", b"{}"),
            Some(415),
        ),
        (
            "body: a form",
            post(
                "content-type: application/x-www-form-urlencoded\r\ncontent-length: 7\r\n",
                b"count=1",
            ),
            Some(415),
        ),
        (
            "body: none",
            post(&format!("{json}content-length: 0\r\n"), b""),
            Some(400),
        ),
        (
            "body: cut off",
            post(&format!("{json}content-length: 1\r\n"), b"{"),
            Some(400),
        ),
        (
            "body: a list",
            post(&format!("{json}content-length: 2\r\n"), b"[]"),
            Some(400),
        ),
        (
            "body: a wrong type",
            post(
                &format!("{json}content-length: 13\r\n"),
                br#"{"count":"1"}"#,
            ),
            Some(400),
        ),
        (
            "body: not UTF-8",
            post(&format!("{json}content-length: 4\r\n"), b"\xff\xfe{}"),
            Some(400),
        ),
        ("body: 100,000 deep", post(&deep_head, &deep), Some(400)),
        (
            "body: 2 MiB",
            post(&long_head, &vec![b' '; 2 << 20]),
            Some(413),
        ),
        ("body: 2 MiB announced", post(&long_head, b"{"), Some(413)),
    ]
}

#[test]
fn each_abuse_gets_what_it_should_and_the_server_goes_on() {
    let server = Server::start();
    let mut wrong = Vec::new();
    for (name, request, expected) in corpus() {
        let bytes = server.send(&request);
        let answer = Answer::read(&bytes);
        let status = answer.as_ref().map(|answer| answer.status);
        println!("{name}: {status:?}");
        if status != expected {
            wrong.push(format!(
                "{name}: {status:?}, not {expected:?}: {}",
                String::from_utf8_lossy(&bytes)
            ));
        }
        // What the HTTP library refuses has no body; what the server refuses says why.
        if let Some(answer) =
            answer.filter(|answer| !answer.body.is_empty() && answer.status != 200)
        {
            assert_eq!(
                answer.header("content-type"),
                Some("application/problem+json"),
                "{name}"
            );
        }
        assert_eq!(server.get("/healthz").status, 200, "after {name}");
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
    assert_eq!(server.get("/v1/ids?count=1000").status, 200);
}
