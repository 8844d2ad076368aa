//! Leases and counters in the memory of one process, for tests and simulations.

mod leases;

use core::fmt::{self, Debug, Formatter};
use core::time::Duration;
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use randflake_core::Clock;

use self::leases::Leases;
use super::moment::{self, Moment};
use super::{
    AcquireRequest, Acquired, Finding, Grant, LeaseStore, Namespace, Record, Renewed, StoreError,
};
use crate::segment::{Counter, CounterStatus, Segment, SegmentStore};

/// A lease store in memory, for tests and simulations: it keeps the whole contract as long as the
/// process lives, and forgets everything with it.
///
/// A clone is another client of the same store. It fails on demand: see
/// [`fail_next`](MemoryStore::fail_next), [`lose_replies`](MemoryStore::lose_replies) and
/// [`forget`](MemoryStore::forget).
///
/// ```
/// use randflake_std::lease::{AcquireRequest, LeaseStore, MemoryStore, Namespace, Token};
/// use randflake_std::randflake_core::ManualClock;
/// use randflake_std::Randflake;
/// use std::sync::Arc;
///
/// let clock = Arc::new(ManualClock::at_unix_ms(1_730_000_100_000));
/// let mut store = MemoryStore::new(Namespace::of::<Randflake>("orders")?, Arc::clone(&clock));
/// let token = Token::random()?;
/// let request = AcquireRequest { token, holder: "example", count: 1, ttl: 60 };
/// let grant = store.acquire(&request)?.grants[0];
/// assert_eq!((grant.node_id, grant.start, grant.end), (0, 100, 160));
///
/// clock.advance_ms(20_000);
/// assert_eq!(store.renew(&[grant], 60)?.ends, [Some(180)]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone)]
pub struct MemoryStore {
    namespace: Namespace,
    clock: Arc<dyn Clock + Send + Sync>,
    state: Arc<Mutex<State>>,
}

#[derive(Default)]
struct State {
    namespaces: BTreeMap<String, Leases>,
    counters: BTreeMap<String, Counter>,
    /// How often the store has forgotten.
    breaks: u64,
    failures: u32,
    lost_replies: u32,
}

impl MemoryStore {
    /// An empty store on a clock that may be shared.
    pub fn new<C>(namespace: Namespace, clock: Arc<C>) -> Self
    where
        C: Clock + Send + Sync + 'static,
    {
        let leases = Leases::new(namespace.clone());
        let namespaces = BTreeMap::from([(namespace.name().to_owned(), leases)]);
        let state = State {
            namespaces,
            ..State::default()
        };
        Self {
            namespace,
            clock,
            state: Arc::new(Mutex::new(state)),
        }
    }

    /// Another client of the same store, for any namespace of it.
    ///
    /// # Errors
    ///
    /// [`StoreError::Unusable`] when the store has that namespace with another layout.
    pub fn open(&self, namespace: Namespace) -> Result<Self, StoreError> {
        let mut state = self.state();
        let leases = state
            .namespaces
            .entry(namespace.name().to_owned())
            .or_insert_with(|| Leases::new(namespace.clone()));
        leases.check_layout(&namespace)?;
        drop(state);
        Ok(Self {
            namespace,
            ..self.clone()
        })
    }

    /// Lets the next `n` operations of any client fail as [`StoreError::Unavailable`], without effect.
    pub fn fail_next(&self, n: u32) {
        self.state().failures = n;
    }

    /// Lets the next `n` operations of any client take effect and fail as [`StoreError::Unavailable`]
    /// all the same, as when a reply is lost.
    pub fn lose_replies(&self, n: u32) {
        self.state().lost_replies = n;
    }

