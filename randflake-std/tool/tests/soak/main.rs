//! Many ids under faults: on each store processes and `randflake serve` issue as fast as they can, one process is killed
//! each second, some fork, and one fault follows another; all go on after each, and no id of any repeats.
//!
//! Processes take their ids apart again and report them as runs, which are all kept and compared at the end: see [`runs`].
//! The program starts itself again as the processes that issue, which is why it has its own `main`.

#![cfg(target_os = "linux")]
#![expect(
    clippy::unwrap_used,
    clippy::panic,
    clippy::print_stdout,
    clippy::cast_precision_loss,
    reason = "a test fails by panicking; the figures are for people"
)]

mod faults;
mod figures;
mod fleet;
mod issuer;
mod planted;
mod runs;
mod stage;
mod usage;

use core::time::Duration;
use std::env;
use std::fs;
use std::process::ExitCode;
use std::time::Instant;

use harness::postgres::PostgresServer;
use harness::redis::RedisServer;
use libtest_mimic::{Arguments, Trial};
use randflake_std::lease;

use faults::{FAULTS, Fault, Happened, patiently};
use figures::Figures;
use fleet::{Fleet, Plan};
use issuer::{Order, TTL, namespace};
use runs::repeats;
use stage::{EtcdStage, Service, SqliteStage, Stage, StaticStage, mariadb};

/// On each store, and then until all has gone on.
const SECONDS: &str = "RANDFLAKE_SOAK_SECONDS";
/// Where the tables go, if to any file.
const RECORD: &str = "RANDFLAKE_SOAK_RECORD";
/// Up to so many seconds it is a short form, for builds that are not optimised.
const SHORT: u64 = 10;
/// Without a fault but the kills.
const CALM: Duration = Duration::from_secs(5);

type Start = fn() -> Box<dyn Stage>;

const STAGES: [(&str, Start); 6] = [
    ("sqlite", || Box::new(SqliteStage::new())),
    ("static", || Box::new(StaticStage::new())),
    ("redis", || Box::new(Service::of(RedisServer::start()))),
    ("etcd", || Box::new(EtcdStage::new())),
    ("postgres", || {
        Box::new(Service::of(PostgresServer::start()))
    }),
    ("mariadb", || Box::new(Service::of(mariadb()))),
];

const PLANTED: [(&str, fn()); 4] = [
    (
        "repeats_are_those_of_a_set",
        runs::repeats_are_those_of_a_set,
    ),
    ("planted::one_id_twice_is_found", planted::one_id_twice),
    (
        "planted::runs_across_two_machines_are_found",
        planted::across_two_machines,
    ),
    (
        "planted::a_rule_left_out_is_found",
        planted::a_rule_left_out,
    ),
];

fn main() -> ExitCode {
    if let Some(order) = Order::from_env() {
        return issuer::run(&order);
    }
    let seconds = env::var(SECONDS).ok().and_then(|text| text.parse().ok());
    let seconds: u64 =
        seconds.unwrap_or_else(|| panic!("{SECONDS} is not set: `cargo xtask soak` sets it"));
    let mut trials = Vec::new();
    for (name, planted) in PLANTED {
        trials.push(Trial::test(name, move || {
            planted();
            Ok(())
        }));
    }
    for (name, start) in STAGES {
        let trial = format!("{name}::no_id_repeats_whatever_happens");
        trials.push(Trial::test(trial, move || {
            soak(name, &mut *start(), seconds);
            Ok(())
        }));
    }
    usage::watch();
    let mut arguments = Arguments::from_args();
    // Each wants the machine for itself.
    arguments.test_threads = Some(1);
    let conclusion = libtest_mimic::run(&arguments, trials);
    if let Some(path) = env::var_os(RECORD) {
        let tables = figures::tables();
        println!("{tables}");
        fs::write(path, tables).unwrap();
    }
    conclusion.exit_code()
}

fn soak(name: &str, stage: &mut dyn Stage, seconds: u64) {
    let (plan, time) = if seconds <= SHORT {
        (Plan::short(), Duration::from_secs(seconds))
    } else {
        (Plan::full(), Duration::from_secs(seconds))
    };
    if stage.server().is_some() {
        // A server that does not know a namespace may have forgotten it: this one is new.
        let url = stage.url(0);
        patiently(|| lease::open(&url, &namespace())?.end_quarantine());
    }
    let mut fleet = Fleet::start(stage, plan);
    fleet.wait_for_ids();
    let begun = Instant::now();
    let mut happened = Happened::new();
    let all: Vec<Fault> = FAULTS.iter().map(|(fault, _)| *fault).collect();
    let faults: Vec<Fault> = all
        .into_iter()
        .filter(|fault| fault.concerns(&fleet, stage))
        .collect();
    for fault in faults.iter().cycle() {
        fleet.pass(CALM.min(time));
        fault.happen(&mut fleet, stage);
        // Until then processes may issue under leases from before.
        fleet.pass(TTL * 2);
        fleet.wait_for_ids();
        *happened.entry(*fault).or_default() += 1;
        let ids = fleet.counts().ids();
        println!(
            "{name}: {} s: {fault:?}, {ids} ids",
            begun.elapsed().as_secs()
        );
        if begun.elapsed() >= time {
            break;
        }
    }
    let issued = fleet.end();
    let figures = Figures::of(name, begun.elapsed(), &fleet, happened);
    let runs = issued.iter().map(|issued| issued.runs.len()).sum();
    let all = issued.iter().flat_map(|issued| &issued.runs);
    let ids: u64 = all.map(|run| run.ids()).sum();
    assert_eq!(ids, fleet.counts().ids(), "an id was counted and not kept");
    let found = repeats(&issued);
    println!("{}", figures.keep(issued.len(), runs, &found));
    assert_eq!(found.ids, 0, "{:#?}", found.told);
}
