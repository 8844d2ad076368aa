//! Addresses of a server: their order, the time limit of each, and what answers there.

use core::fmt::{self, Debug, Display, Formatter};
use core::net::{IpAddr, SocketAddr};
use core::time::Duration;
use std::collections::VecDeque;
use std::io::{self, ErrorKind, Read, Write};
use std::net::{TcpStream, ToSocketAddrs};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError};
use std::time::Instant;
use std::{process, slice, thread};

use super::url::{Host, Location};

/// Zero would be no limit for a socket.
const SHORTEST: Duration = Duration::from_millis(1);

/// The hosts of a URL. The address that answered last is asked first.
pub struct Addresses {
    hosts: Vec<Host>,
    /// The one that answered last.
    first: Option<Place>,
    /// One that took a connection and then did not answer: others are asked before it.
    last_resort: Option<Place>,
    /// A lookup without an answer so far: the next try waits for it, so that there is one thread at
    /// most.
    lookup: Option<Lookup>,
    look_up: LookUp,
}

type LookUp = fn(&Host) -> io::Result<Vec<SocketAddr>>;

/// A host, by its place in the URL, and one of its addresses; `None` for the folder of a Unix
/// socket.
type Place = (usize, Option<SocketAddr>);

struct Lookup {
    host: usize,
    answer: Receiver<io::Result<Vec<SocketAddr>>>,
    /// A forked child has no such thread.
    process: u32,
}

/// One try to connect, of all addresses in their order.
#[derive(Debug)]
pub struct Attempts<'a> {
    addresses: &'a mut Addresses,
    hosts: VecDeque<usize>,
    /// Addresses of the host that is asked at present.
    waiting: VecDeque<Place>,
    ends: Instant,
    host_ends: Instant,
}

/// An address to connect to.
#[derive(Debug)]
pub struct Attempt {
    /// Host of the address, as the URL names it.
    pub host: Host,
    /// `None` for the folder of a Unix socket.
    pub address: Option<SocketAddr>,
    /// Its part of the time, for all that comes before the server's first answer.
    pub limit: Duration,
    place: Place,
}

/// A host without an address to ask, and why.
type NoAddress = (Host, io::Error);

impl Addresses {
    /// The addresses of some hosts, looked up when they are needed.
    #[must_use]
    pub fn of(hosts: &[Host]) -> Self {
        Self::looked_up_by(hosts, |host| {
            Ok((&*host.name, host.port).to_socket_addrs()?.collect())
        })
    }

    /// Those of the same hosts, none of which has answered yet.
    #[must_use]
    pub fn anew(&self) -> Self {
        Self::looked_up_by(&self.hosts, self.look_up)
    }

    fn looked_up_by(hosts: &[Host], look_up: LookUp) -> Self {
        Self {
            hosts: hosts.to_vec(),
            first: None,
            last_resort: None,
            lookup: None,
            look_up,
        }
    }

