//! An engine in memory that counts what it is asked.

use core::time::Duration;
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard};

use randflake_std::lease::{EngineError, Finding, LeaseStore, Namespace};
use randflake_std::unstable::engine::{Ask, Engine, Profile, Reading};
use randflake_std::unstable::rules::{Continuity, Key, Keys, Removal, Write, WriteOutcome};

#[derive(Clone, Debug, Default)]
pub(crate) struct Map(Arc<Mutex<State>>);

#[derive(Debug, Default)]
pub(crate) struct State {
    pub(crate) texts: BTreeMap<Key, String>,
    pub(crate) now: Duration,
    pub(crate) fingerprint: String,
    pub(crate) reads: usize,
    pub(crate) texts_read: usize,
    /// How many texts each list has asked for.
    pub(crate) lists: Vec<usize>,
    pub(crate) writes: usize,
    pub(crate) claims_asked: usize,
    /// But for claims.
    pub(crate) fails_to_write: bool,
    /// Whether nothing from a key on can be removed.
    pub(crate) fails_to_remove_from: Option<Key>,
    /// The texts and the time when the next write arrives, which others have changed since it was sent.
    pub(crate) meanwhile: Option<(BTreeMap<Key, String>, Duration)>,
    /// Setting by which the engine would lose what it answers.
    pub(crate) fault: Option<String>,
    /// Whether a store opened from now on has a clock of its own, as a server has.
    pub(crate) has_own_clock: bool,
    /// Whether an engine with locks would hold one: since a read with state.
    pub(crate) is_locked: bool,
    /// The TTL that was told last.
    pub(crate) ttl: Option<Duration>,
    /// How many earlier leases of a node id a store opened from now on keeps, if not as many as all engines.
    pub(crate) history: Option<u64>,
    /// The latest end of a lease that the last write has told.
    pub(crate) latest_end_unix_ms: u64,
    /// How many reads succeed before all fail, if any does.
    pub(crate) reads_left: Option<usize>,
}

impl Map {
    pub(crate) fn state(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap()
    }

    /// Of another namespace, beside the same claims as they are now.
    pub(crate) fn other_namespace(&self) -> Self {
        let state = self.state();
        let claims = state.texts.clone().into_iter();
        Self(Arc::new(Mutex::new(State {
            now: state.now,
            texts: claims.filter(|(key, _)| is_claim(*key)).collect(),
            ..State::default()
        })))
    }

    /// A client of the engine's only namespace.
    pub(crate) fn open(&self, namespace: &Namespace) -> LeaseStore {
        LeaseStore::over(self.clone(), namespace.clone())
    }
}

impl State {
    /// Whether no namespace has a text.
    pub(crate) fn has_claims_alone(&self) -> bool {
        self.texts.keys().all(|key| is_claim(*key))
    }
}

fn is_claim(key: Key) -> bool {
    matches!(key, Key::Claim(_))
}

impl Engine for Map {
    fn profile(&self) -> Profile {
        let state = self.state();
        let profile = Profile::at("the map");
        Profile {
            blind_renewal: true,
            has_own_clock: state.has_own_clock,
            history: state.history.unwrap_or(profile.history),
            ..profile
        }
    }

    fn read(&mut self, ask: &Ask<'_>) -> Result<Reading, EngineError> {
        let mut state = self.state();
        state.is_locked |= ask.with_state;
        if let Some(left) = state.reads_left {
            let Some(left) = left.checked_sub(1) else {
                return Err(EngineError::unavailable("it was told to fail"));
            };
            state.reads_left = Some(left);
        }
        state.lists.extend(ask.limit);
        // A list is none of those that are counted.
        state.reads += usize::from(ask.limit.is_none());
        let bounds = ask.keys.iter().map(Keys::bounds);
        state.claims_asked += bounds.filter(|(first, _)| is_claim(*first)).count();
        let mut texts = BTreeMap::new();
        for (first, last) in ask.keys.iter().map(Keys::bounds) {
            let there = state.texts.range(first..=last);
            let there = there.take(ask.limit.unwrap_or(usize::MAX));
            texts.extend(there.map(|(key, text)| (*key, text.clone())));
        }
        state.texts_read += if ask.limit.is_none() { texts.len() } else { 0 };
        Ok(Reading {
            now: state.now,
            continuity: Continuity {
                fingerprint: state.fingerprint.clone(),
                is_absence_certain: true,
                fault: state.fault.clone(),
                ..Continuity::default()
            },
            texts,
        })
    }

    fn write(&mut self, write: &Write) -> Result<WriteOutcome, EngineError> {
        let mut state = self.state();
        state.is_locked = false;
        state.writes += 1;
        if let Some((texts, now)) = state.meanwhile.take() {
            (state.texts, state.now) = (texts, now);
        }
        if state.fails_to_write && !write.entries.iter().any(|entry| is_claim(entry.key)) {
            return Err(EngineError::unavailable("it was told to fail"));
        }
        let is_so = write.entries.iter().all(|entry| {
            let there = state.texts.get(&entry.key);
            entry.before.allows(there.map(String::as_str))
        });
        if !is_so || !write.is_in_window(state.now) || write.fingerprint != state.fingerprint {
            return Ok(WriteOutcome::Stale);
        }
        let after =
            |entry: &randflake_std::unstable::rules::Entry| Some((entry.key, entry.after.clone()?));
        state.texts.extend(write.entries.iter().filter_map(after));
        state.latest_end_unix_ms = write.latest_end_unix_ms;
        Ok(WriteOutcome::Written { now: state.now })
    }

    fn diagnose(&mut self) -> Result<Vec<Finding>, EngineError> {
        let fault = self.state().fault.clone();
        let wrong = fault.map(|fault| Finding::wrong("setting", "off", fault));
        Ok(vec![
            wrong.unwrap_or_else(|| Finding::fine("setting", "on")),
        ])
    }

    fn namespaces(
        &mut self,
        only: Option<&str>,
    ) -> Result<Option<BTreeMap<String, String>>, EngineError> {
        // Its only one has the name that is asked for.
        let name = only.unwrap_or("orders").to_owned();
        let text = self.state().texts.get(&Key::Namespace).cloned();
        Ok(Some(BTreeMap::from_iter(text.map(|text| (name, text)))))
    }

    fn remove(&mut self, removal: &Removal<'_>) -> Result<(), EngineError> {
        let (first, last) = removal.bounds();
        let mut state = self.state();
        state.is_locked = false;
        if state.fails_to_remove_from.is_some_and(|from| first >= from) {
            return Err(EngineError::unavailable("it was told to fail"));
        }
        let texts = &mut state.texts;
        let (namespace, guard) = (texts.get(&Key::Namespace), removal.guard());
        if guard.is_none_or(|guard| namespace.is_some_and(|namespace| namespace == guard)) {
            texts.retain(|key, _| !(first..=last).contains(key));
        }
        Ok(())
    }

    fn limit_for(&mut self, ttl: Duration) {
        self.state().ttl = Some(ttl);
    }

    fn abandon(&mut self) {
        self.state().is_locked = false;
    }
}
