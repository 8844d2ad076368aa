//! Faults that every engine goes through.

use core::time::Duration;
use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt;
use std::sync::{Arc, Barrier, mpsc};
use std::thread;
use std::time::Instant;

use harness::clock::WallClock;
use harness::engine::ServerEngine;
use harness::proxy::{Network, Proxy};
use randflake_std::lease::{
    self, AcquireRequest, Grant, NodeIds, StoreError, StoreErrorKind, Token,
};
use randflake_std::{Builder, GenerateError, Handle, Parts, Plain};
use tokio::runtime;
use tokio::time::sleep;

use crate::fleet::{Fleet, Holder};
use crate::issuer::{Few, TTL, namespace};

/// Far longer than what is waited for takes, on a busy machine too.
const PATIENCE: Duration = Duration::from_secs(120);

type Scenario = fn(&mut dyn ServerEngine);

pub(crate) const SCENARIOS: &[(&str, Scenario)] = &[
    ("holders_are_killed", holders_are_killed),
    (
        "holders_are_suspended_for_longer_than_their_leases",
        holders_are_suspended,
    ),
    ("the_engine_is_killed_and_restarted", the_engine_is_killed),
    (
        "the_network_is_cut_and_slow_and_loses_replies",
        the_network_fails,
    ),
    ("two_processes_have_one_token", two_have_one_token),
    ("wall_clocks_of_holders_jump_by_an_hour", wall_clocks_jump),
    (
        "nothing_is_issued_without_a_lease_and_service_resumes",
        the_store_goes_away,
    ),
    (
        "an_engine_that_starts_late_is_waited_for",
        a_start_is_waited_for,
    ),
    (
        "a_runtime_goes_on_while_the_engine_hangs",
        a_runtime_goes_on,
    ),
];

/// Until the namespace grants: a new one may have to wait for what was before it.
pub(crate) fn wait_for_grants(url: &str, name: &str) {
    let started = Instant::now();
    loop {
        let handle = handle(url, name);
        match handle {
            Ok(handle) => return has_closed(&handle.close()),
            Err(error) => assert!(started.elapsed() < PATIENCE, "{error}"),
        }
        thread::sleep(Duration::from_millis(200));
    }
}

/// Asks again where a busy machine is late: the TTL is short, and so is the time for an answer.
pub(crate) fn patiently<T>(mut ask: impl FnMut() -> Result<T, StoreError>) -> T {
    let started = Instant::now();
    loop {
        match ask() {
            Err(StoreError::Unavailable(_)) if started.elapsed() < PATIENCE => {}
            answer => return answer.unwrap(),
        }
    }
}

/// The store's answer may be late; a lease that is not given back is soon over.
pub(crate) fn has_closed(outcome: &Result<(), StoreError>) {
    let is_well = matches!(outcome, Ok(()) | Err(StoreError::Unavailable(_)));
    assert!(is_well, "{outcome:?}");
}

/// Whatever it is for.
pub(crate) fn end_quarantine(url: &str, name: &str) {
    patiently(|| {
        lease::open(url, &namespace(name))?
            .administration()
            .override_quarantine()
    });
}

/// A namespace on a server that is new.
pub(crate) fn declare_new(url: &str, name: &str) {
    patiently(|| {
        lease::open(url, &namespace(name))?
            .administration()
            .end_quarantine()
    });
}

/// The same, once it grants.
pub(crate) fn begin(url: &str, name: &str) {
    declare_new(url, name);
    wait_for_grants(url, name);
}

fn handle(url: &str, name: &str) -> Result<Handle<Few>, Box<dyn core::error::Error>> {
    let store = lease::open(url, &namespace(name))?;
    Ok(Builder::new(Few, Plain, store).ttl(TTL).build()?)
}

fn holders_are_killed(engine: &mut dyn ServerEngine) {
    const KILLS: usize = 12;
    let mut fleet = Fleet::new(engine.url(), "kills");
    begin(&engine.url(), "kills");
    let time = Duration::from_millis(400) * 20;
    let mut running: Vec<_> = (0..4).map(|_| fleet.start(time)).collect();
    for kill in 0..KILLS {
        thread::sleep(Duration::from_millis(400));
        let victim = kill % running.len();
        // The former is killed as it is dropped.
        running[victim] = fleet.start(time / 2);
    }
    fleet.finish(running);
}

fn holders_are_suspended(engine: &mut dyn ServerEngine) {
    let mut fleet = Fleet::new(engine.url(), "suspension");
    begin(&engine.url(), "suspension");
    let ttls = 4;
    let mut running: Vec<_> = (0..4).map(|_| fleet.start(TTL * ttls)).collect();
    thread::sleep(TTL / 2);
    running[..2].iter().for_each(Holder::suspend);
    thread::sleep(TTL + TTL / 2);
    // Enough of them to get the node ids of those that are suspended.
    running.extend((0..4).map(|_| fleet.start(TTL * (ttls - 2))));
    thread::sleep(TTL / 2);
    running[..2].iter().for_each(Holder::resume);
    fleet.finish(running);
}

