//! Leases and counters in the memory of one process, for tests and simulations.

mod records;

use core::fmt::{self, Debug, Formatter};
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use randflake_core::Clock;

use self::records::Records;
use super::{Finding, Namespace, StoreError};
use crate::ledger::{
    Backend, Change, Committed, Continuity, CounterBackend, CounterRecord, CounterView, Ledger,
    NodeRecord, View, Wanted, read_clock,
};

/// A lease store in memory, for tests and simulations: it keeps the whole contract as long as the
/// process lives, and forgets everything with it.
///
/// A clone is another client of the same store. It fails on demand: see
/// [`fail_next`](MemoryStore::fail_next), [`lose_replies`](MemoryStore::lose_replies) and
/// [`forget`](MemoryStore::forget).
///
/// ```
/// use randflake_std::lease::{AcquireRequest, LeaseStore, MemoryStore, Namespace, NodeIds, Token};
/// use randflake_std::randflake_core::ManualClock;
/// use randflake_std::Randflake;
/// use std::sync::Arc;
///
/// let clock = Arc::new(ManualClock::at_unix_ms(1_730_000_100_000));
/// let mut store = MemoryStore::new(Namespace::of::<Randflake>("orders")?, Arc::clone(&clock));
/// let token = Token::random()?;
/// let request = AcquireRequest { token, holder: "example", nodes: NodeIds::Any(1), ttl: 60 };
/// let grant = store.acquire(&request)?.grants[0];
/// assert_eq!((grant.node_id, grant.start, grant.end), (0, 100, 160));
///
/// clock.advance_ms(20_000);
/// assert_eq!(store.renew(&[grant], 60)?.ends, [Ok(180)]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub type MemoryStore = Ledger<Memory>;

/// One namespace of a store, as a client reaches it.
#[derive(Clone)]
pub struct Memory {
    namespace: Namespace,
    clock: Arc<dyn Clock + Send + Sync>,
    state: Arc<Mutex<State>>,
    /// How often the store had forgotten when it was read.
    breaks: u64,
}

#[derive(Default)]
struct State {
    namespaces: BTreeMap<String, Records>,
    counters: BTreeMap<String, CounterRecord>,
    /// How often the store has forgotten.
    breaks: u64,
    failures: u32,
    lost_replies: u32,
}

impl Ledger<Memory> {
    /// An empty store on a clock that may be shared.
    pub fn new<C>(namespace: Namespace, clock: Arc<C>) -> Self
    where
        C: Clock + Send + Sync + 'static,
    {
        let state = Arc::new(Mutex::new(State::default()));
        let memory = Memory {
            namespace: namespace.clone(),
            clock,
            state,
            breaks: 0,
        };
        Self::over(memory, namespace)
    }

    /// Another client of the same store, for any namespace of it.
    ///
    /// # Errors
    ///
    /// [`StoreError::Unusable`] when the store has that namespace with other terms.
    pub fn open(&self, namespace: Namespace) -> Result<Self, StoreError> {
        let memory = Memory {
            namespace: namespace.clone(),
            ..self.backend.clone()
        };
        let mut store = Self::over(memory, namespace);
        store.check()?;
        Ok(store)
    }

    /// This very client once more, with all that it remembers: what a machine has that is resumed twice from one
    /// snapshot. A clone is another client.
    #[must_use]
    pub fn resumed_twice(&self) -> Self {
        self.copy()
    }

    /// Lets the next `n` operations of any client fail as [`StoreError::Unavailable`], without effect.
    pub fn fail_next(&self, n: u32) {
        self.backend.state().failures = n;
    }

    /// Lets the next `n` writes of any client take effect and fail as [`StoreError::Unavailable`]
    /// all the same, as when a reply is lost.
    pub fn lose_replies(&self, n: u32) {
        self.backend.state().lost_replies = n;
    }