    /// Loses all records, as a server that restarts empty. The store notices: it grants nothing until
    /// all that it has forgotten is over.
    ///
    /// Counters are refused until somebody says where they go on.
    pub fn forget(&self) {
        let mut state = self.state();
        state.counters.clear();
        state.breaks = state.breaks.wrapping_add(1);
        state.namespaces.values_mut().for_each(Leases::forget);
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// One operation, subject to the faults that were ordered.
    fn operate<T>(
        &self,
        operation: impl FnOnce(&mut Leases, Moment) -> Result<T, StoreError>,
    ) -> Result<T, StoreError> {
        self.subject_to_faults(|state| {
            let now = Moment::read(&*self.clock, self.namespace.spec())?;
            let leases = state
                .namespaces
                .get_mut(self.namespace.name())
                .ok_or_else(|| StoreError::unavailable("the namespace is gone"))?;
            leases.notice(now);
            operation(leases, now)
        })
    }

    /// One operation on the counter: it needs no clock.
    fn count<T>(
        &self,
        operation: impl FnOnce(&mut Counter, u64) -> Result<T, StoreError>,
    ) -> Result<T, StoreError> {
        self.subject_to_faults(|state| {
            let name = self.namespace.name().to_owned();
            let counter = state.counters.entry(name).or_insert(Counter::NEW);
            operation(counter, state.breaks)
        })
    }

    fn subject_to_faults<T>(
        &self,
        operation: impl FnOnce(&mut State) -> Result<T, StoreError>,
    ) -> Result<T, StoreError> {
        let mut state = self.state();
        if take_one(&mut state.failures) {
            return Err(StoreError::unavailable("it was told to fail"));
        }
        let outcome = operation(&mut state);
        if take_one(&mut state.lost_replies) {
            return Err(StoreError::unavailable("it was told to lose the reply"));
        }
        outcome
    }
}

fn take_one(count: &mut u32) -> bool {
    let any = *count > 0;
    *count = count.saturating_sub(1);
    any
}

impl Debug for MemoryStore {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.debug_struct("MemoryStore")
            .field("namespace", &self.namespace)
            .finish_non_exhaustive()
    }
}

impl LeaseStore for MemoryStore {
    fn namespace(&self) -> &Namespace {
        &self.namespace
    }

    fn acquire(&mut self, request: &AcquireRequest<'_>) -> Result<Acquired, StoreError> {
        self.operate(|leases, now| {
            let grants = leases.acquire(request, now)?;
            Ok(Acquired {
                grants,
                now: now.unix,
            })
        })
    }

    fn renew(&mut self, grants: &[Grant], ttl: u64) -> Result<Renewed, StoreError> {
        self.operate(|leases, now| {
            let ends = leases.renew(grants, ttl, now)?;
            Ok(Renewed {
                ends,
                now: now.unix,
            })
        })
    }

    fn release(&mut self, grants: &[Grant]) -> Result<(), StoreError> {
        self.operate(|leases, _| {
            for grant in grants {
                leases.release(grant);
            }
            Ok(())
        })
    }

    fn list(&mut self) -> Result<Vec<Record>, StoreError> {
        self.operate(|leases, _| Ok(leases.records()))
    }

    fn fence(&mut self) -> Result<Duration, StoreError> {
        self.operate(|leases, now| {
            leases.raise_fence(now);
            Ok(now.until(leases.fence()))
        })
    }

    fn now(&mut self) -> Result<Duration, StoreError> {
        moment::read(&*self.clock)
    }

    fn diagnose(&mut self) -> Result<Vec<Finding>, StoreError> {
        self.operate(|leases, now| {
            let sentence =
                "every lease is forgotten when the process ends: for tests and simulations";
            Ok(vec![
                Finding::caution("durability", "none", sentence),
                Finding::fence(now.fence_left(leases.fence())),
            ])
        })
    }
}

impl SegmentStore for MemoryStore {
    fn reserve(&mut self, count: u64) -> Result<Segment, StoreError> {
        self.count(|counter, breaks| counter.reserve(count, breaks))
    }

    fn counter(&mut self) -> Result<CounterStatus, StoreError> {
        self.count(|counter, breaks| Ok(counter.status(breaks)))
    }

    fn resume(&mut self, number: u64) -> Result<u64, StoreError> {
        self.count(|counter, breaks| counter.resume(number, breaks))
    }
}