fn the_engine_is_killed(engine: &mut dyn ServerEngine) {
    let mut fleet = Fleet::new(engine.url(), "engine");
    begin(&engine.url(), "engine");
    let time = TTL * 3;
    let mut running: Vec<_> = (0..3).map(|_| fleet.start(time)).collect();
    for _ in 0..2 {
        thread::sleep(TTL / 2);
        engine.server().kill();
        thread::sleep(TTL / 6);
        engine.server().restart();
        running.push(fleet.try_start(time / 3));
    }
    wait_for_grants(&engine.url(), "engine");
    fleet.finish(running);
}

fn the_network_fails(engine: &mut dyn ServerEngine) {
    let proxy = Proxy::to(engine.port());
    let url = engine.url_at(proxy.port);
    let mut fleet = Fleet::new(url.clone(), "network");
    begin(&url, "network");
    let time = TTL * 4;
    let running: Vec<_> = (0..4).map(|_| fleet.start(time)).collect();
    let ended = Instant::now() + time;
    let networks = [
        (Network::Works, TTL / 4),
        (Network::LosesReplies, TTL / 4),
        (Network::Slow, TTL / 2),
        (Network::Cut, TTL / 3),
        (Network::LosesReplies, TTL / 6),
        (Network::Cut, TTL / 6),
    ];
    let mut networks = networks.iter().cycle();
    let mut late = Vec::new();
    while let Some(left) = ended.checked_duration_since(Instant::now()) {
        let (network, span) = networks.next().unwrap();
        proxy.set(*network);
        // Its first acquire meets this network.
        if late.len() < 8 {
            late.push(fleet.try_start(left));
        }
        thread::sleep((*span).min(left));
    }
    proxy.set(Network::Works);
    fleet.finish(running.into_iter().chain(late).collect());
}

/// Copies of a process, restored from one image, have one name and one token, and ask at once.
/// Never do two of them have one lease.
fn two_have_one_token(engine: &mut dyn ServerEngine) {
    const COPIES: usize = 4;
    let url = engine.url();
    begin(&url, "copies");
    for _ in 0..10 {
        let token = Token::random().unwrap();
        let start = Barrier::new(COPIES);
        let ask = || {
            let mut store = patiently(|| lease::open(&url, &namespace("copies")));
            start.wait();
            loop {
                match store.acquire(&AcquireRequest {
                    token,
                    holder: "one name",
                    nodes: NodeIds::Any(2),
                    ttl: 3,
                }) {
                    Ok(acquired) => return acquired.grants,
                    Err(StoreError::Exhausted { .. }) => return Vec::new(),
                    // Of unknown outcome: it is repeated.
                    Err(StoreError::Unavailable(_)) => {}
                    Err(error) => panic!("{error:?}"),
                }
            }
        };
        let grants: Vec<Grant> = thread::scope(|scope| {
            let ask = &ask;
            let copies: Vec<_> = (0..COPIES).map(|_| scope.spawn(ask)).collect();
            let grants = copies.into_iter().map(|copy| copy.join().unwrap());
            grants.flatten().collect()
        });
        assert!(!grants.is_empty());
        for (at, grant) in grants.iter().enumerate() {
            assert_eq!(
                grants[at + 1..].iter().find(|other: &&Grant| {
                    other.node_id == grant.node_id
                        && other.start < grant.end
                        && grant.start < other.end
                }),
                None,
                "{grant:?}"
            );
        }
        let unused: Vec<_> = grants
            .iter()
            .map(|grant| Grant {
                end: grant.start,
                ..*grant
            })
            .collect();
        patiently(|| lease::open(&url, &namespace("copies"))?.release(&unused));
    }
}

fn wall_clocks_jump(engine: &mut dyn ServerEngine) {
    const HOUR_MS: i64 = 3_600_000;
    let mut fleet = Fleet::new(engine.url(), "clocks");
    begin(&engine.url(), "clocks");
    let time = TTL * 4;
    let clocks: Vec<_> = (0..4)
        .map(|n| {
            let folder = fleet.folder().join(format!("clock-{n}"));
            fs::create_dir(&folder).unwrap();
            WallClock::new(&folder)
        })
        .collect();
    // Two are right when they start, two are not.
    for (clock, hours) in clocks[2..].iter().zip([1, -1]) {
        clock.step_ms(hours * HOUR_MS);
    }
    let (right, wrong) = clocks.split_at(2);
    let mut running: Vec<Holder> = right
        .iter()
        .map(|clock| fleet.start_as(time, |command| clock.give_to(command)))
        .collect();
    let wrong = wrong
        .iter()
        .map(|clock| fleet.try_start_as(time, |command| clock.give_to(command)));
    running.extend(wrong);
    thread::sleep(TTL / 2);
    for (clock, hours) in clocks.iter().zip([1, -1]) {
        clock.step_ms(hours * HOUR_MS);
    }
    thread::sleep(TTL + TTL / 2);
    for (clock, hours) in clocks.iter().zip([-2, 2]) {
        clock.step_ms(hours * HOUR_MS);
    }
    fleet.finish(running);
}

