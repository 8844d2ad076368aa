//! Planted problems that the soak must find in what processes on SQLite have issued: an id twice,
//! runs of two machines that overlap, leases without one of the rules, a fault that did not happen,
//! and repeats of a soak that ends in a panic.

use core::time::Duration;
use std::collections::{BTreeMap, BTreeSet};

use randflake_std::lease::EngineError;
use randflake_std::unstable::engine::{Ask, Engine, Profile, Reading};
use randflake_std::unstable::rules::{Before, Key, Removal, Write, WriteOutcome};

use crate::faults::Operator;
use crate::fleet::{Fleet, Plan};
use crate::issuer::Way;
use crate::ledger::BULK;
use crate::runs::{Issued, Repeats, Run, repeats};
use crate::schedule::Fault::{self, ServeKilled, WallClockJumps};
use crate::schedule::{FAULTS, STORES, Store};
use crate::stage::SqliteStage;
use crate::{Rounds, round};

const TIME: Duration = Duration::from_secs(4);
const TTL: Duration = Duration::from_secs(3);

fn sqlite() -> SqliteStage {
    let mut stage = SqliteStage::new();
    Operator::begin(&mut stage, TTL);
    stage
}

fn calm_plan(without_rule: bool) -> Plan {
    let plan = Plan {
        without_rule,
        clocks: false,
        ..Plan::short(TTL)
    };
    if without_rule {
        // Of one source: while they take each other's leases, not everybody goes on.
        return Plan {
            ways: &[Way::Bulk; 4],
            servers: 0,
            ..plan
        };
    }
    plan
}

/// What a fleet has issued, each once unless a rule was left out.
fn issued(without_rule: bool) -> Vec<Issued> {
    let stage = sqlite();
    let mut fleet = Fleet::start(&stage, calm_plan(without_rule));
    fleet.wait_for_ids().unwrap();
    fleet.pass(TIME);
    fleet.end()
}

pub(crate) fn one_id_twice() {
    let mut all = issued(false);
    assert_eq!(repeats(&all).ids, 0);
    let mut runs = all.iter().flat_map(|issued| &issued.entries.runs);
    let run = *runs.find(|run| run.ids() > 2).unwrap();
    let middle = run.first + 1;
    let again = Run {
        first: middle,
        last: middle,
        ..run
    };
    all.last_mut().unwrap().entries.runs.push(again);
    is_found(&repeats(&all), 1);
}

pub(crate) fn across_two_machines() {
    let mut all = issued(false);
    let (first, others) = all.split_first_mut().unwrap();
    // As if the second had gone on where the first was not yet done.
    let mut runs = first.entries.runs.iter();
    let run = *runs.find(|run| run.ids() > 10).unwrap();
    let second = others.first_mut().unwrap();
    second.entries.runs.push(Run {
        first: run.last - 2,
        last: run.last + 100,
        ..run
    });
    let found = repeats(&all);
    assert!(found.ids >= 3, "{found:?}");
    is_found(&found, found.ids);
}

pub(crate) fn a_rule_left_out() {
    let found = repeats(&issued(true));
    assert!(
        found.ids > 0,
        "what is leased was granted, and no id has repeated"
    );
    is_found(&found, found.ids);
}

pub(crate) fn a_round_has_every_fault() {
    for (fault, name) in FAULTS {
        let mut stores = STORES.iter();
        assert!(stores.any(|(store, _)| fault.belongs_to(*store)), "{name}");
    }
    for (store, name) in STORES {
        let faults = round(store);
        match store {
            Store::Sqlite => assert_eq!(faults.len(), 7, "{name}: {faults:?}"),
            Store::Static => assert_eq!(faults.len(), 6, "{name}: {faults:?}"),
            _ => assert_eq!(faults.len(), 9, "{name}: {faults:?}"),
        }
    }
}

