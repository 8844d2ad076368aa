//! Leases and counters in the memory of one process, for tests and simulations.

use core::fmt::{self, Debug, Formatter};
use core::time::Duration;
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use randflake_core::Clock;

use super::moment::{self, Moment};
use super::{
    AcquireRequest, Acquired, Finding, Grant, LeaseStore, Namespace, Record, Renewed, StoreError,
    Token,
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
        namespace.check_layout(
            leases.created.node_ids(),
            leases.created.spec().epoch_unix_ms(),
            leases.created.spec().tick_ms(),
        )?;
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
        for leases in state.namespaces.values_mut() {
            *leases = Leases {
                forgot: true,
                fence: leases.fence,
                until: leases.until,
                ..Leases::new(leases.created.clone())
            };
        }
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
            if leases.forgot {
                leases.forgot = false;
                leases.raise_fence(now);
                leases.fence = leases.fence.max(leases.until);
            }
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
            let max_ttl = leases.created.max_ttl();
            StoreError::check_ttl(ttl, &leases.created, max_ttl)?;
            let ends = grants
                .iter()
                .map(|grant| leases.renew(grant, ttl, now))
                .collect();
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
        self.operate(|leases, _| {
            Ok(leases
                .entries
                .iter()
                .map(|entry| entry.record.clone())
                .collect())
        })
    }

    fn fence(&mut self) -> Result<Duration, StoreError> {
        self.operate(|leases, now| {
            leases.raise_fence(now);
            Ok(now.until(leases.fence))
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
                Finding::fence(now.fence_left(leases.fence)),
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

/// The leases of one namespace.
struct Leases {
    /// The namespace as it was created: its longest TTL rules.
    created: Namespace,
    /// By node id: they come into use in order, and never leave.
    entries: Vec<Entry>,
    by_end: BTreeSet<(u64, usize)>,
    by_token: HashMap<Token, Vec<usize>>,
    /// Nothing is granted before this tick.
    fence: u64,
    /// The latest end ever, also of leases that were forgotten.
    until: u64,
    forgot: bool,
}

struct Entry {
    record: Record,
    /// Not released since it was acquired.
    held: bool,
}

impl Leases {
    fn new(created: Namespace) -> Self {
        Self {
            created,
            entries: Vec::new(),
            by_end: BTreeSet::new(),
            by_token: HashMap::new(),
            fence: 0,
            until: 0,
            forgot: false,
        }
    }

    fn raise_fence(&mut self, now: Moment) {
        let fence = now.fence(&self.created, self.created.max_ttl());
        self.fence = self.fence.max(fence);
    }

    fn acquire(
        &mut self,
        request: &AcquireRequest<'_>,
        now: Moment,
    ) -> Result<Vec<Grant>, StoreError> {
        StoreError::check(request, &self.created, self.created.max_ttl())?;
        now.check_fence(self.fence)?;
        if let Some(grants) = self.repeated(request, now)? {
            return Ok(grants);
        }
        let end = now.end_after(request.ttl)?;
        let nodes = self.free(request.count as usize, now)?;
        self.until = self.until.max(end);
        let grants = nodes
            .iter()
            .map(|&node| self.take(node, now, end, request))
            .collect();
        self.by_token.insert(request.token, nodes);
        Ok(grants)
    }

    /// The grants of an earlier acquire with the same token, if all of them are live. If not, what is
    /// left of them is let go.
    fn repeated(
        &mut self,
        request: &AcquireRequest<'_>,
        now: Moment,
    ) -> Result<Option<Vec<Grant>>, StoreError> {
        let Some(nodes) = self.by_token.get(&request.token) else {
            return Ok(None);
        };
        let entries = || nodes.iter().map(|&node| &self.entries[node]);
        if entries().any(|entry| entry.held && entry.record.holder != request.holder) {
            return Err(StoreError::Foreign);
        }
        let grants: Vec<_> = entries()
            .filter(|entry| entry.held && now.tick < entry.record.grant.end)
            .map(|entry| entry.record.grant)
            .collect();
        if grants.len() == request.count as usize {
            return Ok(Some(grants));
        }
        for node in nodes {
            self.entries[*node].held = false;
        }
        Ok(None)
    }

    /// The nodes whose leases ended first, then those never leased.
    fn free(&self, count: usize, now: Moment) -> Result<Vec<usize>, StoreError> {
        let mut free: Vec<_> = self
            .by_end
            .range(..(now.tick.saturating_add(1), 0))
            .map(|&(_, node)| node)
            .take(count)
            .collect();
        let node_ids = usize::try_from(self.created.node_ids()).unwrap_or(usize::MAX);
        let unused = self.entries.len()..node_ids;
        let missing = (count - free.len()).saturating_sub(unused.len());
        if missing > 0 {
            let mut ends = self.by_end.iter().map(|&(end, _)| end);
            let last = ends.nth(free.len() + missing - 1);
            return Err(StoreError::Exhausted {
                retry_in: now.until(last.unwrap_or(now.tick)),
            });
        }
        free.extend(unused.take(count - free.len()));
        free.sort_unstable();
        Ok(free)
    }

    fn take(&mut self, node: usize, now: Moment, end: u64, request: &AcquireRequest<'_>) -> Grant {
        let former = self.entries.get(node).map(|entry| entry.record.grant);
        if let Some(former) = former {
            self.by_end.remove(&(former.end, node));
            if let Some(nodes) = self.by_token.get_mut(&former.token) {
                nodes.retain(|&other| other != node);
                if nodes.is_empty() {
                    self.by_token.remove(&former.token);
                }
            }
        }
        let grant = Grant {
            node_id: u32::try_from(node).unwrap_or(u32::MAX),
            start: now.tick,
            end,
            fencing_token: now.fencing_token(former.map_or(0, |former| former.fencing_token)),
            token: request.token,
        };
        let record = Record {
            grant,
            holder: request.holder.to_owned(),
        };
        let entry = Entry { record, held: true };
        match self.entries.get_mut(node) {
            Some(place) => *place = entry,
            None => self.entries.push(entry),
        }
        self.by_end.insert((grant.end, node));
        grant
    }

    fn renew(&mut self, grant: &Grant, ttl: u64, now: Moment) -> Option<u64> {
        let held = self.held(grant).filter(|held| now.tick < held.end)?;
        let end = held.end.max(now.extended(ttl));
        self.until = self.until.max(end);
        self.move_end(grant.node_id, end);
        Some(end)
    }

    fn release(&mut self, grant: &Grant) {
        if let Some(held) = self.held(grant) {
            self.move_end(grant.node_id, grant.end.min(held.end).max(held.start));
            self.entries[grant.node_id as usize].held = false;
        }
    }

    /// The record of a grant that is still its holder's.
    fn held(&self, grant: &Grant) -> Option<Grant> {
        let entry = self.entries.get(grant.node_id as usize)?;
        let held = entry.record.grant;
        let same = held.fencing_token == grant.fencing_token && held.token == grant.token;
        (same && entry.held).then_some(held)
    }

    fn move_end(&mut self, node_id: u32, end: u64) {
        let node = node_id as usize;
        let grant = &mut self.entries[node].record.grant;
        self.by_end.remove(&(grant.end, node));
        self.by_end.insert((end, node));
        grant.end = end;
    }
}
