//! Faults of PostgreSQL alone: a standby that takes over, settings that lose commits, sessions that
//! are ended. Trials of `tests/faults`.

use core::sync::atomic::{AtomicBool, Ordering};
use core::time::Duration;
use std::thread;
use std::time::Instant;

use harness::engine::ServerEngine;
use harness::postgres::PostgresServer;
use harness::proxy::{Network, Proxy};
use libtest_mimic::Trial;
use randflake_std::lease::{
    self, AcquireRequest, Grant, NodeIds, PostgresStore, StoreError, Token,
};

use crate::fleet::Fleet;
use crate::issuer::{TTL, namespace};
use crate::scenarios::{begin, its_clock_jumps, patiently};
use crate::trial;

pub(crate) fn trials() -> [Trial; 4] {
    [
        trial(
            "postgres::an_asynchronous_standby_is_promoted",
            an_asynchronous_standby_is_promoted,
        ),
        trial(
            "postgres::synchronous_commit_is_off_and_the_engine_is_killed",
            synchronous_commit_is_off,
        ),
        trial(
            "postgres::backends_are_terminated_in_a_loop",
            backends_are_terminated,
        ),
        trial("postgres::the_engines_wall_clock_jumps_by_an_hour", || {
            its_clock_jumps(|clock| Box::new(PostgresServer::start_by(clock)));
        }),
    ]
}

/// After its link was cut, so that it never hears of some leases.
fn an_asynchronous_standby_is_promoted() {
    let mut first = PostgresServer::start();
    let link = Proxy::to(first.port);
    let standby = PostgresServer::standby_of(link.port);
    // Where clients find whichever is the primary.
    let service = Proxy::to(first.port);
    let url = first.url_at(service.port);
    begin(&url, "failover");
    standby.catch_up_with(&first);
    let mut fleet = Fleet::new(url, "failover");
    let ttls = 13;
    let mut running: Vec<_> = (0..3).map(|_| fleet.start(TTL * ttls)).collect();
    thread::sleep(TTL / 2);
    link.set(Network::Cut);
    // The standby never hears of these, nor of any renewal from now on.
    running.extend((0..3).map(|_| fleet.start(TTL * (ttls - 1))));
    thread::sleep(TTL / 2);
    first.server.kill();
    standby.promote();
    service.lead_to(standby.port);
    running.extend((0..3).map(|_| fleet.start(TTL * (ttls - 2))));
    fleet.finish(running);
}

/// What the store has answered is there, though the server's settings would let it be lost.
fn synchronous_commit_is_off() {
    // What is not written at once would not be written within this test.
    let settings = ["synchronous_commit=off", "wal_writer_delay=10s"];
    let mut server = PostgresServer::start_with(&settings);
    let mut granted = Vec::new();
    begin(&server.url("postgres"), "off");
    for _ in 0..5 {
        let url = server.url("postgres");
        let mut store = patiently(|| PostgresStore::open(&url, &namespace("off")));
        let request = AcquireRequest {
            token: Token::random().unwrap(),
            holder: "killed",
            nodes: NodeIds::Any(1),
            ttl: 3,
        };
        granted.extend(patiently(|| store.acquire(&request)).grants);
        server.server.kill();
        server.server.restart();
        let kept = patiently(|| store.list());
        for grant in &granted {
            let is_kept = kept.iter().any(|record| {
                let kept = record.grant;
                kept == *grant || (kept.node_id == grant.node_id && kept.start >= grant.end)
            });
            assert!(is_kept, "{grant:?} was answered and lost");
        }
    }
}

struct SetOnDrop<'a>(&'a AtomicBool);

impl Drop for SetOnDrop<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::SeqCst);
    }
}

/// At any moment of an operation, and of the setup of a session. Processes issue, and stores are
/// used as processes that begin and end all the time would.
fn backends_are_terminated() {
    const FEWEST_KILLED: i64 = 20;
    const PATIENCE: Duration = Duration::from_secs(120);
    let server = PostgresServer::start();
    let url = server.url("postgres");
    begin(&url, "terminated");
    let mut fleet = Fleet::new(url.clone(), "terminated");
    let ttls = 4;
    let running: Vec<_> = (0..3).map(|_| fleet.start(TTL * ttls)).collect();
    let begun = Instant::now();
    let is_over = AtomicBool::new(false);
    thread::scope(|scope| {
        scope.spawn(|| {
            // However this thread ends.
            let _ends_clients = SetOnDrop(&is_over);
            let mut killed = 0;
            let mut client = server.client("postgres");
            let terminate = "SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity
                WHERE pid <> pg_backend_pid() AND backend_type = 'client backend'";
            // From less than an operation takes to more than that, on a busy machine as well.
            let mut pauses_ms = [20, 50, 100, 300].into_iter().cycle();
            // On a busy machine it may take longer until enough have begun.
            while begun.elapsed() < TTL * ttls || killed < FEWEST_KILLED {
                assert!(begun.elapsed() < PATIENCE, "{killed} were terminated");
                killed += client.query_one(terminate, &[]).unwrap().get::<_, i64>(0);
                thread::sleep(Duration::from_millis(pauses_ms.next().unwrap()));
            }
        });
        let clients: Vec<_> = (0..3)
            .map(|_| scope.spawn(|| leases_until(&is_over, &url)))
            .collect();
        let leases = clients.into_iter().flat_map(|one| one.join().unwrap());
        assert_disjoint(leases.collect());
    });
    fleet.finish(running);
}

/// Acquires, renews and releases, and repeats what fails; the intervals in which ids may have been
/// issued.
fn leases_until(is_over: &AtomicBool, url: &str) -> Vec<Grant> {
    let mut used = Vec::new();
    let goes_on = || !is_over.load(Ordering::SeqCst);
    let again = |error: &StoreError| match error {
        StoreError::Unavailable(_) | StoreError::Exhausted { .. } => goes_on(),
        error => panic!("{error:?}"),
    };
    while goes_on() {
        let mut store = match lease::open(url, &namespace("terminated")) {
            Ok(store) => store,
            Err(error) if again(&error) => continue,
            Err(_) => break,
        };
        let request = AcquireRequest {
            token: Token::random().unwrap(),
            holder: "repeats",
            nodes: NodeIds::Any(2),
            ttl: 3,
        };
        let acquired = loop {
            match store.acquire(&request) {
                Ok(acquired) => break acquired,
                Err(error) if again(&error) => {}
                Err(_) => return used,
            }
        };
        let mut grants = acquired.grants;
        if let Ok(renewed) = store.renew(&grants, 3) {
            for (grant, end) in grants.iter_mut().zip(renewed.ends) {
                grant.end = end.unwrap_or(grant.end);
            }
        }
        for grant in &mut grants {
            grant.end = grant.start + 1;
        }
        _ = store.release(&grants);
        used.extend(grants);
    }
    used
}

fn assert_disjoint(mut used: Vec<Grant>) {
    assert!(!used.is_empty(), "no lease was granted");
    used.sort_unstable_by_key(|grant| (grant.node_id, grant.start));
    for pair in used.windows(2) {
        let [one, next] = pair else { unreachable!() };
        let is_disjoint = one.node_id != next.node_id || one.end <= next.start;
        assert!(is_disjoint, "{one:?} {next:?}");
    }
}