/// A process is killed with ids that it has been given and not written: they are compared too.
pub(crate) fn ids_of_the_killed() {
    let stage = SqliteStage::new();
    let plan = Plan {
        ways: &[Way::KilledUnwritten, Way::Bulk],
        servers: 0,
        ..calm_plan(false)
    };
    let mut fleet = Fleet::start(&stage, plan);
    fleet.pass(TIME);
    let mut all = fleet.end();
    let killed: Vec<Issued> = all
        .iter()
        .filter(|issued: &&Issued| issued.entries.pending > 0)
        .cloned()
        .collect();
    let given = BULK.min(usize::try_from(plan.pace).unwrap());
    let given = u64::try_from(given).unwrap();
    let whole = killed.iter().filter(|issued| issued.entries.ids() == given);
    assert!(whole.count() > 0, "{killed:?}");
    assert_eq!(repeats(&all).ids, 0);
    all.push(killed[0].clone());
    is_found(&repeats(&all), killed[0].entries.ids());
}

/// No process has a wall clock of its own, so one of two faults cannot happen.
pub(crate) fn a_fault_that_never_happened() {
    let mut stage = sqlite();
    let fleet = Fleet::start(&stage, calm_plan(false));
    let rounds = Rounds::short("planted", &[ServeKilled, WallClockJumps]);
    let verdict = rounds.run(fleet, &mut stage, Fault::happen);
    assert_eq!(
        verdict.problems,
        [
            "wall clock jumps by an hour: 0 times",
            "WallClockJumps could not happen: no process has a wall clock of its own"
        ]
    );
}

/// Ids that repeat are reported, although the rounds end in a panic.
pub(crate) fn repeats_before_a_panic() {
    let mut stage = sqlite();
    let fleet = Fleet::start(&stage, calm_plan(true));
    let rounds = Rounds::short("planted", &[ServeKilled]);
    let verdict = rounds.run(fleet, &mut stage, |_, fleet, _| {
        fleet.pass(TIME);
        panic!("no server starts here")
    });
    assert!(verdict.repeats.ids > 0);
    let [repeats, panic, missing] = &verdict.problems[..] else {
        panic!("{:?}", verdict.problems);
    };
    assert!(repeats.contains("ids repeat"), "{repeats}");
    assert!(panic.contains("panic: no server starts here"), "{panic}");
    assert_eq!(missing, "`serve` killed: 0 times");
}

#[expect(clippy::print_stdout, reason = "for people")]
fn is_found(found: &Repeats, ids: u64) {
    assert_eq!(found.ids, ids);
    println!("{ids} ids repeat: {}", found.told.first().unwrap());
}

/// An engine that hides from its client what others have leased, so that it grants that: all other
/// rules hold.
#[derive(Debug)]
pub(crate) struct Ruleless {
    engine: Box<dyn Engine>,
    /// What the client has written.
    own: BTreeSet<Key>,
}

impl Ruleless {
    pub(crate) fn over(engine: Box<dyn Engine>) -> Self {
        Self {
            engine,
            own: BTreeSet::new(),
        }
    }
}

impl Engine for Ruleless {
    fn profile(&self) -> Profile {
        self.engine.profile()
    }

    fn read(&mut self, ask: &Ask<'_>) -> Result<Reading, EngineError> {
        let mut reading = self.engine.read(ask)?;
        let is_shown = |key: &Key| !matches!(key, Key::Node(_)) || self.own.contains(key);
        reading.texts.retain(|key, _| is_shown(key));
        Ok(reading)
    }

    fn write(&mut self, write: &Write) -> Result<WriteOutcome, EngineError> {
        let mut write = write.clone();
        for entry in &mut write.entries {
            if matches!(entry.key, Key::Node(_)) {
                entry.before = Before::Anything;
                self.own.insert(entry.key);
            }
        }
        self.engine.write(&write)
    }

    fn namespaces(
        &mut self,
        only: Option<&str>,
    ) -> Result<Option<BTreeMap<String, String>>, EngineError> {
        self.engine.namespaces(only)
    }

    fn remove(&mut self, removal: &Removal<'_>) -> Result<(), EngineError> {
        self.engine.remove(removal)
    }

    fn abandon(&mut self) {
        self.engine.abandon();
    }
}
