//! Faults of Redis alone: a replica that takes over. Trials of `tests/faults`.

use core::time::Duration;
use std::thread;

use harness::proxy::{Network, Proxy};
use harness::redis::RedisServer;
use libtest_mimic::Trial;

use crate::fleet::Fleet;
use crate::issuer::TTL;
use crate::scenarios::begin;
use crate::trial;

pub(crate) fn trials() -> [Trial; 1] {
    [trial(
        "redis::a_replica_takes_over_after_a_cut_link",
        a_replica_takes_over,
    )]
}

fn a_replica_takes_over() {
    let first = RedisServer::start();
    let link = Proxy::to(first.port);
    let replica = RedisServer::start_with(&["--replicaof", "127.0.0.1", &link.port.to_string()]);
    // Where clients find whichever is the master.
    let service = Proxy::to(first.port);
    let url = format!("redis://127.0.0.1:{}", service.port);
    begin(&url, "failover");
    while !replica
        .ask("INFO replication")
        .contains("master_link_status:up")
    {
        thread::sleep(Duration::from_millis(20));
    }
    let mut fleet = Fleet::new(url, "failover");
    let ttls = 13;
    let mut running: Vec<_> = (0..3).map(|_| fleet.start(TTL * ttls)).collect();
    thread::sleep(TTL / 2);
    link.set(Network::Cut);
    // The replica never hears of these, nor of any renewal from now on.
    running.extend((0..3).map(|_| fleet.start(TTL * (ttls - 1))));
    thread::sleep(TTL / 2);
    replica.ask("REPLICAOF NO ONE");
    service.lead_to(replica.port);
    running.extend((0..3).map(|_| fleet.start(TTL * (ttls - 2))));
    fleet.finish(running);
}
