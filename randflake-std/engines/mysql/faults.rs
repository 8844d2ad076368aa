//! Faults of MariaDB alone: a replica that takes over, a table that goes back. Trials of
//! `tests/faults`.

use std::thread;

use harness::engine::ServerEngine;
use harness::mariadb::{MariadbServer, with_database};
use harness::proxy::{Network, Proxy};
use libtest_mimic::Trial;

use crate::fleet::Fleet;
use crate::issuer::TTL;
use crate::scenarios::{begin, its_clock_jumps};
use crate::trial;

pub(crate) fn trials() -> [Trial; 4] {
    [
        trial("mariadb::an_asynchronous_replica_is_promoted", || {
            an_asynchronous_replica_is_promoted("");
        }),
        trial(
            "mariadb::a_replica_is_promoted_with_its_primarys_server_id",
            || an_asynchronous_replica_is_promoted("SET GLOBAL server_id = 1"),
        ),
        trial(
            "mariadb::the_table_of_records_goes_back_alone",
            the_table_of_records_goes_back_alone,
        ),
        trial("mariadb::the_engines_wall_clock_jumps_by_an_hour", || {
            its_clock_jumps(|clock| Box::new(with_database(MariadbServer::start_by(clock))));
        }),
    ]
}

/// After its link was cut, so that it never hears of some leases. The settings may belong to the
/// role, so that they change with it.
fn an_asynchronous_replica_is_promoted(by_role: &'static str) {
    let mut first = with_database(MariadbServer::start_with_log(1));
    let link = Proxy::to(first.port);
    let replica = MariadbServer::start_with(&["--server-id=2", "--read-only"]);
    replica.follow(link.port);
    // Where clients find whichever is the primary.
    let service = Proxy::to(first.port);
    let url = first.url_at(service.port);
    begin(&url, "failover");
    replica.catch_up_with(&first);
    let mut fleet = Fleet::new(url, "failover");
    let ttls = 13;
    let mut running: Vec<_> = (0..3).map(|_| fleet.start(TTL * ttls)).collect();
    thread::sleep(TTL / 2);
    link.set(Network::Cut);
    // The replica never hears of these, nor of any renewal from now on.
    running.extend((0..8).map(|_| fleet.start(TTL * (ttls - 1))));
    thread::sleep(TTL / 2);
    first.server.kill();
    replica.promote();
    if !by_role.is_empty() {
        replica.client(None).query_drop(by_role).unwrap();
    }
    service.lead_to(replica.port);
    running.extend((0..12).map(|_| fleet.start(TTL * (ttls - 2))));
    fleet.finish(running);
}

/// To its copy from before some leases, while all that knows the server and the tables stays.
fn the_table_of_records_goes_back_alone() {
    let server = with_database(MariadbServer::start());
    let url = server.url("ids");
    begin(&url, "alone");
    let mut fleet = Fleet::new(url, "alone");
    let ttls = 13;
    let mut running: Vec<_> = (0..3).map(|_| fleet.start(TTL * ttls)).collect();
    thread::sleep(TTL / 2);
    let mut client = server.client(Some("ids"));
    let copy = "CREATE TABLE kept AS SELECT * FROM randflake_record";
    client.query_drop(copy).unwrap();
    running.extend((0..8).map(|_| fleet.start(TTL * (ttls - 1))));
    thread::sleep(TTL / 2);
    for statement in [
        "TRUNCATE randflake_record",
        "INSERT INTO randflake_record SELECT * FROM kept",
    ] {
        client.query_drop(statement).unwrap();
    }
    running.extend((0..12).map(|_| fleet.start(TTL * (ttls - 2))));
    fleet.finish(running);
}
