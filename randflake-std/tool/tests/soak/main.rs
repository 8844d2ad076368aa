//! Many ids under faults: on each store processes and `randflake serve` issue as fast as they can,
//! one process is killed each second, some fork, and one fault follows another; all go on after
//! each, and no id of any repeats. Each fault of a store happens at least once: see [`schedule`].
//!
//! Processes keep ledgers of what they were given, which a kill does not lose. At the end all ids
//! are taken apart into [`runs`] and compared. The program starts itself again as the processes
//! that issue, which is why it has its own `main`.

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
mod ledger;
mod planted;
mod runs;
mod schedule;
mod stage;

use core::any::Any;
use core::panic::AssertUnwindSafe;
use core::time::Duration;
use std::panic::catch_unwind;
use std::process::ExitCode;
use std::sync::{Mutex, PoisonError};
use std::time::Instant;
use std::{env, fs};

use faults::{Happened, Operator, store_answer};
use figures::Figures;
use fleet::{Fleet, Plan};
use harness::postgres::PostgresServer;
use harness::redis::RedisServer;
use issuer::Order;
use libtest_mimic::{Arguments, Failed, Trial};
use runs::{Repeats, repeats};
use schedule::{
    FAULTS, Fault, LEAST_MINUTES, LONG_TTL, SHORT_TTL, STORES, Store, WITH_LONG_LEASES,
    least_seconds, round_seconds,
};
use stage::{EtcdStage, Service, SqliteStage, Stage, StaticStage, mariadb};

/// How long all stores take together; 0 is the short form, of one round, for builds that are not
/// optimised.
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
    ("repeats_of_a_set", runs::repeats_are_those_of_a_set),
    ("one_id_twice", planted::one_id_twice),
    ("across_two_machines", planted::across_two_machines),
    ("a_rule_left_out", planted::a_rule_left_out),
    ("ids_of_the_killed", planted::ids_of_the_killed),
    ("a_round_has_every_fault", planted::a_round_has_every_fault),
    (
        "a_fault_never_happened",
        planted::a_fault_that_never_happened,
    ),
    ("repeats_before_a_panic", planted::repeats_before_a_panic),
];

