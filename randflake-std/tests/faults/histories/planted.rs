//! Engines that are wrong once in a thousand times are found.

use core::time::Duration;
use std::collections::BTreeMap;
use std::time::Instant;

use harness::redis::RedisServer;
use libtest_mimic::Trial;
use randflake_std::lease::{EngineError, LeaseStore, MemoryStore, open};
use randflake_std::unstable::engine::{Ask, Engine, Profile, Reading};
use randflake_std::unstable::rules::{Before, Removal, Write, WriteOutcome};

use super::clients::{Clients, Round};
use super::{CLIENTS, NAMESPACE};
use crate::issuer::namespace;
use crate::trial;

const WRONG_ONCE_IN: u32 = 1_000;
/// Answers in a history.
const ANSWERS: u64 = 2_000;
/// Each is found in less.
const PATIENCE: Duration = Duration::from_secs(60);

#[derive(Clone, Copy, Debug)]
enum Flaw {
    /// Writes whatever is there.
    LosesACompare,
    /// Writes only the first of its texts.
    WritesAPart,
    /// Answers what was there when it was last asked.
    ReadsWhatWas,
    /// Says that it has not written.
    DeniesAWrite,
}

const FLAWS: [(&str, Flaw); 4] = [
    ("a_lost_compare", Flaw::LosesACompare),
    ("a_write_of_a_part", Flaw::WritesAPart),
    ("a_stale_reading", Flaw::ReadsWhatWas),
    ("a_denied_write", Flaw::DeniesAWrite),
];

pub(crate) fn trials() -> Vec<Trial> {
    let mut trials = Vec::new();
    for (name, flaw) in FLAWS {
        trials.push(trial(
            &format!("memory::histories_show_{name}_in_a_thousand"),
            move || {
                let memory = MemoryStore::with_system_clock(namespace(NAMESPACE));
                is_found(flaw, || memory.clone().into());
            },
        ));
    }
    trials.push(trial(
        "redis::histories_show_a_lost_compare_in_a_thousand",
        || {
            let server = RedisServer::start();
            is_found(Flaw::LosesACompare, || {
                open(&server.url(), &namespace(NAMESPACE)).unwrap()
            });
        },
    ));
    trials
}

fn is_found(flaw: Flaw, open: impl Fn() -> LeaseStore) {
    let begun = Instant::now();
    for number in 0.. {
        let round = Round::new(number);
        let flawed = |_| {
            open().wrapped(|engine| Flawed {
                engine,
                flaw,
                last: None,
            })
        };
        Clients::new(CLIENTS, &round, flawed).work_while(|progress| progress.after(ANSWERS));
        if let Err(found) = round.check() {
            println!("{flaw:?}, after {:.1?}: {found}", begun.elapsed());
            return;
        }
        assert!(begun.elapsed() < PATIENCE, "{flaw:?} was not found");
    }
}

#[derive(Debug)]
struct Flawed {
    engine: Box<dyn Engine>,
    flaw: Flaw,
    last: Option<Reading>,
}

impl Engine for Flawed {
    fn profile(&self) -> Profile {
        self.engine.profile()
    }

    fn read(&mut self, ask: &Ask<'_>) -> Result<Reading, EngineError> {
        let reading = self.engine.read(ask)?;
        let last = self.last.replace(reading.clone());
        match (self.flaw, last) {
            (Flaw::ReadsWhatWas, Some(last)) if is_wrong() => Ok(last),
            _ => Ok(reading),
        }
    }

    fn write(&mut self, write: &Write) -> Result<WriteOutcome, EngineError> {
        if !is_wrong() {
            return self.engine.write(write);
        }
        let mut wrong = write.clone();
        match self.flaw {
            Flaw::LosesACompare => {
                let entries = wrong.entries.iter_mut();
                entries.for_each(|entry| entry.before = Before::Anything);
            }
            Flaw::WritesAPart => wrong.entries.truncate(1),
            Flaw::DeniesAWrite => {
                return self.engine.write(write).map(|_| WriteOutcome::Stale);
            }
            Flaw::ReadsWhatWas => {}
        }
        self.engine.write(&wrong)
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

    fn limit_for(&mut self, ttl: Duration) {
        self.engine.limit_for(ttl);
    }
}

fn is_wrong() -> bool {
    fastrand::u32(..WRONG_ONCE_IN) == 0
}
