//! What clients send that is wrong, and what each gets. The server goes on.

use crate::client::Answer;
use crate::server::Server;

/// What comes back: a status, or nothing but the end of the connection.
type Expected = Option<u16>;

/// Whole requests, as they are sent.
const RAW: &[(&str, &str, Expected)] = &[
    ("no HTTP", "hello\r\n\r\n", Some(400)),
    ("a command of Redis", "*1\r\n$4\r\nPING\r\n", Some(400)),
    ("a TLS hello", "\x16\x03\x01\x02\0\x01\0\x01", Some(400)),
    ("HTTP/2", "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", None),
    ("HTTP/9", "GET / HTTP/9.9\r\n\r\n", Some(400)),
    ("no version", "GET /\r\n\r\n", Some(400)),
    (
        "no host",
        "GET /healthz HTTP/1.1\r\nconnection: close\r\n\r\n",
        Some(400),
    ),
    (
        "two hosts",
        "GET /healthz HTTP/1.1\r\nhost: localhost\r\nhost: localhost\r\nconnection: close\r\n\r\n",
        Some(400),
    ),
    ("a null", "G\0T / HTTP/1.1\r\n\r\n", Some(400)),
    ("spaces", "GET /v1/ ids HTTP/1.1\r\n\r\n", Some(400)),
    ("markup", "GET /<b> HTTP/1.1\r\n\r\n", Some(400)),
];

/// Methods and targets of requests that are well formed.
const TARGETS: &[(&str, &str, u16)] = &[
    ("BREW", "/v1/ids", 405),
    ("TRACE", "/v1/ids", 405),
    ("OPTIONS", "/v1/ids", 405),
    ("POST", "/v1/ids", 405),
    ("CONNECT", "x:1", 404),
    ("GET", "/page/../../etc/passwd", 404),
    ("GET", "/page/%2e%2e/%2e%2e/etc/passwd", 404),
    ("GET", "//", 404),
    ("GET", "/healthz%00", 404),
    ("GET", "/v1/ids?count=%ff%fe", 400),
    ("GET", "/v1/ids?count=-1", 400),
    ("GET", "/v1/ids?count=%2b1", 400),
    ("GET", "/v1/ids?count=1e3", 400),
    ("GET", "/v1/ids?count=", 400),
    ("GET", "/v1/ids?count=99999999999999999999", 400),
    ("GET", "/v1/ids?count=1&count=2", 400),
    ("GET", "/v1/ids?cuont=1", 400),
    ("GET", "/v1/ids?&=&=&", 400),
    ("GET", "/v1/ids?namespace=%3Cscript%3E", 404),
    ("GET", "/v1/ids?namespace=..%2f..%2fetc", 404),
    ("GET", "/v1/inspect?id=%00", 400),
    ("GET", "/v1/leases?limit=0", 400),
    ("GET", "/v1/leases?all=yes", 400),
];

/// Heads and bodies of `POST /v1/leases`.
const BODIES: &[(&str, &str, u16)] = &[
    (
        "content-type: application/json\r\ncontent-length: 2\r\ncontent-length: 3",
        "{}",
        400,
    ),
    (
        "content-type: application/json\r\ncontent-length: -2",
        "{}",
        400,
    ),
    (
        "content-type: application/json\r\ncontent-length: 2\r\ntransfer-encoding: chunked",
        "0\r\n\r\n",
        400,
    ),
    (
        "content-type: application/json\r\ntransfer-encoding: chunked",
        "zz\r\n{}\r\n0\r\n\r\n",
        400,
    ),
    (
        "content-type: application/json\r\ntransfer-encoding: chunked",
        "fffffffffffffffff\r\n",
        400,
    ),
    (
        "content-type: application/json\r\ntransfer-encoding: gzip",
        "{}",
        400,
    ),
    ("content-type: application/json\r\n: x", "{}", 400),
    ("content-type: application/json\r\nx: \0", "{}", 400),
    ("content-type: application/json\r\nx: a\r\n b", "{}", 400),
    ("content-length: 2", "{}", 415),
    (
        "content-type: application/x-www-form-urlencoded\r\ncontent-length: 7",
        "count=1",
        415,
    ),
    (
        "content-type: application/json\r\ncontent-length: 0",
        "",
        400,
    ),
    (
        "content-type: application/json\r\ncontent-length: 1",
        "{",
        400,
    ),
    (
        "content-type: application/json\r\ncontent-length: 2",
        "[]",
        400,
    ),
    (
        "content-type: application/json\r\ncontent-length: 4",
        "null",
        400,
    ),
    (
        "content-type: application/json\r\ncontent-length: 13",
        r#"{"count":"1"}"#,
        400,
    ),
    (
        "content-type: application/json\r\ncontent-length: 12",
        r#"{"count":-1}"#,
        400,
    ),
    (
        "content-type: application/json\r\ncontent-length: 13",
        r#"{"count":1.5}"#,
        400,
    ),
    (
        "content-type: application/json\r\ncontent-length: 23",
        r#"{"count":1,"count":100}"#,
        400,
    ),
    (
        "content-type: application/json\r\ncontent-length: 22",
        r#"{"a\nb\u001b\u202e":1}"#,
        400,
    ),
    (
        "content-type: application/json\r\ncontent-length: 2097152",
        "{",
        413,
    ),
];

