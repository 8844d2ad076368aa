//! HTTP as bytes: what is sent is what the test says, right or wrong.

use core::time::Duration;
#[cfg(target_os = "linux")]
use std::fs;
use std::io::{Read as _, Write as _};
use std::net::TcpStream;

use serde_json::Value;

use crate::server::Server;

/// Longer than a busy machine takes for anything: a server that never answers fails the test.
pub(crate) const FOREVER: Duration = Duration::from_secs(120);

#[derive(Debug)]
pub(crate) struct Answer {
    pub(crate) status: u16,
    head: String,
    pub(crate) body: Vec<u8>,
}

impl Answer {
    /// `None` if it is no HTTP, such as nothing.
    pub(crate) fn read(bytes: &[u8]) -> Option<Self> {
        let end = bytes.windows(4).position(|four| four == b"\r\n\r\n")?;
        let head = String::from_utf8(bytes[..end].to_vec()).ok()?;
        let status = head.strip_prefix("HTTP/1.1 ")?.get(..3)?.parse().ok()?;
        let body = bytes[end + 4..].to_vec();
        Some(Self { status, head, body })
    }

    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        let mut lines = self.head.lines().filter_map(|line| line.split_once(": "));
        let found = lines.find(|(own, _)| own.eq_ignore_ascii_case(name));
        found.map(|(_, value)| value)
    }

    pub(crate) fn text(&self) -> &str {
        core::str::from_utf8(&self.body).unwrap()
    }

    /// Of an answer with this status.
    #[track_caller]
    pub(crate) fn json(&self, status: u16) -> Value {
        assert_eq!(self.status, status, "{}", self.text());
        serde_json::from_slice(&self.body).unwrap()
    }

    /// The detail of a problem of this kind.
    #[track_caller]
    pub(crate) fn problem(&self, status: u16, kind: &str) -> String {
        let problem = self.json(status);
        assert_eq!(
            self.header("content-type"),
            Some("application/problem+json")
        );
        assert_eq!(problem["type"], format!("urn:randflake:problem:{kind}"));
        assert_eq!(problem["status"], status);
        problem["detail"].as_str().unwrap().to_owned()
    }
}

impl Server {
    /// Sends bytes, and reads until the server closes the connection.
    pub(crate) fn send(&self, request: &[u8]) -> Vec<u8> {
        let mut stream = self.connect();
        // It may answer and close before it has all.
        _ = stream.write_all(request);
        let mut answer = Vec::new();
        _ = stream.read_to_end(&mut answer);
        answer
    }

    pub(crate) fn connect(&self) -> TcpStream {
        let stream = TcpStream::connect(&self.address).unwrap();
        stream.set_read_timeout(Some(FOREVER)).unwrap();
        stream
    }

    #[track_caller]
    pub(crate) fn request(
        &self,
        method: &str,
        path: &str,
        headers: &[(&str, &str)],
        body: &str,
    ) -> Answer {
        let request = self.bytes(method, path, headers, body);
        let answer = self.send(request.as_bytes());
        Answer::read(&answer).unwrap_or_else(|| panic!("{}", String::from_utf8_lossy(&answer)))
    }

    fn bytes(&self, method: &str, path: &str, headers: &[(&str, &str)], body: &str) -> String {
        let mut request = format!(
            "{method} {path} HTTP/1.1\r\nhost: {}\r\nconnection: close\r\ncontent-length: {}\r\n",
            self.address,
            body.len()
        );
        for (name, value) in headers {
            request.extend([name, ": ", value, "\r\n"]);
        }
        request.extend(["\r\n", body]);
        request
    }

    /// Asks, and does not read the answer.
    pub(crate) fn post_unread(&self, path: &str, body: &str) -> TcpStream {
        let json = [("content-type", "application/json")];
        let request = self.bytes("POST", path, &json, body);
        let mut stream = self.connect();
        stream.write_all(request.as_bytes()).unwrap();
        stream
    }

    #[track_caller]
    pub(crate) fn get(&self, path: &str) -> Answer {
        self.request("GET", path, &[], "")
    }

    #[track_caller]
    pub(crate) fn get_as(&self, token: &str, path: &str) -> Answer {
        self.request(
            "GET",
            path,
            &[("authorization", &format!("Bearer {token}"))],
            "",
        )
    }

    #[track_caller]
    pub(crate) fn post(&self, path: &str, body: &str) -> Answer {
        self.request("POST", path, &[("content-type", "application/json")], body)
    }

    /// How many threads it has.
    #[cfg(target_os = "linux")]
    pub(crate) fn threads(&self) -> usize {
        let status = format!("/proc/{}/status", self.process.id());
        let status = fs::read_to_string(status).unwrap();
        let threads = status
            .lines()
            .find_map(|line| line.strip_prefix("Threads:"));
        threads.unwrap().trim().parse().unwrap()
    }

    /// A number of its metrics.
    pub(crate) fn metric(&self, name: &str) -> u64 {
        let metrics = self.get("/metrics");
        let mut lines = metrics.text().lines();
        let value = lines.find_map(|line| line.strip_prefix(name));
        let value = value.unwrap_or_else(|| panic!("no {name}: {}", metrics.text()));
        value.trim().parse().unwrap()
    }
}
