//! The power is cut right after an answer: what was answered is kept, by the settings that each store asks
//! for. Where a setting is wrong behind the store's back, leases are lost, so this test can see it.

use core::time::Duration;
use std::path::Path;
use std::{fs, thread};

use libtest_mimic::Trial;
use randflake_std::lease::{Grant, LeaseStore, StoreError, Token};
use tempfile::TempDir;

use crate::clients::{Clients, LONG, acquire, open};
use crate::disk::Disk;
use crate::engine::{Engine, with_database};
use crate::engines::etcd::EtcdCluster;
use crate::engines::mariadb::MariadbServer;
use crate::engines::postgres::PostgresServer;
use crate::engines::redis::RedisServer;
use crate::engines::server::{kill, working_in};
use crate::trial;

const CLIENTS: usize = 4;
/// How many work before each cut. A single one syncs nothing for the others.
const CUTS: [usize; 4] = [1, CLIENTS, 1, CLIENTS];
const DISK_MEGABYTES: u64 = 768;
/// How much is answered before a cut.
const ANSWERS: usize = 100;

const WITH_BINARY_LOG: [&str; 3] = ["--log-bin", "--server-id=1", "--sync-binlog=1"];

pub(crate) fn trials() -> Vec<Trial> {
    vec![
        trial("redis::power_is_cut", || {
            keeps_all(RedisServer::start(), end_quarantine);
        }),
        trial("etcd::power_is_cut", || {
            keeps_all(EtcdCluster::start(1), |_| {});
        }),
        trial("postgres::power_is_cut", || {
            keeps_all(PostgresServer::start(), |_| {});
        }),
        trial("mariadb::power_is_cut", || {
            keeps_all(with_database(MariadbServer::start()), |_| {});
        }),
        trial("mariadb::power_is_cut_with_a_binary_log", || {
            let server = MariadbServer::start_with(&WITH_BINARY_LOG);
            keeps_all(with_database(server), |_| {});
        }),
        trial("mariadb::a_binary_log_that_is_not_synced_is_seen", || {
            let server = with_database(MariadbServer::start_with(&WITH_BINARY_LOG));
            loses_some(
                server,
                |_| {},
                |server, is_synced| {
                    if !is_synced {
                        let unsync = "SET GLOBAL sync_binlog = 0";
                        server.client(None).query_drop(unsync).unwrap();
                    }
                },
            );
        }),
        trial("postgres::a_log_that_is_not_synced_is_seen", || {
            loses_some(
                PostgresServer::start(),
                |_| {},
                |server, is_synced| {
                    let file = server.server.folder().join("data/postgresql.auto.conf");
                    if is_synced {
                        fs::write(file, "").unwrap();
                    } else {
                        fs::write(file, "fsync = off").unwrap();
                        let mut client = server.client("postgres");
                        client.execute("SELECT pg_reload_conf()", &[]).unwrap();
                    }
                },
            );
        }),
        trial(
            "redis::a_log_that_is_not_synced_is_seen_and_fenced",
            not_synced_by_redis,
        ),
    ]
}

/// An engine on a disk whose power can be cut, and its clients.
struct Machine<E: Engine> {
    engine: E,
    disk: Disk,
    clients: Clients,
    /// Makes the store grant at once after a start.
    ready: fn(&E),
}

impl<E: Engine> Machine<E> {
    fn new(mut engine: E, ready: fn(&E)) -> Self {
        engine.server().kill();
        end_all_in(engine.server().folder());
        let beside = TempDir::new().unwrap();
        let disk = Disk::under(engine.server().folder(), beside, DISK_MEGABYTES);
        engine.server().restart();
        let clients = Clients::new(&vec![engine.url(); CLIENTS], LONG);
        ready(&engine);
        Self {
            engine,
            disk,
            clients,
            ready,
        }
    }

    fn work(&mut self) {
        self.clients
            .work_while(CLIENTS, |ledger| ledger.after(ANSWERS, |_| {}));
    }

    /// Cuts the power right after an answer, while some clients work.
    fn cut(&mut self, working: usize) {
        let Self {
            engine,
            disk,
            clients,
            ..
        } = self;
        clients.work_while(working, |ledger| {
            ledger.after(ANSWERS, |ledger| {
                disk.cut();
                ledger.cut();
            });
            engine.server().kill();
        });
        end_all_in(engine.server().folder());
        disk.power_on();
    }

    /// What was answered before, and is lost.
    fn start(&mut self) -> Vec<Grant> {
        self.engine.server().restart();
        let kept = open(&self.engine.url()).unwrap().list().unwrap();
        let mut ledger = self.clients.ledger();
        ledger.restore();
        ledger.lost(&kept)
    }
}

impl<E: Engine> Drop for Machine<E> {
    fn drop(&mut self) {
        self.engine.server().kill();
        end_all_in(self.engine.server().folder());
    }
}

/// A machine without power runs none of a server's processes. Those of PostgreSQL may wait for one another for
/// ever when one of them could not write.
fn end_all_in(folder: &Path) {
    loop {
        let processes = working_in(folder);
        if processes.is_empty() {
            return;
        }
        processes.into_iter().for_each(kill);
        thread::sleep(Duration::from_millis(5));
    }
}

fn keeps_all<E: Engine>(engine: E, ready: fn(&E)) {
    let mut machine = Machine::new(engine, ready);
    for working in CUTS {
        machine.cut(working);
        let lost = machine.start();
        assert_eq!(lost, [], "answered and lost, with {working} clients");
        (machine.ready)(&machine.engine);
    }
    // The referee watches what is granted now.
    machine.work();
}

/// With a server that syncs no more when all clients have found it fit, and does again when it starts.
fn loses_some<E: Engine>(engine: E, ready: fn(&E), set_synced: fn(&E, bool)) -> Machine<E> {
    let mut machine = Machine::new(engine, ready);
    // What the server does by itself, once a second or so, may sync it.
    for _ in CUTS {
        machine.work();
        set_synced(&machine.engine, false);
        machine.cut(1);
        set_synced(&machine.engine, true);
        if !machine.start().is_empty() {
            return machine;
        }
        (machine.ready)(&machine.engine);
    }
    panic!("this test sees no loss");
}

/// As the store's documentation has it: a crash loses leases then, which is noticed.
fn not_synced_by_redis() {
    let machine = loses_some(RedisServer::start(), end_quarantine, |server, is_synced| {
        if !is_synced {
            assert_eq!(server.ask("CONFIG SET appendfsync no"), "+OK\r\n");
        }
    });
    let mut store = open(&machine.engine.url()).unwrap();
    match acquire(&mut *store, Token::random().unwrap(), "another", LONG) {
        Err(StoreError::Quarantined { retry_in }) => assert!(retry_in > LONG, "{retry_in:?}"),
        other => panic!("{other:?}"),
    }
}

/// A new server waits, and so does one that was started again, though it has forgotten nothing here.
fn end_quarantine(server: &RedisServer) {
    open(&server.url()).unwrap().end_quarantine().unwrap();
}
