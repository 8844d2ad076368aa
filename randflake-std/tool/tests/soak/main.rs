//! Many ids under faults: on each store processes and `randflake serve` issue as fast as they can, one process is killed
//! each second, some fork, and one fault follows another; all go on after each, and no id of any repeats. Each fault of a
//! store happens at least once: see [`schedule`].
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
mod rounds;
mod runs;
mod schedule;
mod stage;
mod usage;

use core::time::Duration;
use std::env;
use std::fs;
use std::process::ExitCode;

use harness::postgres::PostgresServer;
use harness::redis::RedisServer;
use libtest_mimic::{Arguments, Failed, Trial};
use randflake_std::lease;

use faults::patiently;
use fleet::{Fleet, Plan};
use issuer::{Order, namespace};
use rounds::{Rounds, round};
use schedule::{Fault, LEAST_MINUTES, STORES, Store, least_seconds, round_seconds};
use stage::{EtcdStage, Service, SqliteStage, Stage, StaticStage, mariadb};

/// How long all stores take together; 0 is the short form, of one round, for builds that are not optimised.
const MINUTES: &str = "RANDFLAKE_SOAK_MINUTES";
/// Where the tables go, if to any file.
const RECORD: &str = "RANDFLAKE_SOAK_RECORD";

fn stage(store: Store) -> Box<dyn Stage> {
    match store {
        Store::Sqlite => Box::new(SqliteStage::new()),
        Store::Static => Box::new(StaticStage::new()),
        Store::Redis => Box::new(Service::of(RedisServer::start())),
        Store::Etcd => Box::new(EtcdStage::new()),
        Store::Postgres => Box::new(Service::of(PostgresServer::start())),
        Store::Mariadb => Box::new(Service::of(mariadb())),
    }
}

const PLANTED: [(&str, fn()); 7] = [
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
    (
        "planted::a_round_has_every_fault_of_its_store",
        planted::a_round_has_every_fault,
    ),
    (
        "planted::a_fault_that_never_happened_fails_by_name",
        planted::a_fault_that_never_happened,
    ),
    (
        "planted::repeats_before_a_panic_are_found",
        planted::repeats_before_a_panic,
    ),
];

fn main() -> ExitCode {
    if let Some(order) = Order::from_env() {
        return issuer::run(&order);
    }
    let minutes = env::var(MINUTES).ok().and_then(|text| text.parse().ok());
    let minutes: u32 =
        minutes.unwrap_or_else(|| panic!("{MINUTES} is not set: `cargo xtask soak` sets it"));
    if (1..LEAST_MINUTES).contains(&minutes) {
        println!("{minutes} minutes are too short: a round of all faults takes {LEAST_MINUTES}");
        return ExitCode::from(2);
    }
    let mut trials = Vec::new();
    for (name, planted) in PLANTED {
        trials.push(Trial::test(name, move || {
            planted();
            Ok(())
        }));
    }
    for (store, name) in STORES {
        let trial = format!("{name}::no_id_repeats_whatever_happens");
        trials.push(Trial::test(trial, move || {
            soak(store, name, &mut *stage(store), minutes)
        }));
    }
    usage::watch();
    let mut arguments = Arguments::from_args();
    // Each wants the machine for itself; the short form mostly waits.
    arguments.test_threads = Some(if minutes == 0 { 4 } else { 1 });
    let conclusion = libtest_mimic::run(&arguments, trials);
    if let Some(path) = env::var_os(RECORD) {
        let tables = figures::tables();
        println!("{tables}");
        fs::write(path, tables).unwrap();
    }
    conclusion.exit_code()
}

fn soak(store: Store, name: &str, stage: &mut dyn Stage, minutes: u32) -> Result<(), Failed> {
    if stage.server().is_some() {
        // A server that does not know a namespace may have forgotten it: this one is new.
        let url = stage.url(0);
        patiently(|| lease::open(&url, &namespace())?.end_quarantine());
    }
    let faults = round(store);
    let (plan, rounds) = match share(store, minutes) {
        None => (Plan::short(), Rounds::short(name, &faults)),
        Some(time) => (Plan::full(), Rounds::long(name, &faults, time)),
    };
    let verdict = rounds.run(Fleet::start(stage, plan), stage, Fault::happen);
    println!("{}", verdict.figures);
    verdict.figures.keep();
    if verdict.problems.is_empty() {
        return Ok(());
    }
    Err(verdict.problems.join("\n").into())
}

/// Time on a store: a round's, and as much of the rest as each other store has. None for the short form.
fn share(store: Store, minutes: u32) -> Option<Duration> {
    let rest = (minutes * 60).checked_sub(least_seconds())?;
    let stores = u32::try_from(STORES.len()).unwrap();
    let seconds = round_seconds(store) + rest / stores;
    Some(Duration::from_secs(seconds.into()))
}
