//! The lease store: one client of a namespace, which reads records, asks the rules, and writes what
//! they decide.

pub(crate) mod addresses;
mod administration;
mod assigned;
pub(crate) mod catalog;
mod clock_estimate;
mod counter;
mod deferred;
mod devices;
pub(crate) mod encryption;
pub(crate) mod engine;
mod history;
mod leases;
pub(crate) mod locked;
mod memory;
mod operation;
mod records;
pub(crate) mod url;
pub mod volume;

use core::fmt::{self, Debug, Formatter};
use core::ops::RangeInclusive;
use core::time::Duration;
use std::sync::Arc;

use randflake_core::Clock;

pub use self::administration::Administration;
pub use self::assigned::{ENGINE as STATIC_ENGINE, NODE_ID_VARIABLE, NodeIdSource, StaticStore};
pub use self::catalog::Catalog;
pub use self::catalog::NAMES_LISTED;
use self::clock_estimate::{ClockEstimate, Machine};
pub use self::counter::Counter;
pub use self::deferred::deferred;
pub use self::devices::{DeviceLease, DeviceLeaseError, Devices};
use self::engine::LOOK_AT_FILES_EVERY;
pub(crate) use self::engine::{Ask, Engine, Look, Profile, Reading};
pub use self::history::HistoryReader;
use self::leases::Pending;
pub use self::memory::MemoryStore;
use self::operation::{ClockCheck, Failure};
use self::records::Records;
pub(crate) use self::url::quoted;
use crate::clock::ExactSystemClock;
use crate::rules::counter::ObservedCounter;
use crate::rules::{Caller, Change, ClockWindow, Decision, Demand, NamespaceState, Observed, View};
#[cfg(doc)]
use crate::types::MAX_SKEW;
use crate::types::{CounterTerms, KeyCheck, Namespace, StoreError};

/// A store of leases: one client of one namespace, with its leases and its counter.
///
/// It acquires, renews and releases by itself. The rest is in facets that borrow it:
/// [`administration`](Self::administration) of the namespace, its [`counter`](Self::counter), its
/// [`devices`](Self::devices), the [`history`](Self::history) of its leases, and the
/// [`catalog`](Self::catalog) of all namespaces in the store.
///
/// There is one store type for all engines: `open` of the crate `randflake-std` makes one from a
/// URL, each engine has constructors of its own, and [`deferred`] makes one that opens at its first
/// use. The engine keeps texts; the rules say what becomes of them; the store remembers what its
/// process has seen and written.
///
/// It is synchronous: one thread of a process, its keeper, calls it. Every method that returns a
/// `Result` blocks while the engine works; its time limit is well below the TTL: see [how long
/// calls block](crate#how-long-calls-block).
pub struct LeaseStore {
    records: Records,
    namespace: Namespace,
    machine: Machine,
    /// What this process has seen of the namespace, and written there.
    seen: Observed,
    /// What this process has seen of the counter.
    counter: ObservedCounter,
    /// How the counter has to count, if that was said.
    counter_terms: Option<CounterTerms>,
    /// The acquire of unknown outcome.
    pending: Option<Pending>,
    /// The first and the last node id that it may be granted, if not all.
    within: Option<(u32, u32)>,
    /// The store's clock, unless nothing is known of it.
    estimate: Option<ClockEstimate>,
    /// How commands in messages name the store and the namespace, if the URL alone would not do.
    arguments: Option<String>,
}

impl LeaseStore {
    /// The leases of a namespace in an engine; the first acquire creates the namespace. Nothing is
    /// asked yet.
    pub fn over(engine: impl Engine + 'static, namespace: Namespace) -> Self {
        Self {
            records: Records::new(Box::new(engine), &namespace),
            namespace,
            machine: Machine::default(),
            seen: Observed::default(),
            counter: ObservedCounter::default(),
            counter_terms: None,
            pending: None,
            within: None,
            estimate: None,
            arguments: None,
        }
    }

    /// The leases of a namespace, unless an acquire would be [refused](LeaseStore::check). A
    /// server's clock is [compared](LeaseStore::compared_with) with the operating system's.
    ///
    /// # Errors
    ///
    /// As for [`check`](LeaseStore::check).
    pub fn opened(engine: impl Engine + 'static, namespace: Namespace) -> Result<Self, StoreError> {
        let has_own_clock = engine.profile().has_own_clock;
        let mut store = Self::over(engine, namespace);
        // The clock of a file is this machine's own: a comparison would be with itself.
        if has_own_clock {
            store.machine = Machine::compared(Arc::new(ExactSystemClock));
        }
        store.check()?;
        Ok(store)
    }

