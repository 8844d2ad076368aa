//! Servers that answer at an address: their kind, and the longest reply that is read.
//!
//! The kind is asked for once a first connection has failed: a server of another kind, or one that
//! expects TLS, often says nothing or closes the connection, which looks like an outage. Its answer
//! to a greeting of its own kind tells them apart.
//!
//! A client keeps a reply in memory until it is whole, and a server of another kind could send one
//! without end: so the length of replies is limited.

use core::time::Duration;
use std::io::{self, ErrorKind, Read, Write};
use std::net::TcpStream;
use std::slice;

use super::addresses::{Addresses, Attempt};
use super::url::{Host, Location};

/// Time limit of connecting, and of an answer.
const LIMIT: Duration = Duration::from_secs(1);
/// Pause after which an answer counts as whole.
const PAUSE: Duration = Duration::from_millis(50);

/// What most servers answer by a line: HTTP and Redis do, some with TLS too. MySQL speaks first.
const LINE: &[u8] = b"GET / HTTP/1.0\r\n\r\n";

/// `SSLRequest` of PostgreSQL, which other servers do not answer by one letter.
const SSL_REQUEST: &[u8] = b"\x00\x00\x00\x08\x04\xd2\x16\x2f";

/// A TLS client hello with one cipher suite and no extensions. Every TLS server answers it, most by
/// an alert.
const HELLO: &[u8] = b"\x16\x03\x01\x00\x2d\x01\x00\x00\x29\x03\x03\
    randflake-asks-who-answers-there\x00\x00\x02\xc0\x2f\x01\x00";

/// Kind of a server, by its answers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Peer {
    /// A web server.
    Http,
    /// MySQL or MariaDB.
    Mysql,
    /// PostgreSQL.
    Postgres,
    /// Redis or Valkey.
    Redis,
    /// An SSH server.
    Ssh,
    /// A server of any kind that answers TLS.
    Tls,
}

/// A server as a URL describes it.
#[derive(Clone, Debug)]
pub struct ExpectedPeer {
    kind: Peer,
    /// Name of the kind.
    name: &'static str,
    host: Host,
    /// What a URL says for an encrypted connection, if this one's is plain.
    encrypts_by: Option<&'static str>,
}

impl ExpectedPeer {
    /// The servers of a URL.
    #[must_use]
    pub fn all_of(
        location: &Location,
        kind: Peer,
        name: &'static str,
        is_encrypted: bool,
    ) -> Vec<Self> {
        let encrypts_by = (!is_encrypted).then_some(location.scheme.encrypts_by);
        let expected = |host: &Host| Self {
            kind,
            name,
            host: host.clone(),
            encrypts_by,
        };
        location.hosts().iter().map(expected).collect()
    }

    /// Why no try can succeed, if a server of another kind answers, or only one of the two sides
    /// encrypts. It takes a few seconds where nobody answers.
    #[must_use]
    pub fn mistake(&self) -> Option<String> {
        let name = self.name;
        let found = match (self.identify()?, self.encrypts_by) {
            (Peer::Tls, None) => return None,
            (Peer::Tls, Some(encrypts_by)) => {
                return Some(format!(
                    "the server takes encrypted connections only: write {encrypts_by}, if it is {name}"
                ));
            }
            // PostgreSQL and MySQL agree on encryption in the connection, and say so themselves.
            (found @ (Peer::Mysql | Peer::Postgres), _) if found == self.kind => return None,
            (found, Some(_)) if found == self.kind => return None,
            (found, None) if found == self.kind => {
                return Some(
                    "the server takes no encrypted connections there: name its TLS port, or write the URL of a \
                     plain connection"
                        .to_owned(),
                );
            }
            (Peer::Http, _) => "an HTTP server",
            (Peer::Mysql, _) => "MySQL or MariaDB",
            (Peer::Postgres, _) => "PostgreSQL",
            (Peer::Redis, _) => "Redis",
            (Peer::Ssh, _) => "an SSH server",
        };
        Some(format!(
            "{found} answers there, and {name} is needed: correct the host, port or scheme of the URL"
        ))
    }

    /// The same of several servers, each by its host; `None` if one of them may be the right one.
    #[must_use]
    pub fn mistake_of_all(servers: &[Self]) -> Option<String> {
        let mistake = |server: &Self| Some(format!("{}: {}", server.host, server.mistake()?));
        match servers {
            [] => None,
            [only] => only.mistake(),
            _ => {
                let mistakes: Option<Vec<_>> = servers.iter().map(mistake).collect();
                Some(mistakes?.join("; "))
            }
        }
    }

