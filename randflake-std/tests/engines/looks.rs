//! Holders that look at their store between renewals, on real servers: what is taken back under
//! them is noticed by a look, and not by the renewal that is due much later.

use core::time::Duration;
use std::fs;
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Instant;

use harness::engine::ServerEngine;
use harness::etcd::{Backup, EtcdCluster};
use harness::mariadb::{MariadbServer, with_database};
use harness::postgres::PostgresServer;
use harness::redis::RedisServer;
use randflake_std::lease::{Namespace, open};
use randflake_std::{Builder, Handle, Plain, Randflake};

use crate::watched::{Watcher, watched};
use randflake_lease::testkit::leases::declared_new;

/// A renewal is due after 20 s, and a look each 3 s.
const TTL: Duration = Duration::from_secs(60);
/// Far longer than what is waited for takes, on a busy machine too.
const PATIENCE: Duration = Duration::from_secs(120);

/// What a holder has asked its server for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Call {
    /// Whether its leases are there.
    Look,
    /// A renewal or an acquire.
    Renewal,
}

type Calls = Arc<Mutex<Vec<Call>>>;

#[derive(Debug)]
struct Log(Calls);

impl Watcher for Log {
    fn begins(&mut self, ttl: Duration) {
        // A look has less time than a renewal.
        let call = if ttl < TTL { Call::Look } else { Call::Renewal };
        self.0.lock().unwrap().push(call);
    }
}

/// A holder on a server, and its calls since it has a lease.
struct Holder {
    handle: Handle<Randflake, Plain>,
    calls: Calls,
}

impl Holder {
    fn on(url: &str) -> Self {
        let namespace = Namespace::new("looks", Randflake).unwrap();
        let store = declared_new(url, open(url, &namespace).unwrap()).unwrap();
        let calls = Calls::default();
        let store = watched(store, Log(Arc::clone(&calls)));
        let handle = Builder::new(Randflake, Plain, store)
            .ttl(TTL)
            .build()
            .unwrap();
        calls.lock().unwrap().clear();
        Self { handle, calls }
    }

    fn wait_for(&self, what: impl Fn(&Self) -> bool) {
        let begin = Instant::now();
        while !what(self) {
            assert!(begin.elapsed() < PATIENCE, "{:?}", self.calls);
            thread::sleep(Duration::from_millis(20));
        }
    }

    fn looks(&self) -> usize {
        let calls = self.calls.lock().unwrap();
        calls.iter().filter(|call| **call == Call::Look).count()
    }

    /// Waits until it knows that its lease is lost, which a look has told it, and no renewal that
    /// was due.
    fn stops_after_a_look(&self) {
        self.wait_for(|holder| holder.handle.lease().losses.forgotten > 0);
        assert!(self.handle.generate().is_err());
        let calls = self.calls.lock().unwrap();
        let first_renewal = calls.iter().position(|call| *call == Call::Renewal);
        let looks = &calls[..first_renewal.unwrap_or(calls.len())];
        assert!(!looks.is_empty(), "{calls:?}");
    }
}

#[test]
fn look_notices_an_etcd_that_is_set_back() {
    // The second as after a disaster, with the only member that is left.
    for settings in [&[][..], &["--force-new-cluster"]] {
        let mut cluster = EtcdCluster::start_with(1, settings);
        let url = cluster.url();
        drop(Holder::on(&url));
        let backup = Backup::of(&mut cluster);
        let holder = Holder::on(&url);
        backup.restore(&mut cluster);
        holder.stops_after_a_look();
    }
}

#[test]
fn look_notices_a_schema_that_is_renamed_away() {
    let server = PostgresServer::start();
    let url = server.url_at(server.port());
    let holder = Holder::on(&url);
    let mut admin = server.client("postgres");
    let rename = "ALTER SCHEMA randflake RENAME TO away";
    admin.batch_execute(rename).unwrap();
    holder.stops_after_a_look();
}

/// A holder that was granted a lease in the schema that stood in its place.
#[test]
fn look_notices_a_schema_that_is_renamed_back() {
    let server = PostgresServer::start();
    let url = server.url_at(server.port());
    let namespace = Namespace::new("looks", Randflake).unwrap();
    let mut former = open(&url, &namespace).unwrap();
    former.administration().override_quarantine().unwrap();
    let mut admin = server.client("postgres");
    let rename = "ALTER SCHEMA randflake RENAME TO away";
    admin.batch_execute(rename).unwrap();
    let holder = Holder::on(&url);
    let back = "ALTER SCHEMA randflake RENAME TO other; ALTER SCHEMA away RENAME TO randflake";
    admin.batch_execute(back).unwrap();
    holder.stops_after_a_look();
}

#[test]
fn look_notices_tables_that_are_made_anew() {
    let server = with_database(MariadbServer::start());
    let url = server.url_at(server.port());
    let holder = Holder::on(&url);
    let mut admin = server.client(None);
    for statement in ["DROP DATABASE ids", "CREATE DATABASE ids"] {
        admin.query_drop(statement).unwrap();
    }
    holder.stops_after_a_look();
}

/// Longer than from one look to the next.
#[test]
fn look_notices_a_server_that_comes_back_empty() {
    let mut redis = RedisServer::start();
    let holder = Holder::on(&redis.url());
    redis.server.kill();
    holder.wait_for(|holder| holder.looks() >= 2);
    for file in fs::read_dir(redis.server.folder()).unwrap() {
        let path = file.unwrap().path();
        if path.is_dir() {
            fs::remove_dir_all(path).unwrap();
        }
    }
    redis.server.restart();
    holder.stops_after_a_look();
}