fn main() -> ExitCode {
    if let Some(order) = Order::from_env() {
        return issuer::run(&order);
    }
    let minutes: u32 = env::var(MINUTES)
        .ok()
        .and_then(|text| text.parse().ok())
        .unwrap_or_else(|| panic!("{MINUTES} is not set: `cargo xtask deep soak` sets it"));
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
        Trial::test(format!("planted::{name}"), move || {
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
    figures::watch();
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

/// Faults of a round on a store.
pub(crate) fn round(store: Store) -> Vec<Fault> {
    let faults = FAULTS.iter().map(|(fault, _)| *fault);
    faults.filter(|fault| fault.belongs_to(store)).collect()
}

/// Which faults happen on a store, and for how long.
pub(crate) struct Rounds<'a> {
    /// The store's name.
    pub(crate) name: &'a str,
    /// Faults of a round.
    pub(crate) faults: &'a [Fault],
    /// Whole rounds happen while there is time for another; one happens in any case.
    pub(crate) time: Duration,
    /// Without a fault but the kills, before each.
    pub(crate) calm: Duration,
}

impl<'a> Rounds<'a> {
    /// One of these faults, without much time between them.
    pub(crate) const fn short(name: &'a str, faults: &'a [Fault]) -> Self {
        Self {
            name,
            faults,
            time: Duration::ZERO,
            calm: Duration::from_secs(1),
        }
    }

    /// As many as there is time for.
    pub(crate) const fn long(name: &'a str, faults: &'a [Fault], time: Duration) -> Self {
        Self {
            name,
            faults,
            time,
            calm: Duration::from_secs(schedule::CALM as u64),
        }
    }

    /// Lets them happen, ends the fleet, and compares all that it has issued. `happen` causes a
    /// fault, as [`Fault::happen`] does.
    pub(crate) fn run(
        &self,
        mut fleet: Fleet,
        stage: &mut dyn Stage,
        happen: impl Fn(Fault, &mut Fleet, &mut dyn Stage) -> Result<(), String>,
    ) -> Verdict {
        let mut happened = Happened::new();
        let mut refused = Vec::new();
        let begun = Instant::now();
        // A server that does not start, or a store that answers with an error, panics. The ids are
        // still there.
        let rounds = catch_unwind(AssertUnwindSafe(|| {
            self.go_on(&mut fleet, stage, &happen, &mut happened, &mut refused)
        }));
        let stopped = rounds.unwrap_or_else(|panic| Err(message(&*panic)));
        let time = begun.elapsed();
        let issued = fleet.end();
        let repeats = repeats(&issued);
        let mut problems = Vec::new();
        if repeats.ids > 0 {
            problems.push(format!("{} ids repeat: {:#?}", repeats.ids, repeats.told));
        }
        if let Err(why) = stopped {
            problems.push(format!("stopped after {} s: {why}", time.as_secs()));
        }
        problems.extend(self.missing(&happened));
        problems.extend(refused);
        let unread = issued
            .iter()
            .filter_map(|issued| issued.entries.unread.clone());
        problems.extend(unread);
        if fleet.failed_threads > 0 {
            problems.push(format!("{} threads have panicked", fleet.failed_threads));
        }
        Verdict {
            figures: Figures::of(self.name, time, &fleet, &issued, happened, &repeats),
            repeats,
            problems,
        }
    }

    fn go_on(
        &self,
        fleet: &mut Fleet,
        stage: &mut dyn Stage,
        happen: impl Fn(Fault, &mut Fleet, &mut dyn Stage) -> Result<(), String>,
        happened: &mut Happened,
        refused: &mut Vec<String>,
    ) -> Result<(), String> {
        let mut operator = Operator::default();
        fleet.wait_for_ids()?;
        let (begun, mut longest) = (Instant::now(), Duration::ZERO);
        loop {
            let round = Instant::now();
            for fault in self.faults {
                fleet.pass(self.calm);
                match happen(*fault, fleet, stage) {
                    Ok(()) => *happened.entry(*fault).or_default() += 1,
                    Err(why) => refused.push(format!("{fault:?} could not happen: {why}")),
                }
                fleet.pass_leases();
                let looked_after = operator.look_after(stage, fleet.plan.ttl);
                let gone_on = looked_after.and_then(|()| fleet.wait_for_ids());
                gone_on.map_err(|why| {
                    let answer = store_answer(stage, fleet.plan.ttl);
                    format!("after {fault:?}: {why}; the store: {answer}")
                })?;
                let (seconds, ids) = (begun.elapsed().as_secs(), fleet.ids());
                println!("{}: {seconds} s: {fault:?}, {ids} ids", self.name);
            }
            longest = longest.max(round.elapsed());
            if begun.elapsed() + longest > self.time {
                return Ok(());
            }
        }
    }

    /// Faults that never happened.
    fn missing(&self, happened: &Happened) -> Vec<String> {
        let never = |fault: &Fault| happened.get(fault).is_none_or(|times| *times == 0);
        let faults = FAULTS
            .iter()
            .filter(|(fault, _)| self.faults.contains(fault));
        faults
            .filter(|(fault, _)| never(fault))
            .map(|(_, name)| format!("{name}: 0 times"))
            .collect()
    }
}

/// What the rounds have shown.
#[derive(Debug)]
pub(crate) struct Verdict {
    pub(crate) figures: Figures,
    pub(crate) repeats: Repeats,
    /// Each fails the soak.
    pub(crate) problems: Vec<String>,
}

fn message(panic: &(dyn Any + Send)) -> String {
    let text = panic.downcast_ref::<&str>().map(|text| (*text).to_owned());
    let text = text.or_else(|| panic.downcast_ref::<String>().cloned());
    format!("panic: {}", text.unwrap_or_default())
}
