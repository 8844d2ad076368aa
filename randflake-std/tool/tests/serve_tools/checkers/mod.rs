//! Suites and tools that others published, on a server: `cargo xtask deep checkers` brings them.
//! What is left out of each stands in a list beside its module, with the reason.

#![expect(
    clippy::print_stdout,
    reason = "what was checked is a result, with numbers"
)]

mod abuse;
mod dieharder;
mod nist;
mod redis_py;
mod redis_tcl;

use core::time::Duration;
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{TcpListener, TcpStream};

use crate::server::Server;

/// Lines of a list: a kind, a name and the reason, with two spaces or more between.
fn list(text: &'static str) -> impl Iterator<Item = [&'static str; 3]> {
    let lines = text
        .lines()
        .filter(|line| !line.is_empty() && !line.starts_with('#'));
    lines.map(|line| {
        let mut fields = line.splitn(3, "  ").map(str::trim);
        [(); 3].map(|()| {
            fields
                .next()
                .unwrap_or_else(|| panic!("{line:?} has no reason"))
        })
    })
}

/// For the server's RESP: a suite must know it before the server says it.
fn free_port() -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    listener.local_addr().unwrap().port()
}

/// A number that a variable says.
fn number(variable: &str) -> u64 {
    let found = crate::told(variable);
    found.to_str().and_then(|text| text.parse().ok()).unwrap()
}

/// As many as one request gets.
pub(super) const IDS: u64 = 100_000;

pub(super) struct Stream<'a> {
    address: &'a str,
    bytes: Vec<u8>,
    /// Of the last answer, still to be taken.
    left: usize,
    pub(super) taken: u64,
}

impl<'a> Stream<'a> {
    pub(super) fn of(server: &'a Server) -> Self {
        Self {
            address: &server.address,
            bytes: Vec::new(),
            left: 0,
            taken: 0,
        }
    }

    /// The next ids, at most so many.
    pub(super) fn take(&mut self, most: u64) -> &[u8] {
        if self.left == 0 {
            self.ask();
        }
        let most = usize::try_from(most * 8).unwrap().min(self.left);
        let begin = self.bytes.len() - self.left;
        self.left -= most;
        self.taken += most as u64 / 8;
        &self.bytes[begin..begin + most]
    }

    /// On a connection of its own: a checker may think for longer than the server keeps one that is
    /// idle.
    fn ask(&mut self) {
        let address = self.address;
        let connection = TcpStream::connect(address).unwrap();
        connection
            .set_read_timeout(Some(Duration::from_secs(600)))
            .unwrap();
        let mut connection = BufReader::new(connection);
        let request =
            format!("GET /v1/ids?count={IDS}&format=raw HTTP/1.1\r\nhost: {address}\r\n\r\n");
        connection.get_mut().write_all(request.as_bytes()).unwrap();
        let mut length = None;
        let mut line = String::new();
        connection.read_line(&mut line).unwrap();
        assert!(line.starts_with("HTTP/1.1 200 "), "{line}");
        while line != "\r\n" {
            line.clear();
            connection.read_line(&mut line).unwrap();
            if let Some(value) = line.strip_prefix("content-length: ") {
                length = value.trim().parse().ok();
            }
        }
        self.bytes.resize(length.unwrap(), 0);
        connection.read_exact(&mut self.bytes).unwrap();
        self.left = self.bytes.len();
    }
}