    /// Another client of the same namespace, which has seen nothing, over the same engine.
    pub(crate) fn another(&self, engine: impl Engine + 'static) -> Self {
        Self {
            machine: self.machine.clone(),
            arguments: self.arguments.clone(),
            counter_terms: self.counter_terms,
            ..Self::over(engine, self.namespace.clone())
        }
    }

    /// All that it remembers, as a copy of the process has it, over the same engine.
    pub(crate) fn copied(&self, engine: impl Engine + 'static) -> Self {
        Self {
            records: self.records.copied(Box::new(engine)),
            namespace: self.namespace.clone(),
            machine: self.machine.clone(),
            seen: self.seen.clone(),
            counter: self.counter,
            counter_terms: self.counter_terms,
            pending: self.pending.clone(),
            within: self.within,
            estimate: self.estimate,
            arguments: self.arguments.clone(),
        }
    }

    /// The same store with its engine inside of another, which watches or disturbs it.
    #[must_use]
    pub fn wrapped<E: Engine + 'static>(self, wrap: impl FnOnce(Box<dyn Engine>) -> E) -> Self {
        let records = self.records.wrapped(wrap);
        Self { records, ..self }
    }

    /// The records, once what is [deferred] was opened with what this store was told before.
    fn ready(&mut self) -> Result<&mut Records, StoreError> {
        // Only a deferred store opens another, which takes its place for good.
        if let Some(mut opened) = self.records.engine().open_deferred()? {
            // Said before it was open: the handle names its key as soon as it is built.
            if let Some(key_check) = self.namespace.terms().key_check {
                opened.set_key_check(key_check);
            }
            if self.seen.is_proxy() {
                opened.act_as_proxy();
            }
            opened.within = self.within.or(opened.within);
            opened.counter_terms = self.counter_terms.or(opened.counter_terms);
            opened.arguments = self.arguments.take().or(opened.arguments);
            *self = opened;
        }
        Ok(&mut self.records)
    }

    /// The namespace that this store was opened for.
    #[must_use]
    pub fn namespace(&self) -> &Namespace {
        &self.namespace
    }

    /// Sets whether ids are plain, or under which key. An acquire is refused if the namespace has
    /// others.
    pub fn set_key_check(&mut self, key_check: KeyCheck) {
        self.namespace.set_key_check(key_check);
    }

    /// From now on it acts for holders elsewhere, of whose leases it knows what they tell: as a
    /// server does. It remembers no lease, since each may be renewed and released through another
    /// server in between; and none that the store does not know is proof that the store has
    /// forgotten it.
    pub fn act_as_proxy(&mut self) {
        self.seen.act_as_proxy();
    }

    /// From now on it is granted only these node ids. Renewals and releases are as before. A server
    /// keeps some node ids from its clients in this way; processes that do not do so may be granted
    /// any.
    pub fn lease_within(&mut self, node_ids: RangeInclusive<u32>) {
        self.within = Some(node_ids.into_inner());
    }

    /// Whether it is on a server, which may be restarted while this process goes on. Known once the
    /// store was opened.
    #[must_use]
    pub fn is_on_server(&self) -> bool {
        self.records.profile.has_own_clock
    }

    /// Where the leases of the secret are, if that is this machine or this process alone; `None`
    /// also of plain ids. Known once the store was opened.
    pub fn local_place_of_secret(&self) -> Option<&str> {
        let Profile {
            place,
            node_ids: (first, last),
            has_own_clock,
            ..
        } = &self.records.profile;
        let key_check = self.namespace.terms().key_check;
        let has_secret = key_check.and_then(KeyCheck::value).is_some();
        // What has no clock of its own is a file or in memory. With one node id it was assigned,
        // and others have others.
        let is_local = !has_own_clock && first < last;
        (is_local && has_secret).then_some(&**place)
    }

    /// Sets the arguments by which commands in messages name this store and namespace. By itself it
    /// knows the URL without user, password and options.
    #[must_use]
    pub fn named_by(mut self, arguments: impl Into<String>) -> Self {
        self.arguments = Some(arguments.into());
        self
    }

    /// Whether the connection to the server has broken since it was last used or asked, as far as
    /// is known without a round trip. The client of MySQL does not tell.
    pub fn has_disconnected(&mut self) -> bool {
        self.records.engine().has_disconnected()
    }

    /// How often a holder [looks](LeaseStore::look) at it between renewals, though no call failed.
    /// Known once the store was opened.
    #[must_use]
    pub fn look_every(&self) -> Option<Duration> {
        self.records.profile.look_every
    }

    /// Looks whether the store is what this process saw last. Cheap; nothing is locked or written.
    ///
    /// # Errors
    ///
    /// Those of the engine: nothing is known then.
    pub fn look(&mut self) -> Result<Look, StoreError> {
        Ok(self.ready()?.engine().look()?)
    }

    /// The store's clock, as time since the Unix epoch.
    ///
    /// # Errors
    ///
    /// [`StoreError::Unavailable`].
    pub fn now(&mut self) -> Result<Duration, StoreError> {
        let records = self.ready()?;
        let view = records.read(&Demand::default())?;
        records.engine().abandon();
        Ok(view.now)
    }

    /// Compares the store's clock with this machine's, as is right where the store has a clock of
    /// its own: an acquire is refused as [`StoreError::ClockSkew`] where they differ by more than
    /// [`MAX_SKEW`], and so is a renewal over a leap of the store's clock.
    #[must_use]
    pub fn compared_with(mut self, machine: Arc<impl Clock + Send + Sync + 'static>) -> Self {
        self.machine = Machine::compared(machine);
        self
    }

    /// [`compared_with`](LeaseStore::compared_with) in a simulation: the second clock stands for
    /// this machine's monotonic one.
    #[must_use]
    pub fn simulated_on<C>(mut self, machine: Arc<C>, monotonic: Arc<C>) -> Self
    where
        C: Clock + Send + Sync + 'static,
    {
        self.machine = Machine::simulated(machine, monotonic);
        self
    }

    /// Refuses early what an acquire would refuse.
    ///
    /// # Errors
    ///
    /// [`StoreError::FailedPrecondition`] when the engine has the namespace with other terms; and
    /// those of the engine.
    pub fn check(&mut self) -> Result<(), StoreError> {
        let is_there = |view: &View| view.namespace.is_some() && !view.is_dropped();
        // A quarantine begins when it is noticed. To make a record is for who knows its terms. A
        // copy may be opened, so that a person can look at it and say that it was moved. It grants
        // nothing.
        let note_quarantine =
            |view: &View, caller: &Caller<'_>| match NamespaceState::of(view, caller) {
                Err(_) if view.is_copied() => Decision {
                    change: Change::none(view),
                    answer: Ok(()),
                },
                Ok(state) if is_there(view) && !state.quarantine_left().is_zero() => Decision {
                    change: state.into_change(),
                    answer: Ok(()),
                },
                Ok(_) => Decision {
                    change: Change::none(view),
                    answer: Ok(()),
                },
                Err(refusal) => Decision::refused(refusal),
            };
        match self.run(&Demand::default(), ClockCheck::ThisMachine, note_quarantine) {
            // A store may be opened with a wrong clock: an acquire refuses it when it comes.
            Err(Failure {
                error: StoreError::ClockSkew { .. },
                ..
            }) => self.namespace_state().map(drop),
            outcome => outcome.map(drop).map_err(|failure| failure.error),
        }
    }

    /// What tests of fleets of two versions look behind: the engine, and the version that this
    /// client knows. `None` from a store that has not been opened yet.
    pub fn internals(&mut self) -> Option<(&mut dyn Engine, &mut u8)> {
        self.records.internals()
    }

    /// The namespace as it stands; nothing is written.
    fn namespace_state(&mut self) -> Result<NamespaceState, StoreError> {
        let view = self.namespace_view()?;
        self.state_of(&view)
    }

    fn namespace_view(&mut self) -> Result<View, StoreError> {
        let records = self.ready()?;
        let view = records.read(&Demand::default())?;
        // Nothing follows from it, so an engine that locks must not wait for a write.
        records.engine().abandon();
        Ok(view)
    }

    fn state_of(&self, view: &View) -> Result<NamespaceState, StoreError> {
        // No clock is compared and no number is needed, because nothing is written.
        NamespaceState::of(view, &self.caller(None, (0, 0)))
    }

    fn caller(&self, clock: Option<ClockWindow>, fresh: (u64, u64)) -> Caller<'_> {
        Caller {
            terms: self.namespace.terms(),
            seen: &self.seen,
            clock,
            fresh,
            capabilities: self.records.capabilities,
        }
    }
}

impl Debug for LeaseStore {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.debug_struct("LeaseStore")
            .field("engine", &self.records)
            .field("namespace", &self.namespace)
            .finish_non_exhaustive()
    }
}