    /// Begins to connect, within a limit for all addresses: each gets an equal part of what is
    /// left.
    pub fn attempts(&mut self, limit: Duration) -> Attempts<'_> {
        let now = Instant::now();
        let mut hosts: VecDeque<_> = (0..self.hosts.len()).collect();
        self.sort(hosts.make_contiguous(), |place, host| place.0 == *host);
        Attempts {
            addresses: self,
            hosts,
            waiting: VecDeque::new(),
            ends: now + limit,
            host_ends: now,
        }
    }

    /// Asks one address after the other until one answers; else why each has not.
    ///
    /// # Errors
    ///
    /// That of each address that was asked, in order.
    pub fn first_that_answers<T, E: From<io::Error>>(
        &mut self,
        limit: Duration,
        ask: impl Fn(SocketAddr, &Attempt) -> Result<T, E>,
    ) -> Result<T, Vec<E>> {
        let mut failures = Vec::new();
        let mut attempts = self.attempts(limit);
        while let Some(next) = attempts.next() {
            let attempt = match next {
                Ok(attempt) => attempt,
                Err((_, why)) => {
                    failures.push(why.into());
                    continue;
                }
            };
            // Those who call this take no folders.
            let answer = match attempt.address {
                Some(address) => ask(address, &attempt),
                None => Err(io::Error::from(ErrorKind::AddrNotAvailable).into()),
            };
            match answer {
                Ok(answer) => {
                    attempts.answered(&attempt);
                    return Ok(answer);
                }
                Err(error) => failures.push(error),
            }
        }
        Err(failures)
    }

    /// Notes that an address has answered.
    pub fn answered(&mut self, attempt: &Attempt) {
        let place = attempt.place;
        self.last_resort = self.last_resort.filter(|last| *last != place);
        self.first = Some(place);
    }

    /// Notes that the server which answered last did not answer in time later on.
    pub fn is_silent(&mut self) {
        self.last_resort = self.first.take().or(self.last_resort);
    }

    /// Moves the address that answered last to the front, and the last resort to the end.
    fn sort<T>(&self, of: &mut [T], is_at: impl Fn(&Place, &T) -> bool) {
        of.sort_by_key(|it| {
            let is = |place: &Option<Place>| place.as_ref().is_some_and(|place| is_at(place, it));
            (is(&self.last_resort), !is(&self.first))
        });
    }

    /// The places of a host, in the order in which they are asked.
    fn places(&mut self, host: usize, limit: Duration) -> io::Result<VecDeque<Place>> {
        let Host { name, port } = &self.hosts[host];
        if name.starts_with('/') {
            return Ok([(host, None)].into());
        }
        let addresses = match name.parse::<IpAddr>() {
            Ok(address) => vec![SocketAddr::new(address, *port)],
            Err(_) => self.looked_up(host, limit)?,
        };
        let mut places: Vec<_> = addresses.into_iter().map(|it| (host, Some(it))).collect();
        self.sort(&mut places, |place, it| place == it);
        Ok(places.into())
    }

    /// Looks up a name in a thread: the system's resolver has no time limit that could be set here.
    fn looked_up(&mut self, host: usize, limit: Duration) -> io::Result<Vec<SocketAddr>> {
        let lookup = match self
            .lookup
            .take()
            .filter(|lookup: &Lookup| lookup.host == host && lookup.process == process::id())
        {
            Some(lookup) => lookup,
            None => self.begin_lookup(host)?,
        };
        match lookup.answer.recv_timeout(limit) {
            Ok(Ok(addresses)) if addresses.is_empty() => {
                Err(io::Error::other("the name has no address"))
            }
            Ok(answer) => answer,
            Err(RecvTimeoutError::Timeout) => {
                self.lookup = Some(lookup);
                let why = "the name is not looked up in time: the resolver does not answer";
                Err(io::Error::new(ErrorKind::TimedOut, why))
            }
            Err(RecvTimeoutError::Disconnected) => Err(io::Error::other("the lookup has ended")),
        }
    }

    fn begin_lookup(&self, host: usize) -> io::Result<Lookup> {
        let (answers, answer) = mpsc::sync_channel(1);
        let (name, look_up) = (self.hosts[host].clone(), self.look_up);
        thread::Builder::new()
            .name("randflake-lookup".to_owned())
            // Nobody may wait for it any more.
            .spawn(move || _ = answers.send(look_up(&name)))?;
        Ok(Lookup {
            host,
            answer,
            process: process::id(),
        })
    }
}

/// `next` blocks while a name is looked up.
impl Iterator for Attempts<'_> {
    type Item = Result<Attempt, NoAddress>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.waiting.is_empty() {
            let host = self.hosts.pop_front()?;
            let limit = part(self.ends, self.hosts.len());
            self.host_ends = Instant::now() + limit;
            match self.addresses.places(host, limit) {
                Ok(places) => self.waiting = places,
                Err(why) => {
                    let host = self.addresses.hosts[host].clone();
                    return Some(Err((host, why)));
                }
            }
        }
        let place = self.waiting.pop_front()?;
        Some(Ok(Attempt {
            host: self.addresses.hosts[place.0].clone(),
            address: place.1,
            limit: part(self.host_ends, self.waiting.len()),
            place,
        }))
    }
}

impl Attempts<'_> {
    /// Notes that an address has answered, after which none is asked.
    pub fn answered(self, attempt: &Attempt) {
        self.addresses.answered(attempt);
    }
}

/// An equal part of the time that is left, if so many others wait for theirs.
fn part(ends: Instant, others: usize) -> Duration {
    let left = ends.saturating_duration_since(Instant::now());
    let parts = u32::try_from(others).unwrap_or(u32::MAX).saturating_add(1);
    (left / parts).max(SHORTEST)
}

/// Where it leads, for messages.
impl Display for Attempt {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match &self.address {
            Some(address) => Display::fmt(address, f),
            None => Display::fmt(&self.host, f),
        }
    }
}

