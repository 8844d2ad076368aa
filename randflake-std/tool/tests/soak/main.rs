//! Many ids under faults: on each store processes and `randflake serve` issue as fast as they can, one process is killed
//! each second, some fork, and one fault follows another; all go on after each, and no id of any repeats. Each fault of a
//! store happens at least once: see [`schedule`].
//!
//! Processes keep ledgers of what they were given, which a kill does not lose. At the end all ids are taken apart into
//! [`runs`] and compared. The program starts itself again as the processes that issue, which is why it has its own `main`.

#![cfg(target_os = "linux")]
#![expect(
    clippy::unwrap_used,
    clippy::panic,
    clippy::print_stdout,
    clippy::cast_precision_loss,
    reason = "a test fails by panicking; the figures are for people"
)]

mod clients;
mod faults;
mod figures;
mod fleet;
mod issuer;
mod ledger;
mod planted;
mod rounds;
mod runs;
mod schedule;
mod spaces;
mod stage;
mod usage;

use core::time::Duration;
use std::env;
use std::fs;
use std::process::ExitCode;
use std::sync::{Mutex, PoisonError};

use harness::postgres::PostgresServer;
use harness::redis::RedisServer;
use libtest_mimic::{Arguments, Failed, Trial};

use faults::Operator;
use fleet::{Fleet, Plan};
use issuer::Order;
use rounds::{Rounds, round};
use schedule::{
    Fault, LEAST_MINUTES, LONG_TTL, SHORT_TTL, STORES, Store, WITH_LONG_LEASES, least_seconds,
    round_seconds,
};
use stage::{EtcdStage, Service, SqliteStage, Stage, StaticStage, mariadb};

/// How long all stores take together; 0 is the short form, of one round, for builds that are not optimised.
const MINUTES: &str = "RANDFLAKE_SOAK_MINUTES";
/// Where the tables go, if to any file.
const RECORD: &str = "RANDFLAKE_SOAK_RECORD";

static MACHINE: Mutex<()> = Mutex::new(());

fn trial(name: &str, run: impl FnOnce() -> Result<(), Failed> + Send + 'static) -> Trial {
    Trial::test(format!("{name}::no_id_repeats_whatever_happens"), run)
}

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

const PLANTED: [(&str, fn()); 8] = [
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
        "planted::ids_of_the_killed_are_compared",
        planted::ids_of_the_killed,
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
        minutes.unwrap_or_else(|| panic!("{MINUTES} is not set: `cargo xtask deep soak` sets it"));
    if (1..LEAST_MINUTES).contains(&minutes) {
        println!(
            "{minutes} minutes are too short: a round of all faults takes {LEAST_MINUTES} minutes"
        );
        return ExitCode::from(2);
    }
    let is_short = minutes == 0;
    let mut trials = Vec::new();
    if !is_short {
        // First, because they take all the time, and hardly a processor.
        trials.extend(WITH_LONG_LEASES.map(|(store, name)| {
            let plan = Plan::long_leases(seconds(LONG_TTL));
            trial(name, move || soak(store, name, plan, seconds(minutes * 60)))
        }));
    }
    trials.extend(PLANTED.map(|(name, planted)| {
        Trial::test(name, move || {
            planted();
            Ok(())
        })
    }));
    trials.extend(STORES.map(|(store, name)| {
        trial(name, move || {
            let ttl = seconds(SHORT_TTL);
            if is_short {
                return soak(store, name, Plan::short(ttl), Duration::ZERO);
            }
            // Each wants the machine for itself.
            let _others = MACHINE.lock().unwrap_or_else(PoisonError::into_inner);
            soak(store, name, Plan::full(ttl), share(store, minutes))
        })
    }));
    usage::watch();
    let mut arguments = Arguments::from_args();
    // The short form mostly waits.
    arguments.test_threads = Some(if is_short {
        4
    } else {
        WITH_LONG_LEASES.len() + 1
    });
    let conclusion = libtest_mimic::run(&arguments, trials);
    if let Some(path) = env::var_os(RECORD) {
        let tables = figures::tables();
        println!("{tables}");
        fs::write(path, tables).unwrap();
    }
    conclusion.exit_code()
}

fn soak(store: Store, name: &str, plan: Plan, time: Duration) -> Result<(), Failed> {
    let mut stage = stage(store);
    let stage = &mut *stage;
    Operator::begin(stage, plan.ttl);
    let faults = round(store);
    let rounds = match time {
        Duration::ZERO => Rounds::short(name, &faults),
        time => Rounds::long(name, &faults, time),
    };
    let verdict = rounds.run(Fleet::start(stage, plan), stage, Fault::happen);
    println!("{}", verdict.figures);
    verdict.figures.keep();
    if verdict.problems.is_empty() {
        return Ok(());
    }
    Err(verdict.problems.join("\n").into())
}

/// Time on a store: a round's, and as much of the rest as each other store has.
fn share(store: Store, minutes: u32) -> Duration {
    let stores = u32::try_from(STORES.len()).unwrap();
    let rest = (minutes * 60).saturating_sub(least_seconds()) / stores;
    Duration::from_secs((round_seconds(store, SHORT_TTL) + rest).into())
}

fn seconds(seconds: u32) -> Duration {
    Duration::from_secs(seconds.into())
}
