//! Addresses of a server: their order, and the time limit of each.

use core::fmt::{self, Debug, Display, Formatter};
use core::net::{IpAddr, SocketAddr};
use core::time::Duration;
use std::collections::VecDeque;
use std::io;
use std::net::ToSocketAddrs;
use std::process;
use std::sync::mpsc::{self, Receiver, RecvTimeoutError};
use std::thread;
use std::time::Instant;

use super::url::Host;

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
                None => Err(io::Error::from(io::ErrorKind::AddrNotAvailable).into()),
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
        let is_own = |lookup: &Lookup| lookup.host == host && lookup.process == process::id();
        let lookup = match self.lookup.take().filter(is_own) {
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
                Err(io::Error::new(io::ErrorKind::TimedOut, why))
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
        ];
        let expected = expected.map(|(place, parts)| (place.to_owned(), parts));
        assert_eq!(order(&mut addresses), expected);
        let hosts = [host("none"), host("other"), host("b")];
        let mut addresses = Addresses::looked_up_by(&hosts, look_up);
        let expected = [
            ("none:7: the name has no address", 0),
            ("other:7: not known", 0),
            ("127.0.0.3:7", 1),
        ];
        let expected = expected.map(|(place, parts)| (place.to_owned(), parts));
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
            assert_eq!(why.kind(), io::ErrorKind::TimedOut);
            let next = attempts.next().unwrap().unwrap();
            assert_eq!(next.to_string(), "[::1]:7");
        }
        ANSWERS.store(true, Ordering::Relaxed);
        let order: Vec<_> = order(&mut addresses).into_iter().map(|it| it.0).collect();
        assert_eq!(order, ["127.0.0.9:7", "[::1]:7"]);
        assert_eq!(ASKED.load(Ordering::Relaxed), 1);
    }
}