    fn identify(&self) -> Option<Peer> {
        // PostgreSQL answers the hello of TLS too, from version 17 on.
        for greeting in [LINE, SSL_REQUEST, HELLO] {
            let answer = self.greet(greeting)?;
            let known = match &*answer {
                b"N" | b"S" if greeting == SSL_REQUEST => Some(Peer::Postgres),
                answer => kind_of(answer),
            };
            if known.is_some() {
                return known;
            }
        }
        None
    }

    /// What the server says, until it closes the connection or pauses. `None` if it is not there,
    /// or waits for more: then it may be busy.
    fn greet(&self, greeting: &[u8]) -> Option<Vec<u8>> {
        // The peer may send without end.
        const ENOUGH: usize = 512;
        let connect =
            |address, attempt: &Attempt| TcpStream::connect_timeout(&address, attempt.limit);
        let mut addresses = Addresses::of(slice::from_ref(&self.host));
        let mut stream = addresses.first_that_answers(LIMIT, connect).ok()?;
        stream.set_read_timeout(Some(LIMIT)).ok()?;
        stream.set_write_timeout(Some(LIMIT)).ok()?;
        stream.write_all(greeting).ok()?;
        let mut answer = Vec::new();
        let mut buffer = [0; ENOUGH];
        while answer.len() < ENOUGH {
            match stream.read(&mut buffer) {
                Ok(count @ 1..) => answer.extend_from_slice(&buffer[..count]),
                Err(error) if is_silence(&error) && answer.is_empty() => return None,
                // A server that closes before it has read all resets the connection.
                Ok(_) | Err(_) => break,
            }
            // The rest may be behind it, but not for long.
            stream.set_read_timeout(Some(PAUSE)).ok()?;
        }
        Some(answer)
    }
}

fn is_silence(error: &io::Error) -> bool {
    matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut)
}

/// The kind of server that says this, unasked or to one of the greetings.
fn kind_of(answer: &[u8]) -> Option<Peer> {
    match answer {
        // An alert, or the hello of the server.
        [0x15 | 0x16, 3, ..] => Some(Peer::Tls),
        // "Client sent an HTTP request to an HTTPS server", and its like.
        [b'H', b'T', b'T', b'P', b'/', ..] => {
            let names_tls = answer.windows(5).any(|word| word == b"HTTPS");
            Some(if names_tls { Peer::Tls } else { Peer::Http })
        }
        [b'<', b'!' | b'h' | b'H', ..] => Some(Peer::Http),
        [b'S', b'S', b'H', b'-', ..] => Some(Peer::Ssh),
        [b'-', b'A'..=b'Z', ..] => Some(Peer::Redis),
        // The first packet: its length, its number, and the version of the protocol or an error.
        [_, _, _, 0, 10 | 0xff, ..] => Some(Peer::Mysql),
        _ => None,
    }
}

/// The longest reply of a server that is read, in bytes: a list of 4,096 leases takes some 2 MB.
pub const LARGEST_REPLY: usize = 64 << 20;

/// The error of a reply that is longer.
#[must_use]
pub fn too_long() -> io::Error {
    let most = LARGEST_REPLY >> 20;
    io::Error::other(format!(
        "its reply is longer than {most} MiB: is it the server that the URL means?"
    ))
}

/// Bytes as text. Those that are none are shown by a sign of their own, so that a reader of them
/// finds them damaged.
#[must_use]
pub fn shown(bytes: Vec<u8>) -> String {
    String::from_utf8(bytes)
        .unwrap_or_else(|error| String::from_utf8_lossy(error.as_bytes()).into_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn servers_are_told_apart_by_what_they_say() {
        for (answer, kind) in [
            (&b"\x15\x03\x01\x00\x02\x02\x28"[..], Some(Peer::Tls)),
            (b"\x16\x03\x03\x00\x50", Some(Peer::Tls)),
            (b"HTTP/1.1 400 Bad Request", Some(Peer::Http)),
            (
                b"HTTP/1.0 400 Bad Request\r\n\r\nClient sent an HTTP request to an HTTPS server.",
                Some(Peer::Tls),
            ),
            (b"<!DOCTYPE HTML>", Some(Peer::Http)),
            (b"SSH-2.0-OpenSSH_9.2", Some(Peer::Ssh)),
            (b"-ERR unknown command", Some(Peer::Redis)),
            (b"\x5b\x00\x00\x00\x0a10.11.6-MariaDB", Some(Peer::Mysql)),
            (b"\x17\x00\x00\x00\xff\x10\x04Too many", Some(Peer::Mysql)),
            (b"", None),
            (b"220 mail.example ESMTP", None),
        ] {
            assert_eq!(kind_of(answer), kind, "{answer:?}");
        }
    }

    /// The lengths of the record and of the handshake message in it.
    #[test]
    fn the_hello_is_whole() {
        assert_eq!(HELLO.len(), 5 + usize::from(HELLO[4]));
        assert_eq!(HELLO.len(), 9 + usize::from(HELLO[8]));
    }
}
