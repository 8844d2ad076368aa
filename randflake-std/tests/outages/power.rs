//! The power is cut right after an answer: what was answered is kept, by the settings that each
//! store asks for. Where a setting is wrong behind the store's back, leases are lost, so this test
//! can see it.

use core::time::Duration;
use std::path::Path;
use std::thread;

use harness::disk::Disk;
use harness::engine::ServerEngine;
use harness::etcd::EtcdCluster;
use harness::mariadb::{MariadbServer, with_database};
use harness::postgres::PostgresServer;
use harness::redis::RedisServer;
use harness::server::{kill, working_in};
use libtest_mimic::Trial;
use randflake_std::lease::{Grant, LeaseStore, RequestId, StoreError, Token};
use tempfile::TempDir;

use crate::clients::{Clients, LONG, acquire, open, ticks};
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
        trial(
            "mariadb::what_is_shown_before_it_is_kept_is_not_told",
            shown_and_not_kept_by_mariadb,
        ),
        trial(
            "redis::a_log_that_is_not_synced_is_seen_and_quarantined",
            not_synced_by_redis,
        ),
    ]
}

/// An engine on a disk whose power can be cut, and its clients.
struct Machine<E: ServerEngine> {
    engine: E,
    disk: Disk,
    clients: Clients,
    /// Makes the store grant at once after a start.
    ready: fn(&E),
}

impl<E: ServerEngine> Machine<E> {
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

impl<E: ServerEngine> Drop for Machine<E> {
    fn drop(&mut self) {
        self.engine.server().kill();
        end_all_in(self.engine.server().folder());
    }
}

/// A machine without power runs none of a server's processes. Those of PostgreSQL may wait for one
/// another for ever when one of them could not write.
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

fn keeps_all<E: ServerEngine>(engine: E, ready: fn(&E)) {
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

/// `InnoDB` shows a row when its log is still on the way to the disk. A client whose answer was
/// lost asks again, through another server, and the power is cut: a renewal that it was told of is
/// there afterwards.
fn shown_and_not_kept_by_mariadb() {
    let mut machine = Machine::new(with_database(MariadbServer::start()), |_| {});
    let url = machine.engine.url("ids");
    let [mut first, mut second] = [(); 2].map(|()| open(&url).unwrap());
    let token = Token::random().unwrap();
    let granted = acquire(&mut first, token, "asks again", LONG)
        .unwrap()
        .client_grant();
    let request: RequestId = "renewal-1".parse().unwrap();
    let renew = |store: &mut LeaseStore| store.renew_for_client(&granted, ticks(LONG), &request);
    let end_of = |store: &mut LeaseStore| store.list().unwrap()[0].grant.end;
    let end = granted[0].grant.end;

    let frozen = machine.disk.freeze();
    let unknown = renew(&mut first).unwrap_err();
    assert!(matches!(unknown, StoreError::Unavailable(_)), "{unknown}");
    assert!(end_of(&mut second) > end, "the server shows nothing early");
    let repeated = renew(&mut second);
    // What still waits to be written fails from now on.
    machine.disk.cut();
    drop(frozen);
    machine.engine.server().kill();
    end_all_in(machine.engine.server().folder());
    machine.disk.power_on();
    machine.engine.server().restart();

    let mut after = open(&url).unwrap();
    assert_eq!(end_of(&mut after), end, "the renewal is not lost");
    if let Ok(renewed) = repeated {
        panic!("told and lost: {:?}", renewed.outcomes);
    }
}

/// As the store's documentation has it: a crash loses leases then, which is noticed. (PostgreSQL
/// and MariaDB are refused as soon as they sync no more, so with them there is no loss to see.)
fn not_synced_by_redis() {
    let mut machine = Machine::new(RedisServer::start(), end_quarantine);
    // What the server does by itself, once a second or so, may sync it.
    let mut losses = CUTS.iter().map(|_| {
        machine.work();
        let unsync = machine.engine.ask("CONFIG SET appendfsync no");
        assert_eq!(unsync, "+OK\r\n");
        machine.cut(1);
        let lost = machine.start();
        if lost.is_empty() {
            end_quarantine(&machine.engine);
        }
        lost
    });
    assert!(
        losses.any(|lost| !lost.is_empty()),
        "this test sees no loss"
    );
    let mut store = open(&machine.engine.url()).unwrap();
    match acquire(&mut store, Token::random().unwrap(), "another", LONG) {
        Err(StoreError::Quarantined { retry_in, .. }) => assert!(retry_in > LONG, "{retry_in:?}"),
        other => panic!("{other:?}"),
    }
}

/// A server that was started again waits, though it has forgotten nothing here.
fn end_quarantine(server: &RedisServer) {
    open(&server.url())
        .unwrap()
        .administration()
        .override_quarantine()
        .unwrap();
}