fn post(head: &str, body: &[u8]) -> Vec<u8> {
    let head = format!(
        "POST /v1/leases HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n{head}\r\n\r\n"
    );
    [head.as_bytes(), body].concat()
}

/// Requests that are too large.
fn large() -> Vec<(&'static str, Vec<u8>, Expected)> {
    let get = |rest: String| format!("GET /{rest}\r\n\r\n").into_bytes();
    let long = "a".repeat(20_000);
    let deep = [b"{\"a\":".repeat(100_000), b"}".repeat(100_000)].concat();
    let json =
        |length: usize| format!("content-type: application/json\r\ncontent-length: {length}");
    vec![
        ("zeros", vec![0; 4_096], Some(400)),
        ("a long path", get(format!("{long} HTTP/1.1")), Some(431)),
        (
            "a long header",
            get(format!(" HTTP/1.1\r\nx: {long}")),
            Some(431),
        ),
        (
            "1,000 headers",
            get(format!(" HTTP/1.1{}", "\r\nx: y".repeat(1_000))),
            Some(431),
        ),
        ("not UTF-8", post(&json(4), b"\xff\xfe{}"), Some(400)),
        ("100,000 deep", post(&json(deep.len()), &deep), Some(400)),
        (
            "2 MiB",
            post(&json(2 << 20), &vec![b' '; 2 << 20]),
            Some(413),
        ),
    ]
}

fn corpus() -> Vec<(String, Vec<u8>, Expected)> {
    let raw = RAW
        .iter()
        .map(|(name, text, status)| ((*name).to_owned(), text.as_bytes().to_vec(), *status));
    let targets = TARGETS.iter().map(|(method, target, status)| {
        let request =
            format!("{method} {target} HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\r\n");
        (
            format!("{method} {target}"),
            request.into_bytes(),
            Some(*status),
        )
    });
    let bodies = BODIES.iter().map(|(head, body, status)| {
        let name = format!("{body:?} after {head:?}");
        (name, post(head, body.as_bytes()), Some(*status))
    });
    let large = large()
        .into_iter()
        .map(|(name, request, status)| (name.to_owned(), request, status));
    raw.chain(targets).chain(bodies).chain(large).collect()
}

#[test]
fn each_abuse_gets_what_it_should_and_the_server_goes_on() {
    let server = Server::start();
    let mut wrong = Vec::new();
    let corpus = corpus();
    assert!(corpus.len() > 50);
    for (name, request, expected) in corpus {
        let bytes = server.send(&request);
        let answer = Answer::read(&bytes);
        let status = answer.as_ref().map(|answer| answer.status);
        if status != expected {
            let said = String::from_utf8_lossy(&bytes);
            wrong.push(format!("{name}: {status:?}, not {expected:?}: {said}"));
        }
        // What the HTTP library refuses has no body; what the server refuses says why.
        if let Some(answer) =
            answer.filter(|answer| answer.status >= 400 && !answer.body.is_empty())
        {
            let kind = answer.header("content-type");
            assert_eq!(kind, Some("application/problem+json"), "{name}");
            // One line, whatever names a client makes up.
            let problem: serde_json::Value = serde_json::from_slice(&answer.body).unwrap();
            let detail = problem["detail"].as_str().unwrap();
            assert!(!detail.contains(char::is_control), "{detail:?}");
        }
        assert_eq!(server.get("/healthz").status, 200, "after {name}");
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
    assert_eq!(server.get("/v1/ids?count=1000").status, 200);
}