impl Debug for Addresses {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(&self.hosts).finish()
    }
}

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
        location
            .hosts()
            .iter()
            .map(|host: &Host| Self {
                kind,
                name,
                host: host.clone(),
                encrypts_by,
            })
            .collect()
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
        match servers {
            [] => None,
            [only] => only.mistake(),
            _ => {
                let mistakes: Option<Vec<_>> = servers
                    .iter()
                    .map(|server: &Self| Some(format!("{}: {}", server.host, server.mistake()?)))
                    .collect();
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
        let mut addresses = Addresses::of(slice::from_ref(&self.host));
        let mut stream = addresses
            .first_that_answers(LIMIT, |address, attempt: &Attempt| {
                TcpStream::connect_timeout(&address, attempt.limit)
            })
            .ok()?;
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
#[cfg(not(miri))]
mod tests {
    use core::sync::atomic::{AtomicBool, AtomicU32, Ordering};

    use super::*;

    const LIMIT: Duration = Duration::from_secs(3_600);

    fn host(name: &str) -> Host {
        Host {
            name: name.to_owned(),
            port: 7,
        }
    }

    /// `a` has two addresses, `b` has one, and no other name is known.
    fn look_up(host: &Host) -> io::Result<Vec<SocketAddr>> {
        let numbers: &[u8] = match &*host.name {
            "a" => &[1, 2],
            "b" => &[3],
            "none" => &[],
            _ => return Err(io::Error::other("not known")),
        };
        let addresses = numbers
            .iter()
            .map(|it| ([127, 0, 0, *it], host.port).into());
        Ok(addresses.collect())
    }

    /// The order of a try in which no address answers, and how many parts of the time each gets.
    fn order(addresses: &mut Addresses) -> Vec<(String, u64)> {
        let mut attempts = addresses.attempts(LIMIT);
        let mut order = Vec::new();
        for next in attempts.by_ref() {
            order.push(match next {
                Ok(attempt) => (
                    attempt.to_string(),
                    LIMIT.as_secs() / (attempt.limit.as_secs() + 1),
                ),
                Err((host, why)) => (format!("{host}: {why}"), 0),
            });
        }
        order
    }

    fn answers(addresses: &mut Addresses, shown: &str) {
        let mut attempts = addresses.attempts(LIMIT);
        while let Some(next) = attempts.next() {
            if let Some(attempt) = next.ok().filter(|attempt| attempt.to_string() == shown) {
                return attempts.answered(&attempt);
            }
        }
        panic!("{shown} was not asked");
    }

    #[test]
    fn last_answering_address_is_first_a_silent_one_last() {
        let mut addresses = Addresses::looked_up_by(&[host("a"), host("b")], look_up);
        let places = |order: Vec<(String, u64)>| -> Vec<String> {
            order.into_iter().map(|(place, _)| place).collect()
        };
        let [first, second, third] = ["127.0.0.1:7", "127.0.0.2:7", "127.0.0.3:7"];
        assert_eq!(places(order(&mut addresses)), [first, second, third]);
        answers(&mut addresses, third);
        assert_eq!(places(order(&mut addresses)), [third, first, second]);
        answers(&mut addresses, second);
        assert_eq!(places(order(&mut addresses)), [second, first, third]);
        addresses.is_silent();
        assert_eq!(places(order(&mut addresses)), [third, first, second]);
        // It is told again only of one that has answered since.
        addresses.is_silent();
        assert_eq!(places(order(&mut addresses)), [third, first, second]);
        answers(&mut addresses, second);
        assert_eq!(places(order(&mut addresses)), [second, first, third]);
    }

    #[test]
    fn each_address_has_an_equal_part_of_what_is_left() {
        let hosts = [host("a"), host("::1"), host("/run/pg")];
        let mut addresses = Addresses::looked_up_by(&hosts, look_up);
        // No time passes between them, so what the first ones leave is shared by the others.
        let expected = [
            ("127.0.0.1:7", 6),
            ("127.0.0.2:7", 3),
            ("[::1]:7", 2),
            ("%2Frun%2Fpg:7", 1),
        ]
        .map(|(place, parts)| (place.to_owned(), parts));
        assert_eq!(order(&mut addresses), expected);
        let hosts = [host("none"), host("other"), host("b")];
        let mut addresses = Addresses::looked_up_by(&hosts, look_up);
        let expected = [
            ("none:7: the name has no address", 0),
            ("other:7: not known", 0),
            ("127.0.0.3:7", 1),
        ]
        .map(|(place, parts)| (place.to_owned(), parts));
        assert_eq!(order(&mut addresses), expected);
    }

    #[test]
    fn silent_resolver_does_not_hide_the_next_host() {
        static ANSWERS: AtomicBool = AtomicBool::new(false);
        static ASKED: AtomicU32 = AtomicU32::new(0);
        let mut addresses = Addresses::looked_up_by(&[host("slow"), host("::1")], |_| {
            ASKED.fetch_add(1, Ordering::Relaxed);
            while !ANSWERS.load(Ordering::Relaxed) {
                thread::yield_now();
            }
            Ok(vec![([127, 0, 0, 9], 7).into()])
        });
        for _ in 0..3 {
            let mut attempts = addresses.attempts(Duration::from_millis(4));
            let (_, why) = attempts.next().unwrap().unwrap_err();
            assert_eq!(why.kind(), ErrorKind::TimedOut);
            let next = attempts.next().unwrap().unwrap();
            assert_eq!(next.to_string(), "[::1]:7");
        }
        ANSWERS.store(true, Ordering::Relaxed);
        let order: Vec<_> = order(&mut addresses).into_iter().map(|it| it.0).collect();
        assert_eq!(order, ["127.0.0.9:7", "[::1]:7"]);
        assert_eq!(ASKED.load(Ordering::Relaxed), 1);
    }

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