    /// Loses all records, as a server that restarts empty. The store notices: it grants nothing until
    /// all that it has forgotten has expired.
    ///
    /// Counters are refused until somebody says where they go on.
    pub fn forget(&self) {
        let mut state = self.backend.state();
        state.counters.clear();
        state.breaks = state.breaks.wrapping_add(1);
        state.namespaces.values_mut().for_each(Records::forget);
    }
}

impl Memory {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The state, unless the operation was ordered to fail.
    fn begin(&self) -> Result<MutexGuard<'_, State>, StoreError> {
        let mut state = self.state();
        if take_one(&mut state.failures) {
            return Err(StoreError::unavailable("it was told to fail"));
        }
        Ok(state)
    }
}

impl State {
    fn records(&mut self, namespace: &Namespace) -> &mut Records {
        self.namespaces
            .entry(namespace.name().to_owned())
            .or_default()
    }

    /// After a write: fails if its reply was ordered to be lost.
    fn reply(&mut self) -> Result<(), StoreError> {
        if take_one(&mut self.lost_replies) {
            return Err(StoreError::unavailable("it was told to lose the reply"));
        }
        Ok(())
    }
}

fn take_one(count: &mut u32) -> bool {
    let any = *count > 0;
    *count = count.saturating_sub(1);
    any
}

impl Backend for Memory {
    fn read(&mut self, wanted: &Wanted<'_>) -> Result<View, StoreError> {
        let breaks = self.state().breaks;
        self.breaks = breaks;
        let mut state = self.begin()?;
        let now = read_clock(&*self.clock)?;
        let spec = self.namespace.spec();
        let breaks = state.breaks;
        let records = state.records(&self.namespace);
        let tick = spec.tick_at(now).unwrap_or(0);
        let (free, free_from) = records.free(wanted.free, tick, self.namespace.node_ids());
        let asked = wanted.nodes.iter().map(|&node_id| records.node(node_id));
        let known_end_unix_ms = match records.latest_end {
            0 => 0,
            tick => spec.unix_ms(tick),
        };
        Ok(View {
            now,
            continuity: Continuity {
                fingerprint: breaks.to_string(),
                is_absence_certain: breaks == 0 && records.is_empty(),
                known_end_unix_ms,
                fault: None,
            },
            nodes: asked.chain(free).collect(),
            namespace: records.namespace.clone(),
            is_sole: false,
            free_from,
        })
    }

    fn commit(&mut self, change: &Change) -> Result<Committed, StoreError> {
        let mut state = self.state();
        let now = read_clock(&*self.clock)?;
        let has_forgotten = state.breaks != self.breaks;
        let records = state.records(&self.namespace);
        if has_forgotten || !records.allow(change) {
            return Ok(Committed::Stale);
        }
        records.apply(change);
        state.reply()?;
        Ok(Committed::Done { now })
    }

    fn list(&mut self) -> Result<Vec<NodeRecord>, StoreError> {
        Ok(self.begin()?.records(&self.namespace).all())
    }

    fn diagnose(&mut self) -> Result<Vec<Finding>, StoreError> {
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

/// Another client of the same store.
impl Clone for Ledger<Memory> {
    fn clone(&self) -> Self {
        let mut client = self.another();
        client.machine.clone_from(&self.machine);
        client
    }
}

impl CounterBackend for Memory {
    fn read_counter(&mut self) -> Result<CounterView, StoreError> {
        let state = self.begin()?;
        Ok(CounterView {
            record: state.counters.get(self.namespace.name()).cloned(),
            continuity: Continuity {
                fingerprint: state.breaks.to_string(),
                is_absence_certain: state.breaks == 0,
                ..Continuity::default()
            },
        })
    }

    fn commit_counter(
        &mut self,
        before: Option<&CounterRecord>,
        after: &CounterRecord,
    ) -> Result<bool, StoreError> {
        let mut state = self.state();
        let name = self.namespace.name();
        if state.counters.get(name) != before {
            return Ok(false);
        }
        state.counters.insert(name.to_owned(), after.clone());
        state.reply()?;
        Ok(true)
    }
}
