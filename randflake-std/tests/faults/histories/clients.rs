//! Clients of one engine, each with a connection of its own, and what they record.

use core::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use core::time::Duration;
use std::sync::{Mutex, PoisonError};
use std::thread;
use std::time::Instant;

use randflake_std::lease::{EngineError, EngineErrorKind, LeaseStore};
use randflake_std::unstable::engine::{Ask, Engine};
use randflake_std::unstable::rules::{Before, Entry, Key, Keys, Write, WriteOutcome};

use super::checker::{
    Event, Figures, NOTHING, Operation, Outcome, Place, Version, check, without_undone,
};
use crate::issuer::TTL;

/// So few that clients often meet.
const PLACES: Place = 3;
/// Nobody may be kept waiting for longer, on a busy machine.
const PATIENCE: Duration = Duration::from_secs(120);
const PAUSE: Duration = Duration::from_millis(5);
/// Between a reading and a write.
const THOUGHT: Duration = Duration::from_micros(100);

/// One history: of keys that no other has.
pub(crate) struct Round {
    first: Place,
    begun: Instant,
    /// Of the last write that was begun.
    version: AtomicU64,
    history: Mutex<Vec<Operation>>,
    /// When the engine was killed, if it may show what that undoes.
    killed: AtomicU64,
}

impl Round {
    pub(crate) fn new(number: Place) -> Self {
        Self {
            first: number * PLACES,
            begun: Instant::now(),
            version: AtomicU64::new(NOTHING),
            history: Mutex::default(),
            killed: AtomicU64::new(0),
        }
    }

    /// That its history could have happened one after the other.
    pub(crate) fn check(&self) -> Result<Figures, String> {
        let history = self.history.lock().unwrap_or_else(PoisonError::into_inner);
        match self.killed.load(Ordering::Relaxed) {
            0 => check(&history),
            killed => check(&without_undone(&history, killed)),
        }
    }

    /// The engine is killed now, and may have shown what that undoes.
    pub(crate) fn may_undo(&self) {
        self.killed.store(self.now(), Ordering::Relaxed);
    }

    fn now(&self) -> u64 {
        u64::try_from(self.begun.elapsed().as_nanos()).unwrap()
    }

    fn places(&self) -> [Keys; 1] {
        [Keys::Nodes(self.first..=self.first + PLACES - 1)]
    }

    fn record(&self, begun: u64, ended: u64, events: impl IntoIterator<Item = Event>) {
        let mut history = self.history.lock().unwrap_or_else(PoisonError::into_inner);
        let operations = events.into_iter().map(|event| Operation {
            begun,
            ended,
            event,
        });
        history.extend(operations);
    }

    /// Reads all, and mostly replaces one or two of what it has read, if these are unchanged.
    fn step(&self, engine: &mut dyn Engine) -> Result<(), EngineError> {
        engine.limit_for(TTL);
        let keys = self.places();
        let begun = self.now();
        let is_look = fastrand::u8(..4) == 0;
        let ask = if is_look {
            Ask::texts(&keys)
        } else {
            Ask::with_state(&keys)
        };
        let reading = engine.read(&ask)?;
        let ended = self.now();
        let found = |place| {
            let text = reading.texts.get(&Key::Node(place));
            text.map_or(NOTHING, |text| text.parse().unwrap())
        };
        let places = self.first..self.first + PLACES;
        self.record(
            begun,
            ended,
            places.map(|place| Event::Read {
                place,
                found: found(place),
            }),
        );
        if is_look {
            return Ok(());
        }
        if fastrand::u8(..8) == 0 {
            engine.abandon();
            return Ok(());
        }
        if fastrand::bool() {
            // Else an engine without a network would never be asked by another in between.
            thread::sleep(THOUGHT);
        }
        let version: Version = self.version.fetch_add(1, Ordering::Relaxed) + 1;
        let first = fastrand::u32(..PLACES);
        let replaced: Vec<_> = (first..=first + fastrand::u32(..2))
            .map(|at| self.first + at % PLACES)
            .map(|place| (place, found(place)))
            .collect();
        let write = Write {
            fingerprint: reading.continuity.fingerprint.clone(),
            entries: replaced
                .iter()
                .map(|(place, before): &(Place, Version)| Entry {
                    key: Key::Node(*place),
                    before: match *before {
                        NOTHING => Before::Nothing,
                        before => Before::Text(before.to_string()),
                    },
                    after: Some(version.to_string()),
                })
                .collect(),
            ..Write::default()
        };
        let begun = self.now();
        let written = engine.write(&write);
        let ended = self.now();
        let outcome = match &written {
            Ok(WriteOutcome::Written { .. }) => Outcome::Done,
            Ok(WriteOutcome::Stale) => Outcome::Refused,
            Err(_) => Outcome::Unknown,
        };
        let event = Event::Write {
            version,
            replaced,
            outcome,
        };
        self.record(begun, ended, [event]);
        written.map(drop)
    }
}

/// How far the clients of a round are.
pub(crate) struct Progress {
    answered: AtomicU64,
    is_over: AtomicBool,
}

impl Progress {
    /// Waits for so many more answers.
    pub(crate) fn after(&self, answers: u64) {
        let wanted = self.answered.load(Ordering::Relaxed) + answers;
        let begun = Instant::now();
        while self.answered.load(Ordering::Relaxed) < wanted {
            assert!(begun.elapsed() < PATIENCE, "no answer for {PATIENCE:?}");
            thread::sleep(PAUSE);
        }
    }
}

/// However the work ends: the scope waits for the clients.
struct EndOnDrop<'s>(&'s Progress);

impl Drop for EndOnDrop<'_> {
    fn drop(&mut self) {
        self.0.is_over.store(true, Ordering::Relaxed);
    }
}

pub(crate) struct Clients<'r> {
    all: Vec<LeaseStore>,
    round: &'r Round,
}

impl<'r> Clients<'r> {
    pub(crate) fn new(
        count: usize,
        round: &'r Round,
        open: impl FnMut(usize) -> LeaseStore,
    ) -> Self {
        Self {
            all: (0..count).map(open).collect(),
            round,
        }
    }

    /// Lets them work while something is done to the engine.
    pub(crate) fn work_while(self, act: impl FnOnce(&Progress)) {
        let progress = Progress {
            answered: AtomicU64::new(0),
            is_over: AtomicBool::new(false),
        };
        let (round, shared) = (self.round, &progress);
        thread::scope(|scope| {
            let _ended = EndOnDrop(shared);
            for mut store in self.all {
                scope.spawn(move || {
                    let (engine, _) = store.internals().unwrap();
                    while !shared.is_over.load(Ordering::Relaxed) {
                        match round.step(engine) {
                            Ok(()) => _ = shared.answered.fetch_add(1, Ordering::Relaxed),
                            Err(error) if error.kind() == EngineErrorKind::Unavailable => {
                                thread::sleep(PAUSE);
                            }
                            Err(error) => panic!("{error}"),
                        }
                    }
                });
            }
            act(shared);
        });
    }
}
