//! Leases and counters in the memory of one process, for tests and simulations.

use core::fmt::{self, Debug, Formatter};
use core::ops::{Deref, DerefMut};
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use randflake_core::Clock;

use crate::clock::ExactSystemClock;
use crate::rules::{
    Continuity, CounterRecord, Form, Key, Keys, Removal, Write, WriteOutcome, read_clock,
};
use crate::store::{Ask, Engine, LeaseStore, Profile, Reading};
use crate::types::{CounterTerms, EngineError, Finding, Namespace, StoreError};

/// A store of leases and counters in memory, for tests and simulations.
///
/// It is a [`LeaseStore`], and can do what a test needs beside that. Its counters begin at 1 by
/// themselves. It keeps the whole contract of a store while the process lives; everything is lost
/// when the process ends. A clone is another client of the same store. It fails on demand: see
/// [`fail_next`](MemoryStore::fail_next), [`lose_replies`](MemoryStore::lose_replies) and
/// [`forget`](MemoryStore::forget).
///
/// Two stores know nothing of each other, so two tests under one secret may make equal ids. Tests
/// that share a database or compare ids share a store; for others
/// [`with_system_clock`](MemoryStore::with_system_clock) makes it unlikely. With [a clock of its
/// own](MemoryStore::new) a test gets the same node ids in each run, beginning at 0.
///
/// ```
/// use randflake_lease::{AcquireRequest, MemoryStore, Namespace, NodeIds, Token};
/// use randflake_core::ManualClock;
/// use randflake_core::Randflake;
/// use std::sync::Arc;
///
/// let clock = Arc::new(ManualClock::at_unix_ms(1_730_000_100_000));
/// let mut store = MemoryStore::new(Namespace::new("orders", Randflake)?, Arc::clone(&clock));
/// let token = Token::random()?;
/// let request = AcquireRequest { token, holder: "example", nodes: NodeIds::Any(1), ttl: 60 };
/// let grant = store.acquire(&request)?.grants[0];
/// assert_eq!((grant.node_id, grant.start, grant.end), (0, 100, 160));
///
/// clock.advance_ms(20_000);
/// assert_eq!(store.renew(&[grant], 60)?.ends, [Ok(180)]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct MemoryStore {
    store: LeaseStore,
    memory: Memory,
}

/// One namespace of a store, as a client reaches it.
#[derive(Clone)]
struct Memory {
    namespace: String,
    clock: Arc<dyn Clock + Send + Sync>,
    /// Whether the search for a free node id begins at a random one.
    begins_anywhere: bool,
    state: Arc<Mutex<State>>,
}

#[derive(Default)]
struct State {
    texts: BTreeMap<(String, Key), String>,
    /// The latest end of a lease of each namespace, also of one that was forgotten, in Unix
    /// milliseconds.
    ends: BTreeMap<String, u64>,
    /// How often the store has forgotten.
    breaks: u64,
    failures: u32,
    lost_replies: u32,
}

impl MemoryStore {
    /// An empty store on a clock that may be shared. It grants the lowest node ids that are free,
    /// so that a test with a clock of its own gets the same ids in each run.
    pub fn new(namespace: Namespace, clock: Arc<impl Clock + Send + Sync + 'static>) -> Self {
        Self::empty(namespace, clock, false)
    }

