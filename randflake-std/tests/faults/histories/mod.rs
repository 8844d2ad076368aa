//! Histories of clients that read and write conditionally at the same time, with when each
//! operation began and ended: as if each had been done at one moment in between, on every engine
//! and whatever befalls it.
//!
//! A history is checked in the time of a sort, so it need not be short (see [`checker`]). Each
//! round of faults has keys of its own: what a round has left undone cannot matter to the next one,
//! and memory stays small.

mod checker;
mod clients;
mod twin;

use core::time::Duration;
use std::collections::BTreeMap;
use std::time::Instant;
use std::{env, thread};

use clients::{Clients, Round};
use harness::engine::{ENGINES, ServerEngine};
use harness::proxy::{Network, Proxy};
use harness::redis::RedisServer;
use libtest_mimic::Trial;
use randflake_std::lease::{EngineError, LeaseStore, MemoryStore, SqliteStore, open};
use randflake_std::unstable::engine::{Ask, Engine, Profile, Reading};
use randflake_std::unstable::rules::{Before, Removal, Write, WriteOutcome};
use tempfile::TempDir;

use crate::issuer::namespace;
use crate::trial;

/// How long on each engine, at least; a round of all faults in any case.
const SECONDS: &str = "RANDFLAKE_HISTORY_SECONDS";
const CLIENTS: usize = 4;
/// Operations between two faults.
const OPERATIONS: u64 = 150;
/// Operations without faults.
const MANY: u64 = 2_000;
/// Longer than an operation may take under the TTL of these tests.
const SUSPENSION: Duration = Duration::from_millis(1_500);
const FAILURE: Duration = Duration::from_millis(200);

pub(crate) fn trials() -> Vec<Trial> {
    let mut trials: Vec<_> = ENGINES
        .iter()
        .map(|engine| {
            trial(&name(engine.name), || {
                on_a_server(&mut *(engine.start)());
            })
        })
        .collect();
    trials.extend(planted_trials());
    trials.extend(twin::trials());
    trials.push(trial(&name("memory"), || {
        let memory = MemoryStore::with_system_clock(namespace(NAMESPACE));
        let round = Round::new(0);
        let clients = Clients::new(CLIENTS, &round, |_| LeaseStore::from(memory.clone()));
        clients.work_while(|progress| progress.after(MANY));
        round.check().unwrap();
    }));
    trials.push(trial(&name("sqlite"), || {
        let folder = TempDir::new().unwrap();
        let path = folder.path().join("leases.db");
        rounds("sqlite", |round| {
            Clients::new(CLIENTS, round, |_| {
                SqliteStore::open(&path, &namespace(NAMESPACE)).unwrap()
            })
            .work_while(|progress| progress.after(MANY / 4));
        });
    }));
    trials
}

const NAMESPACE: &str = "histories";

fn name(engine: &str) -> String {
    format!("{engine}::histories_are_linearizable")
}

/// One at least, and as many as there is time for.
fn rounds(engine: &str, mut run: impl FnMut(&Round)) {
    let seconds = env::var(SECONDS).ok().and_then(|text| text.parse().ok());
    let time = Duration::from_secs(seconds.unwrap_or(0));
    let begun = Instant::now();
    let mut all = checker::Figures::default();
    for number in 0.. {
        let round = Round::new(number);
        run(&round);
        let verdict = round.check();
        all += verdict.unwrap_or_else(|why| panic!("{engine}, round {number}: {why}"));
        if begun.elapsed() >= time {
            println!("{engine}: {all} in {} rounds", number + 1);
            return;
        }
    }
}

/// It is killed and suspended; half of the clients have a network that is cut, is slow, or loses
/// replies.
fn on_a_server(engine: &mut dyn ServerEngine) {
    let proxy = Proxy::to(engine.port());
    let urls = [engine.url(), engine.url_at(proxy.port)];
    // InnoDB releases a transaction's locks before its log is on the disk, so others may read what
    // a kill undoes. A lease is granted by a write alone, whose log comes after that of what it
    // replaces.
    let shows_before_kept = engine.url().starts_with("mysql:");
    rounds(&engine.url(), |round| {
        let clients = Clients::new(CLIENTS, round, |at: usize| {
            open(&urls[at % urls.len()], &namespace(NAMESPACE)).unwrap()
        });
        clients.work_while(|progress| {
            let network_is = |network| {
                progress.after(OPERATIONS);
                proxy.set(network);
                thread::sleep(FAILURE);
                proxy.set(Network::Works);
            };
            network_is(Network::LosesReplies);
            network_is(Network::Slow);
            progress.after(OPERATIONS);
            engine.server().kill();
            if shows_before_kept {
                round.may_undo();
            }
            engine.server().restart();
            network_is(Network::Cut);
            progress.after(OPERATIONS);
            engine.server().suspend();
            thread::sleep(SUSPENSION);
            engine.server().resume();
            progress.after(OPERATIONS);
        });
    });
}

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

/// Histories with planted mistakes, which the checker must find.
fn planted_trials() -> Vec<Trial> {
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
        Clients::new(CLIENTS, &round, |_| {
            open().wrapped(|engine| Flawed {
                engine,
                flaw,
                last: None,
            })
        })
        .work_while(|progress| progress.after(ANSWERS));
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
