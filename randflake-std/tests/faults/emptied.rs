//! A server comes back without its data, while holders of before issue: as a container without its
//! volume does.

use core::time::Duration;
use std::thread;

use harness::engine::ServerEngine;
use harness::etcd::EtcdCluster;
use harness::mariadb::{MariadbServer, with_database};
use harness::postgres::PostgresServer;
use harness::redis::RedisServer;
use libtest_mimic::Trial;
use randflake_std::lease::{self, QuarantineCause, StoreError};

use crate::fleet::Fleet;
use crate::issuer::{TTL, namespace};
use crate::scenarios::{begin, end_quarantine, patiently};
use crate::trial;

pub(crate) fn trials() -> [Trial; 4] {
    let name = |engine: &str| format!("{engine}::server_that_comes_back_empty_repeats_nothing");
    [
        trial(&name("redis"), || {
            let redis = RedisServer::start();
            repeats_nothing(&redis, || drop(redis.ask("FLUSHALL")));
        }),
        trial(&name("etcd"), || {
            let cluster = EtcdCluster::start(1);
            // From the first possible key on.
            let all = r#"{"key":"AA==","range_end":"AA=="}"#;
            repeats_nothing(&cluster, || {
                drop(cluster.members[0].post("kv/deleterange", all));
            });
        }),
        trial(&name("postgres"), || {
            let server = PostgresServer::start();
            let url = server.url("ids");
            let remake = || {
                let mut client = server.client("postgres");
                for statement in [
                    "DROP DATABASE IF EXISTS ids WITH (FORCE)",
                    "CREATE DATABASE ids",
                ] {
                    client.batch_execute(statement).unwrap();
                }
            };
            remake();
            is_noticed(&url, remake);
        }),
        trial(&name("mariadb"), || {
            let server = with_database(MariadbServer::start());
            repeats_nothing(&server, || {
                let mut client = server.client(None);
                for statement in ["DROP DATABASE ids", "CREATE DATABASE ids"] {
                    client.query_drop(statement).unwrap();
                }
            });
        }),
    ]
}

fn repeats_nothing(engine: &impl ServerEngine, empty: impl FnOnce()) {
    is_noticed(&engine.url(), empty);
}

fn is_noticed(url: &str, empty: impl FnOnce()) {
    const NAME: &str = "emptied";
    let mut fleet = Fleet::new(url.to_owned(), NAME);
    begin(url, NAME);
    let ttls = 6;
    let mut running: Vec<_> = (0..3).map(|_| fleet.start(TTL * ttls)).collect();
    thread::sleep(TTL / 2);
    empty();
    // These know of nothing, and are granted nothing.
    running.extend((0..3).map(|_| fleet.start(TTL * (ttls - 1))));
    thread::sleep(TTL * 2);
    let quarantine = patiently(|| {
        lease::open(url, &namespace(NAME))?
            .administration()
            .current_quarantine()
    })
    .unwrap();
    // The holders of before have missed their leases: so it is not new.
    assert_eq!(quarantine.cause, QuarantineCause::Lost);
    let wait = quarantine.until.saturating_sub(quarantine.since);
    assert!(wait >= Duration::from_secs(320), "{wait:?}");
    // Who came since then waits in the same one.
    thread::sleep(TTL / 2);
    let later = patiently(|| {
        lease::open(url, &namespace(NAME))?
            .administration()
            .current_quarantine()
    });
    assert_eq!(later, Some(quarantine));
    let refused = lease::open(url, &namespace(NAME))
        .and_then(|mut store| store.administration().end_quarantine());
    let is_refused = matches!(
        refused,
        Err(StoreError::NotNew(_) | StoreError::Unavailable(_))
    );
    assert!(is_refused, "{refused:?}");
    // All that was forgotten has expired by now.
    end_quarantine(url, NAME);
    fleet.finish(running);
}