    /// An empty store on the system's clock. It begins at a random node id: ids of two tests under
    /// one secret, each with a store of its own, are rarely equal.
    ///
    /// ```
    /// use randflake_lease::{AcquireRequest, MemoryStore, Namespace, NodeIds, Token};
    /// use randflake_core::Randflake;
    ///
    /// let mut store = MemoryStore::with_system_clock(Namespace::new("orders", Randflake)?);
    /// let request = AcquireRequest { token: Token::random()?, holder: "test", nodes: NodeIds::Any(1), ttl: 60 };
    /// assert_eq!(store.acquire(&request)?.grants.len(), 1);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn with_system_clock(namespace: Namespace) -> Self {
        Self::empty(namespace, Arc::new(ExactSystemClock), true)
    }

    fn empty(
        namespace: Namespace,
        clock: Arc<dyn Clock + Send + Sync>,
        begins_anywhere: bool,
    ) -> Self {
        let memory = Memory {
            namespace: namespace.name().to_owned(),
            clock,
            begins_anywhere,
            state: Arc::default(),
        };
        memory.begin_counter();
        let store = LeaseStore::over(memory.clone(), namespace);
        Self { store, memory }
    }

    /// Another client of the same store, for any namespace of it.
    ///
    /// # Errors
    ///
    /// [`StoreError::FailedPrecondition`] when the store has that namespace with other terms.
    pub fn open(&self, namespace: Namespace) -> Result<Self, StoreError> {
        let memory = Memory {
            namespace: namespace.name().to_owned(),
            ..self.memory.clone()
        };
        let store = LeaseStore::opened(memory.clone(), namespace)?;
        memory.begin_counter();
        Ok(Self { store, memory })
    }

    /// Copies this client with everything that it remembers, as a machine that is resumed twice
    /// from one snapshot. A clone, in contrast, is another client.
    #[must_use]
    pub fn resumed_twice(&self) -> Self {
        let memory = self.memory.clone();
        let store = self.store.copied(memory.clone());
        Self { store, memory }
    }

    /// [`LeaseStore::compared_with`] for this client.
    #[must_use]
    pub fn compared_with(self, machine: Arc<impl Clock + Send + Sync + 'static>) -> Self {
        let store = self.store.compared_with(machine);
        Self { store, ..self }
    }

    /// [`LeaseStore::simulated_on`] for this client.
    #[must_use]
    pub fn simulated_on<C>(self, machine: Arc<C>, monotonic: Arc<C>) -> Self
    where
        C: Clock + Send + Sync + 'static,
    {
        let store = self.store.simulated_on(machine, monotonic);
        Self { store, ..self }
    }

    /// Makes the next `n` operations of any client fail as [`StoreError::Unavailable`], without
    /// effect.
    pub fn fail_next(&self, n: u32) {
        self.memory.state().failures = n;
    }

    /// Makes the next `n` writes of any client take effect but fail as [`StoreError::Unavailable`],
    /// as when a reply is lost.
    pub fn lose_replies(&self, n: u32) {
        self.memory.state().lost_replies = n;
    }

    /// Deletes all records, like a server that restarts empty. The store detects that, and is
    /// quarantined until every forgotten lease has expired.
    ///
    /// Counters are refused until they are [begun](crate::Counter::create) or
    /// [resumed](crate::Counter::resume).
    pub fn forget(&self) {
        let mut state = self.memory.state();
        // The ends stay, as a mark beside a database does: they say how long the quarantine must
        // be.
        state.texts.clear();
        state.breaks = state.breaks.wrapping_add(1);
    }
}

impl Memory {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The state, unless the operation was ordered to fail.
    fn begin(&self) -> Result<MutexGuard<'_, State>, EngineError> {
        let mut state = self.state();
        if take_one(&mut state.failures) {
            return Err(EngineError::unavailable("it was told to fail"));
        }
        Ok(state)
    }

    /// Begins the namespace's counter at 1, as an operator does in other stores: that nobody has
    /// used it before is certain here, and only here, unless the store was told to forget.
    fn begin_counter(&self) {
        let mut state = self.state();
        if state.breaks > 0 {
            return;
        }
        let begun = CounterRecord {
            next: 1,
            terms: CounterTerms::default(),
            counter_nonce: 1,
            vouched: state.breaks.to_string(),
            nonce: 0,
            form: Form::default(),
        };
        let key = self.key(Key::Counter);
        state.texts.entry(key).or_insert_with(|| begun.to_text());
    }

    fn key(&self, key: Key) -> (String, Key) {
        (key.scope(&self.namespace).to_owned(), key)
    }
}

fn take_one(count: &mut u32) -> bool {
    let any = *count > 0;
    *count = count.saturating_sub(1);
    any
}

