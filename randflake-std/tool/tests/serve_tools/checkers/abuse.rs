//! Requests of gunicorn's own tests, which are right and wrong HTTP/1.1, in files: each as it is,
//! and aimed at a path that reads its body. Another request comes behind each on the same
//! connection: whether that is answered shows where the server believes that the first one ends.

use std::path::Path;
use std::{fs, io};

use super::list;
use crate::server::Answer;
use crate::server::Server;
use crate::told;

/// Kinds of the list: gunicorn's own rules, where any refusal or answer is right; and wrong
/// requests that are refused, after which the connection rightly goes on.
const OWN_RULE: &str = "own-rule";
const GOES_ON: &str = "goes-on";

const BEHIND: &[u8] = b"GET /healthz HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\r\n";

/// The bytes of a file: its line ends are for people, `\r\n`, `\n`, `\t`, `\0` and `\xFF` stand for
/// the bytes.
fn request(path: &Path) -> io::Result<Vec<u8>> {
    let text: Vec<u8> = fs::read(path)?
        .into_iter()
        .filter(|byte| *byte != b'\n')
        .collect();
    let mut bytes = Vec::new();
    let mut rest = &text[..];
    while let Some((first, behind)) = rest.split_first() {
        let (byte, used) = match (first, behind) {
            (b'\\', [b'r', ..]) => (b'\r', 2),
            (b'\\', [b'n', ..]) => (b'\n', 2),
            (b'\\', [b't', ..]) => (b'\t', 2),
            (b'\\', [b'0', ..]) => (0, 2),
            (b'\\', [b'x', high, low, ..]) => {
                let digits = [*high, *low];
                let digits = core::str::from_utf8(&digits).unwrap();
                (u8::from_str_radix(digits, 16).unwrap(), 4)
            }
            _ => (*first, 1),
        };
        bytes.push(byte);
        rest = &rest[used..];
    }
    Ok(bytes)
}

/// The same head and body for `POST /v1/leases`, if its first line is one of HTTP/1 with a usual
/// method.
fn aimed(request: &[u8]) -> Option<Vec<u8>> {
    let end = request.windows(2).position(|two| two == b"\r\n")?;
    let line = core::str::from_utf8(&request[..end]).ok()?;
    let words: Vec<_> = line.split(' ').collect();
    let [method, _, version @ ("HTTP/1.0" | "HTTP/1.1")] = words[..] else {
        return None;
    };
    if !method.bytes().all(|byte| byte.is_ascii_uppercase()) {
        return None;
    }
    let mut rest = &request[end..];
    let mut head =
        format!("POST /v1/leases {version}\r\ncontent-type: application/json").into_bytes();
    // One host, that of this machine: the others are checked as they are.
    if let Some(own) = rest
        .windows(8)
        .position(|some| some.eq_ignore_ascii_case(b"\r\nhost: "))
    {
        head.extend(&rest[..own]);
        rest = &rest[own + 2..];
        rest = &rest[rest.iter().position(|byte| *byte == b'\r')?..];
    }
    head.extend(b"\r\nhost: localhost");
    head.extend(rest);
    Some(head)
}

/// Status of each answer.
fn statuses(mut bytes: &[u8]) -> Vec<u16> {
    let mut found = Vec::new();
    while !bytes.is_empty() {
        let text = bytes
            .strip_prefix(b"HTTP/1.0")
            .map(|rest| [b"HTTP/1.1", rest].concat());
        let text = text.as_deref().unwrap_or(bytes);
        let answer =
            Answer::read(text).unwrap_or_else(|| panic!("{}", String::from_utf8_lossy(bytes)));
        let length = answer
            .header("content-length")
            .map_or(0, |value| value.parse().unwrap());
        found.push(answer.status);
        bytes = &bytes[bytes.len() - answer.body.len() + length..];
    }
    found
}

/// What is wrong with the answers to a request and the one behind it.
fn fault(
    is_right: bool,
    kind: Option<&str>,
    statuses: &[u16],
    is_aimed: bool,
) -> Option<&'static str> {
    if statuses.iter().any(|status| *status >= 500) {
        return Some("an error of the server");
    }
    if statuses.is_empty() {
        return Some("no answer");
    }
    if is_right || kind == Some(OWN_RULE) {
        return None;
    }
    let is_refused = statuses.first().is_some_and(|status| *status >= 400);
    match kind {
        // What is wrong with it may be what aiming has replaced.
        Some(GOES_ON) => (!is_refused && !is_aimed).then_some("it was not refused"),
        _ if !is_refused => Some("it was not refused"),
        _ => (statuses.len() > 1).then_some("the request behind it was answered"),
    }
}

#[test]
fn wrong_requests_are_refused_and_none_hides_another() {
    let server = Server::start();
    let folder = told("RANDFLAKE_GUNICORN_REQUESTS");
    let known: Vec<_> = list(include_str!("abuse.txt")).collect();
    let (mut faults, mut used, mut sent) = (Vec::new(), Vec::new(), 0);
    for kind in ["valid", "invalid"] {
        let entries = fs::read_dir(folder.join(kind)).unwrap().flatten();
        let paths = entries.map(|entry| entry.path());
        let mut paths: Vec<_> = paths
            .filter(|path| path.extension().is_some_and(|end| end == "http"))
            .collect();
        paths.sort();
        for path in paths {
            let name = format!("{kind}/{}", path.file_stem().unwrap().display());
            let known = known.iter().find(|[_, own, _]| *own == name);
            used.extend(known.map(|[_, own, _]| *own));
            let request = request(&path).unwrap();
            for (is_aimed, request) in [(false, Some(request.clone())), (true, aimed(&request))] {
                let Some(request) = request else {
                    continue;
                };
                let answers = server.send(&[&request, BEHIND].concat());
                let statuses = statuses(&answers);
                sent += 1;
                let fault = fault(
                    kind == "valid",
                    known.map(|[kind, ..]| *kind),
                    &statuses,
                    is_aimed,
                );
                faults.extend(
                    fault.map(|fault| format!("{name}, aimed {is_aimed}: {fault}: {statuses:?}")),
                );
                assert_eq!(server.get("/healthz").status, 200, "after {name}");
            }
        }
    }
    println!(
        "checked: {sent} requests, {} rules of gunicorn's own",
        used.len()
    );
    assert!(faults.is_empty(), "{faults:#?}");
    assert_eq!(
        used.len(),
        known.len(),
        "the list names files that are not there: {used:?}"
    );
    assert!(sent > 200, "{sent}");
    assert_eq!(server.get("/v1/ids?count=1000").status, 200);
}
