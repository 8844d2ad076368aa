//! A proxy that keeps the connections of its clients while the server behind it becomes another
//! one.

use core::sync::atomic::{AtomicUsize, Ordering};
use core::time::Duration;
use std::fs;
use std::io::{ErrorKind, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::path::Path;
use std::sync::Arc;
use std::thread;

use harness::redis::RedisServer;
use randflake_lease::CounterError;
use randflake_lease::{LeaseStore, Loss};
use randflake_redis::RedisStore;

use super::continuity::{open_at_once, quarantined_for, until};
use randflake_lease::testkit::leases::{TTL, acquire_one, eight};

/// How long each side is listened to before the other one.
const TURN: Duration = Duration::from_millis(2);

struct Proxy {
    port: u16,
    clients: Arc<AtomicUsize>,
}

impl Proxy {
    fn to(server: u16) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        let clients = Arc::new(AtomicUsize::new(0));
        let count = Arc::clone(&clients);
        // It ends with the test's process.
        thread::spawn(move || {
            for client in listener.incoming() {
                count.fetch_add(1, Ordering::Relaxed);
                thread::spawn(move || serve(client.unwrap(), server));
            }
        });
        Self { port, clients }
    }

    fn open(&self) -> LeaseStore {
        let url = format!("redis://127.0.0.1:{}", self.port);
        RedisStore::open(&url, &eight("orders")).unwrap()
    }
}

/// Until the client goes.
fn serve(mut client: TcpStream, port: u16) {
    client.set_read_timeout(Some(TURN)).unwrap();
    let mut server = None;
    let mut bytes = [0; 1 << 14];
    loop {
        match client.read(&mut bytes) {
            Ok(0) => return,
            Ok(len) => {
                let open = || {
                    let server = TcpStream::connect(("127.0.0.1", port)).unwrap();
                    server.set_read_timeout(Some(TURN)).unwrap();
                    server
                };
                let write = |server: &mut TcpStream| server.write_all(&bytes[..len]);
                if write(server.get_or_insert_with(open)).is_err() {
                    write(server.insert(open())).unwrap();
                }
            }
            Err(error) if is_early(&error) => {}
            Err(_) => return,
        }
        let Some(open) = &mut server else { continue };
        match open.read(&mut bytes) {
            Ok(len) if len > 0 => client.write_all(&bytes[..len]).unwrap(),
            Err(error) if is_early(&error) => {}
            // It went; the client is not told.
            _ => server = None,
        }
    }
}

fn is_early(error: &std::io::Error) -> bool {
    matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut)
}

fn copy(from: &Path, to: &Path) {
    fs::create_dir_all(to).unwrap();
    for entry in fs::read_dir(from).unwrap() {
        let file = entry.unwrap().path();
        fs::copy(&file, to.join(file.file_name().unwrap())).unwrap();
    }
}

/// Restarts a server with the data that it had before some work.
fn forget(redis: &mut RedisServer, work: impl FnOnce()) {
    let data = redis.server.folder().join("appendonlydir");
    let saved = tempfile::tempdir().unwrap();
    copy(&data, saved.path());
    work();
    redis.server.kill();
    fs::remove_dir_all(&data).unwrap();
    copy(saved.path(), &data);
    redis.server.restart();
}

#[test]
fn a_server_that_went_back_behind_a_proxy_is_noticed() {
    let mut redis = RedisServer::start();
    let proxy = Proxy::to(redis.port);
    let mut holder = proxy.open();
    holder.administration().end_quarantine().unwrap();
    let mut other = proxy.open();
    acquire_one(&mut other, 9);
    holder.counter().resume(1).unwrap();
    let clients = proxy.clients.load(Ordering::Relaxed);
    let mut grant = None;
    forget(&mut redis, || {
        grant = Some(acquire_one(&mut holder, 1));
        holder.counter().reserve(10).unwrap();
    });

    quarantined_for(&mut other);
    let lost = other.counter().reserve(1);
    assert!(matches!(lost, Err(CounterError::Lost { .. })), "{lost:?}");
    let ends = holder.renew(&[grant.unwrap()], TTL).unwrap().ends;
    assert_eq!(ends, [Err(Loss::Forgotten)]);
    assert_eq!(proxy.clients.load(Ordering::Relaxed), clients);
}

/// The write, too, asks which server it is: the one that was read may be gone by then.
#[test]
fn blind_renewal_is_not_made_on_another_server() {
    let mut redis = RedisServer::start();
    let proxy = Proxy::to(redis.port);
    let mut holder = proxy.open();
    holder.administration().end_quarantine().unwrap();
    let grant = acquire_one(&mut holder, 1);
    forget(&mut redis, || {});
    // It is still there, so it goes on; but the namespace was looked at first.
    holder.renew(&[grant], TTL).unwrap().ends[0].unwrap();
    assert!(
        holder
            .administration()
            .current_quarantine()
            .unwrap()
            .is_some()
    );
    quarantined_for(&mut holder);
}

/// The server forgets whom it followed once it has no replica for `repl-backlog-ttl`.
#[test]
fn a_master_that_was_a_replica_for_a_while_is_noticed() {
    let redis = RedisServer::start_with(&["--repl-backlog-ttl", "1"]);
    let mut store = open_at_once(&redis);
    let follows = |redis: &RedisServer, port: u16| {
        redis.ask(&format!("REPLICAOF 127.0.0.1 {port}"));
        until(|| {
            redis
                .ask("INFO replication")
                .contains("master_link_status:up")
        });
    };
    let stale = RedisServer::start();
    follows(&stale, redis.port);
    stale.ask("REPLICAOF NO ONE");
    let grant = acquire_one(&mut store, 1);

    follows(&redis, stale.port);
    redis.ask("REPLICAOF NO ONE");
    let zeros = format!("master_replid2:{}", "0".repeat(40));
    until(|| redis.ask("INFO replication").contains(&zeros));
    quarantined_for(&mut store);
    let renewed = store.renew(&[grant], TTL);
    assert!(
        !matches!(&renewed, Ok(renewed) if renewed.ends[0].is_ok()),
        "{renewed:?}"
    );
}
