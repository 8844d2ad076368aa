//! Rounds of faults on one store, and the verdict on them: whatever ended the rounds, all that was issued is compared.

use core::any::Any;
use core::panic::AssertUnwindSafe;
use core::time::Duration;
use std::panic::catch_unwind;
use std::time::Instant;

use crate::faults::{Happened, Operator, store_answer};
use crate::figures::Figures;
use crate::fleet::Fleet;
use crate::runs::{Repeats, repeats};
use crate::schedule::{self, FAULTS, Fault, Store};
use crate::stage::Stage;

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

    /// Lets them happen, ends the fleet, and compares all that it has issued. `happen` causes a fault, as
    /// [`Fault::happen`] does.
    pub(crate) fn run(
        &self,
        mut fleet: Fleet,
        stage: &mut dyn Stage,
        happen: impl Fn(Fault, &mut Fleet, &mut dyn Stage) -> Result<(), String>,
    ) -> Verdict {
        let mut happened = Happened::new();
        let mut refused = Vec::new();
        let begun = Instant::now();
        // A server that does not start, or a store that answers with an error, panics. The ids are still there.
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
