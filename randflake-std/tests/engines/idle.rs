//! Connections that end while nothing is asked, because a server or something before it limits how
//! long they may be idle.

use core::time::Duration;
use std::thread;

use harness::engine::ServerEngine;
use harness::etcd::EtcdCluster;
use harness::mariadb::{MariadbServer, with_database};
use harness::postgres::PostgresServer;
use harness::proxy::{IdleEnd, Proxy};
use harness::redis::RedisServer;
use randflake_std::lease::open;

use randflake_lease::testkit::leases::declared_new;
use randflake_lease::testkit::leases::{TTL, acquire_one, eight};

/// A renewal is due after a longer time than this.
const IDLE: Duration = Duration::from_secs(1);
const PAUSE: Duration = Duration::from_millis(1_500);

/// Each renewal is the first request after the end of the connection.
fn renewals_are_answered(name: &str, engine: &dyn ServerEngine, end: Option<IdleEnd>) {
    let proxy = Proxy::to(engine.port());
    let direct = engine.url();
    let url = end.map_or_else(|| direct.clone(), |_| engine.url_at(proxy.port));
    let namespace = eight(&format!("idle{}", end.map_or(0, |end| end as u8)));
    let mut store = declared_new(&direct, open(&url, &namespace).unwrap()).unwrap();
    let grant = acquire_one(&mut store, 1);
    if let Some(end) = end {
        proxy.end_idle(IDLE, end);
    }
    for _ in 0..2 {
        thread::sleep(PAUSE);
        let renewed = store.renew(&[grant], TTL);
        assert!(
            renewed
                .as_ref()
                .is_ok_and(|renewed| renewed.ends[0].is_ok()),
            "{name}, {end:?}: {renewed:?}"
        );
    }
}

#[test]
fn renewal_survives_an_ended_idle_connection() {
    let mariadb = with_database(MariadbServer::start_with(&["--wait-timeout=1"]));
    let [redis, etcd, postgres]: [Box<dyn ServerEngine>; 3] = [
        Box::new(RedisServer::start()),
        Box::new(EtcdCluster::start(1)),
        Box::new(PostgresServer::start()),
    ];
    let engines: [(&str, Box<dyn ServerEngine>); 4] = [
        ("redis", redis),
        ("etcd", etcd),
        ("postgres", postgres),
        ("mariadb", Box::new(mariadb)),
    ];
    thread::scope(|scope| {
        for (name, engine) in engines {
            scope.spawn(move || {
                // Without a proxy: the server's own limit, where it has one.
                for end in [None, Some(IdleEnd::Closes), Some(IdleEnd::Forgets)] {
                    renewals_are_answered(name, &*engine, end);
                }
            });
        }
    });
}
