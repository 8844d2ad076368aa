//! Names with several addresses, of which the first is dead; and a resolver that never answers.

use core::net::{Ipv4Addr, Ipv6Addr};
use core::time::Duration;
use std::fs;
use std::net::{TcpListener, TcpStream, UdpSocket};
use std::process::Command;
use std::sync::Once;
use std::thread;
use std::time::Instant;

use harness::engine::{ENGINES, ServerEngine, Start};
use harness::etcd::EtcdCluster;
use libtest_mimic::Trial;
use randflake_std::lease::{StoreError, Token};

use crate::clients::{LONG, acquire, open};
use crate::trial;

/// A name with two addresses: the first is dead, and servers of tests listen at the second.
const NAME: &str = "two.test";
const DEAD: Ipv6Addr = Ipv6Addr::LOCALHOST;
/// A resolver that takes questions.
const RESOLVER: Ipv4Addr = Ipv4Addr::new(127, 0, 0, 53);
/// Far longer than what is waited for takes, on a busy machine too.
const PATIENCE: Duration = Duration::from_secs(60);

pub(crate) fn trials() -> impl Iterator<Item = Trial> {
    let others = [
        trial(
            "a_silent_resolver_has_the_time_of_a_request",
            a_silent_resolver_has_the_time_of_a_request,
        ),
        trial(
            "etcd::an_address_that_drops_does_not_hide_the_next_one",
            an_address_that_drops_does_not_hide_the_next_one,
        ),
    ];
    // The client of etcd asks the first address that takes a connection.
    let engines = ENGINES.iter().filter(|engine| engine.name != "etcd");
    let engines = engines.map(|engine| {
        let name = format!(
            "{}::a_silent_address_does_not_hide_the_next_one",
            engine.name
        );
        trial(&name, move || {
            a_silent_address_does_not_hide_the_next_one(engine.start);
        })
    });
    engines.chain(others)
}

/// Mounts of this program alone.
fn set_names() {
    static SET: Once = Once::new();
    SET.call_once(|| {
        let hosts = format!("127.0.0.1 localhost\n{DEAD} {NAME}\n127.0.0.1 {NAME}\n");
        let resolver = format!("nameserver {RESOLVER}\noptions timeout:30 attempts:5\n");
        for (file, text) in [("hosts", hosts), ("resolv.conf", resolver)] {
            let own = format!("/run/{file}");
            fs::write(&own, text).unwrap();
            let mounted = Command::new("mount")
                .args(["--bind", &own, &format!("/etc/{file}")])
                .status();
            assert!(mounted.unwrap().success(), "{file}");
        }
    });
}

fn a_silent_address_does_not_hide_the_next_one(start: Start) {
    set_names();
    let mut server = start();
    // The kernel takes the connections.
    let dead = TcpListener::bind((DEAD, server.port())).unwrap();
    dead.set_nonblocking(true).unwrap();
    let connections = || dead.incoming().map_while(Result::ok).count();
    let mut store = open(&server.url().replace("127.0.0.1", NAME)).unwrap();
    store.administration().end_quarantine().unwrap();
    acquire(&mut store, Token::random().unwrap(), "holder", LONG).unwrap();
    assert!(connections() > 0, "the first address is not asked");
    // The next connection begins with the address that answered.
    server.server().restart();
    store.list().unwrap();
    assert_eq!(connections(), 0);
}

fn an_address_that_drops_does_not_hide_the_next_one() {
    const QUICK: Duration = Duration::from_millis(100);
    set_names();
    let server = EtcdCluster::start(1);
    let dead = TcpListener::bind((DEAD, server.port())).unwrap();
    let address = dead.local_addr().unwrap();
    // Once its queue is full, packets of further ones are dropped.
    let _queue: Vec<_> = (0..512)
        .map_while(|_| TcpStream::connect_timeout(&address, QUICK).ok())
        .collect();
    let mut store = open(&ServerEngine::url(&server).replace("127.0.0.1", NAME)).unwrap();
    store.administration().end_quarantine().unwrap();
    acquire(&mut store, Token::random().unwrap(), "holder", LONG).unwrap();
}

/// Without a limit, the system's resolver would take 150 s.
fn a_silent_resolver_has_the_time_of_a_request() {
    set_names();
    let _silent = UdpSocket::bind((RESOLVER, 53)).unwrap();
    thread::scope(|scope| {
        for url in [
            "redis://nowhere.test",
            "etcd://nowhere.test",
            "postgres://ids@nowhere.test/ids",
            "mysql://ids@nowhere.test/ids",
        ] {
            scope.spawn(move || {
                let begun = Instant::now();
                let refused = open(url).unwrap_err();
                assert!(matches!(refused, StoreError::Unavailable(_)), "{refused}");
                assert!(begun.elapsed() < PATIENCE, "{url}: {:?}", begun.elapsed());
            });
        }
    });
}
