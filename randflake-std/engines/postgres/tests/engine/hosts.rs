//! Servers with several addresses, of which some do not answer.

use core::net::{Ipv4Addr, SocketAddr};
use core::time::Duration;
use std::fs::{self, Permissions};
use std::net::{TcpListener, TcpStream};
use std::os::unix::fs::PermissionsExt;

use harness::free_port;
use harness::postgres::PostgresServer;
use randflake_lease::testkit::server;
use randflake_lease::{LeaseStore, StoreError};
use randflake_postgres::ENGINE;

use randflake_lease::testkit::leases::declared_new;
use randflake_lease::testkit::leases::{TTL, acquire_one, eight};

/// A server that takes connections and says nothing.
struct SilentServer(TcpListener);

impl SilentServer {
    fn start() -> Self {
        // The kernel completes connections that wait to be accepted.
        Self(TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap())
    }

    fn address(&self) -> SocketAddr {
        self.0.local_addr().unwrap()
    }

    /// Ends the connections that were made since the last call; returns how many there were.
    fn connections(&self) -> usize {
        self.0.set_nonblocking(true).unwrap();
        self.0.incoming().map_while(Result::ok).count()
    }

    /// Fills the queue of connections: packets of further ones are dropped.
    fn drop_further(&self) -> Vec<TcpStream> {
        const QUICK: Duration = Duration::from_millis(100);
        (0..512)
            .map_while(|_| TcpStream::connect_timeout(&self.address(), QUICK).ok())
            .collect()
    }
}

fn store(url: &str) -> Result<LeaseStore, StoreError> {
    declared_new(url, server::open(&ENGINE, url, &eight("orders"))?)
}

#[test]
fn silent_postgres_host_does_not_hide_the_next() {
    let sockets = tempfile::tempdir().unwrap();
    // The server is another user's.
    fs::set_permissions(sockets.path(), Permissions::from_mode(0o777)).unwrap();
    let folder = sockets.path().to_str().unwrap();
    let setting = format!("unix_socket_directories={folder}");
    let server = PostgresServer::start_with(&[&setting]);
    let live = format!("127.0.0.1:{}", server.port);
    let url = |hosts: &[&str]| format!("postgres://postgres@{}/postgres", hosts.join(","));
    let silent = SilentServer::start();
    let dropping = SilentServer::start();
    let _queue = dropping.drop_further();
    let refusing = format!("127.0.0.1:{}", free_port());
    let [silent_host, dropping_host] = [&silent, &dropping].map(|dead| dead.address().to_string());

    for dead in [&refusing, &dropping_host, &silent_host] {
        let mut store = store(&url(&[dead, &live])).unwrap();
        let grant = acquire_one(&mut store, 1);
        store.renew(&[grant], TTL).unwrap().ends[0].unwrap();
        store.release(&[grant]).unwrap();
    }

    // The next connection begins with the host that answered.
    let mut store = store(&url(&[&silent_host, &live])).unwrap();
    silent.connections();
    acquire_one(&mut store, 2);
    let others = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity
        WHERE application_name = 'randflake'";
    server.client("postgres").batch_execute(others).unwrap();
    // A read, which is repeated if the end comes while it is asked.
    store.list().unwrap();
    assert_eq!(silent.connections(), 0);

    // Of several failures each is named, and one that lasts is not taken for an outage.
    let wrong = format!("postgres://postgres@{refusing},{live}/none");
    let refused = server::open(&ENGINE, &wrong, &eight("orders")).unwrap_err();
    assert!(
        matches!(refused, StoreError::FailedPrecondition(_)),
        "{refused}"
    );
    let refused = refused.to_string();
    for said in [&*refusing, "refused", &*live, "\"none\" does not exist"] {
        assert!(refused.contains(said), "{refused}");
    }

    // The folder of a Unix socket is a host too.
    let folder = folder.replace('/', "%2F");
    let socket = format!("{folder}:{}", server.port);
    let mut store = self::store(&url(&[&socket])).unwrap();
    acquire_one(&mut store, 3);
}