impl Engine for Memory {
    fn profile(&self) -> Profile {
        Profile {
            // What makes a search begin at a random node id, as clients of a server do.
            is_shared: self.begins_anywhere,
            blind_renewal: true,
            ..Profile::at("the store in memory")
        }
    }

    fn read(&mut self, ask: &Ask<'_>) -> Result<Reading, EngineError> {
        let state = self.begin()?;
        let now = read_clock(&*self.clock)?;
        let mut texts = BTreeMap::new();
        for (first, last) in ask.keys.iter().map(Keys::bounds) {
            let there = state.texts.range(self.key(first)..=self.key(last));
            // A range of the map is in the order of keys, as the limit asks.
            let there = there.take(ask.limit.unwrap_or(usize::MAX));
            texts.extend(there.map(|((_, key), text)| (*key, text.clone())));
        }
        Ok(Reading {
            now,
            continuity: Continuity {
                fingerprint: state.breaks.to_string(),
                is_absence_certain: state.breaks == 0,
                known_end_unix_ms: state.ends.get(&self.namespace).copied().unwrap_or(0),
                ..Continuity::default()
            },
            texts,
        })
    }

    fn write(&mut self, write: &Write) -> Result<WriteOutcome, EngineError> {
        // Fails on demand here too: a blind renewal has not read before.
        let mut state = self.begin()?;
        let now = read_clock(&*self.clock)?;
        let is_so = write.entries.iter().all(|entry| {
            let there = state.texts.get(&self.key(entry.key));
            entry.before.allows(there.map(String::as_str))
        });
        if !is_so || !write.is_in_window(now) || write.fingerprint != state.breaks.to_string() {
            return Ok(WriteOutcome::Stale);
        }
        for entry in &write.entries {
            if let Some(after) = &entry.after {
                state.texts.insert(self.key(entry.key), after.clone());
            }
        }
        let end = state.ends.entry(self.namespace.clone()).or_default();
        *end = write.latest_end_unix_ms.max(*end);
        // Only now: the write has taken effect.
        if take_one(&mut state.lost_replies) {
            return Err(EngineError::unavailable("it was told to lose the reply"));
        }
        Ok(WriteOutcome::Written { now })
    }

    fn namespaces(
        &mut self,
        only: Option<&str>,
    ) -> Result<Option<BTreeMap<String, String>>, EngineError> {
        let state = self.begin()?;
        let names = state
            .texts
            .iter()
            .filter(|((name, key), _)| {
                *key == Key::Namespace && only.is_none_or(|only| only == name)
            })
            .map(|((name, _), text)| (name.clone(), text.clone()));
        Ok(Some(names.collect()))
    }

    fn remove(&mut self, removal: &Removal<'_>) -> Result<(), EngineError> {
        let mut state = self.begin()?;
        let there = state.texts.get(&self.key(Key::Namespace));
        let guard = removal.guard();
        if guard.is_none_or(|guard| there.is_some_and(|there| there == guard)) {
            let (first, last) = removal.bounds();
            let range = self.key(first)..=self.key(last);
            state.texts.retain(|key, _| !range.contains(key));
        }
        Ok(())
    }

    fn diagnose(&mut self) -> Result<Vec<Finding>, EngineError> {
        let sentence = "every lease is forgotten when the process ends: for tests and simulations";
        Ok(vec![Finding::caution("durability", "none", sentence)])
    }
}

impl Debug for Memory {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.debug_struct("Memory")
            .field("namespace", &self.namespace)
            .finish_non_exhaustive()
    }
}

/// Another client of the same store, which has seen nothing.
impl Clone for MemoryStore {
    fn clone(&self) -> Self {
        let memory = self.memory.clone();
        let store = self.store.another(memory.clone());
        Self { store, memory }
    }
}

impl Deref for MemoryStore {
    type Target = LeaseStore;

    fn deref(&self) -> &LeaseStore {
        &self.store
    }
}

impl DerefMut for MemoryStore {
    fn deref_mut(&mut self) -> &mut LeaseStore {
        &mut self.store
    }
}

impl From<MemoryStore> for LeaseStore {
    fn from(memory: MemoryStore) -> Self {
        memory.store
    }
}