fn the_store_goes_away(engine: &mut dyn ServerEngine) {
    let proxy = Proxy::to(engine.port());
    let url = engine.url_at(proxy.port);
    begin(&url, "away");
    let store = patiently(|| lease::open(&url, &namespace("away")));
    let handle = Builder::new(Few, Plain, store)
        .ttl(TTL)
        .wait(PATIENCE)
        .build()
        .unwrap();
    handle.generate_wait(PATIENCE).unwrap();

    proxy.set(Network::Cut);
    // Goes on to its lease's end, and no further.
    let cut = Instant::now();
    let mut last = None;
    loop {
        match handle.generate() {
            Ok(id) => last = Some(handle.inspect(id)),
            Err(GenerateError::LeaseOver { .. }) => break,
            Err(error) => assert!(error.retry_in_ms().is_some(), "{error}"),
        }
        assert!(cut.elapsed() < PATIENCE, "it goes on without a lease");
        thread::sleep(Duration::from_millis(5));
    }
    let refused = Instant::now();
    while refused.elapsed() < TTL {
        assert!(handle.generate().is_err(), "it goes on without a lease");
        thread::sleep(Duration::from_millis(5));
    }
    // As the store knows it.
    let records = patiently(|| lease::open(&engine.url(), &namespace("away"))?.list());
    for record in records {
        let is_within =
            |last: &Parts| last.node_id != record.grant.node_id || last.tick < record.grant.end;
        assert!(last.iter().all(is_within), "{last:?} {record:?}");
    }

    proxy.set(Network::Works);
    handle.generate_wait(PATIENCE).unwrap();
    has_closed(&handle.close());
}

/// A clock of the engine jumps: nothing is leased while it is wrong, and all goes on when it is
/// right again.
pub(crate) fn its_clock_jumps(start: impl FnOnce(Arc<WallClock>) -> Box<dyn ServerEngine>) {
    const HOUR_MS: i64 = 3_600_000;
    let folder = tempfile::tempdir().unwrap();
    fs::set_permissions(folder.path(), Permissions::from_mode(0o755)).unwrap();
    let clock = Arc::new(WallClock::new(folder.path()));
    let engine = start(Arc::clone(&clock));
    let mut fleet = Fleet::new(engine.url(), "clock");
    begin(&engine.url(), "clock");
    let ttls = 6;
    let mut running: Vec<_> = (0..3).map(|_| fleet.start(TTL * ttls)).collect();
    thread::sleep(TTL / 2);
    for hours in [1, -2] {
        clock.step_ms(hours * HOUR_MS);
        running.push(fleet.try_start(TTL * 3));
        thread::sleep(TTL);
    }
    clock.step_ms(HOUR_MS);
    running.push(fleet.start(TTL * 2));
    fleet.finish(running);
}

/// As a service would write it that starts beside its engine.
fn builder(url: &str) -> Builder<Few> {
    let url = url.to_owned();
    let store = lease::deferred(&namespace("late"), move |namespace: &_| {
        lease::open(&url, namespace)
    });
    Builder::new(Few, Plain, store).ttl(TTL).wait(PATIENCE)
}

/// Ends the time without grants that a server begins with: one that is new, and one that was
/// started again.
fn grant_at_once(url: &str) {
    patiently(|| {
        lease::open(url, &namespace("late"))?
            .administration()
            .create_namespace()
    });
    end_quarantine(url, "late");
}

pub(crate) fn a_start_is_waited_for(engine: &mut dyn ServerEngine) {
    let url = engine.url();
    engine.server().kill();
    let (tell, told) = mpsc::channel();
    let builder = builder(&url).on_wait(move |error, _| {
        // Of what comes after the first reason nobody wants to know.
        let _unheard = tell.send(error.kind());
    });
    let building = thread::spawn(|| builder.build());
    assert_eq!(told.recv_timeout(PATIENCE), Ok(StoreErrorKind::Unavailable));
    engine.server().launch();
    engine.server().wait();
    grant_at_once(&url);
    let handle = building.join().unwrap().unwrap();
    handle.generate_wait(PATIENCE).unwrap();
}

/// The engine goes on once another task of the runtime has run a hundred times; else it never does.
pub(crate) fn a_runtime_goes_on(engine: &mut dyn ServerEngine) {
    let url = engine.url();
    grant_at_once(&url);
    let runtime = runtime::Builder::new_current_thread()
        .enable_time()
        .build()
        .unwrap();
    let (tell, told) = mpsc::channel();
    runtime.spawn(async move {
        for _ in 0..100 {
            sleep(Duration::from_millis(1)).await;
        }
        tell.send(()).unwrap();
    });
    let server = &*engine.server();
    server.suspend();
    thread::scope(|scope| {
        let resuming = scope.spawn(move || {
            let told = told.recv_timeout(PATIENCE);
            server.resume();
            told
        });
        let handle = runtime.block_on(builder(&url).build_async()).unwrap();
        resuming.join().unwrap().unwrap();
        runtime
            .block_on(handle.generate_wait_async(PATIENCE))
            .unwrap();
        has_closed(&runtime.block_on(handle.close_async()));
    });
}
