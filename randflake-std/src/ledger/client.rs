//! A holder's dealings with one namespace: reads, asks the rules, and writes what they say.

use core::fmt::{self, Debug, Formatter};
use core::time::Duration;
use std::collections::BTreeMap;
use std::sync::Arc;

use randflake_core::Clock;

use super::carried::{Carried, LEAP, Machine};
use super::fresh::fresh;
use super::{
    Acquire, Asking, Change, Committed, Decision, Engine, Expected, Held, Loss, NamespaceRecord,
    Node, NodeRecord, Records, Seal, Seen, Standing, View, Wanted, acquire, end_quarantine,
    quarantine, release, renew,
};
use crate::ExactSystemClock;
use crate::holder::DEVICE;
#[cfg(doc)]
use crate::lease::MAX_SKEW;
use crate::lease::{
    AcquireRequest, Acquired, Finding, Grant, LeaseStore, Namespace, NodeIds, Record, Renewed,
    StoreError, Token,
};

/// How often an operation begins anew because others were faster.
const TRIES: usize = 100;

/// The leases of one namespace in an engine.
///
/// Every store is one: an [`Engine`] keeps the records, the rules say what becomes of them, and this remembers what
/// its process has seen and written.
pub struct Ledger<E> {
    pub(crate) records: Records<E>,
    namespace: Namespace,
    /// This machine's clocks, which the store's is compared with; none where the store has no clock of its own.
    pub(crate) machine: Option<Machine>,
    seen: Seen,
    /// The acquire of unknown outcome.
    pending: Option<Pending>,
    /// What this process wrote last, by node id.
    written: BTreeMap<u32, Written>,
    /// The namespace's record and the store's clock, as last answered.
    last: Option<(NamespaceRecord, Carried)>,
}

#[derive(Clone, Debug)]
struct Pending {
    token: Token,
    nonces: Vec<u64>,
    nodes: Vec<u32>,
}

#[derive(Clone, Debug)]
struct Written {
    record: NodeRecord,
    /// Nonces of later writes of unknown outcome.
    tried: Vec<u64>,
}

/// What became of each lease of a renewal.
type Renewals = Vec<Result<NodeRecord, Loss>>;

/// An operation that succeeded.
struct Done<T> {
    answer: T,
    now: Duration,
}

/// An operation that failed, with what may have been written all the same.
struct Undone {
    error: StoreError,
    tried: Option<Box<(u64, Change)>>,
}

impl<F: Into<StoreError>> From<F> for Undone {
    fn from(error: F) -> Self {
        let error = error.into();
        Self { error, tried: None }
    }
}

impl<E: Engine> Ledger<E> {
    /// The leases of a namespace, which the first acquire creates.
    pub fn over(engine: E, namespace: Namespace) -> Self {
        Self {
            records: Records::new(engine, &namespace),
            namespace,
            machine: None,
            seen: Seen::default(),
            pending: None,
            written: BTreeMap::new(),
            last: None,
        }
    }

    /// The leases of a namespace, unless an acquire would be [refused](Ledger::check). A server's clock is
    /// [compared](Ledger::compared_with) with the operating system's.
    ///
    /// # Errors
    ///
    /// As for [`check`](Ledger::check).
    pub fn opened(engine: E, namespace: Namespace) -> Result<Self, StoreError> {
        let has_own_clock = engine.has_own_clock();
        let mut store = Self::over(engine, namespace);
        store.machine = has_own_clock.then(|| Machine::new(Arc::new(ExactSystemClock)));
        store.check()?;
        Ok(store)
    }

    /// Another client of the same namespace, which has seen nothing.
    pub(crate) fn another(&self) -> Self
    where
        E: Clone,
    {
        Self {
            machine: self.machine.clone(),
            ..Self::over(self.records.engine.clone(), self.namespace.clone())
        }
    }

    /// All that it remembers, as a copy of the process has it.
    pub(crate) fn copy(&self) -> Self
    where
        E: Clone,
    {
        Self {
            records: self.records.clone(),
            namespace: self.namespace.clone(),
            machine: self.machine.clone(),
            seen: self.seen.clone(),
            pending: self.pending.clone(),
            written: self.written.clone(),
            last: self.last.clone(),
        }
    }

    /// Compares the store's clock with this machine's, as is right where the store has a clock of its own: an acquire
    /// is refused as [`StoreError::ClockSkew`] where they differ by more than [`MAX_SKEW`], and so is
    /// a renewal over a leap of the store's clock.
    #[must_use]
    pub fn compared_with<C>(mut self, machine: Arc<C>) -> Self
    where
        C: Clock + Send + Sync + 'static,
    {
        self.machine = Some(Machine::new(machine));
        self
    }

    /// [`compared_with`](Ledger::compared_with) in a simulation: the second clock stands for this machine's monotonic
    /// one.
    #[must_use]
    pub fn simulated_on<C>(mut self, machine: Arc<C>, monotonic: Arc<C>) -> Self
    where
        C: Clock + Send + Sync + 'static,
    {
        self.machine = Some(Machine::simulated(machine, monotonic));
        self
    }

    /// Refuses early what an acquire would refuse.
    ///
    /// # Errors
    ///
    /// [`StoreError::Unusable`] when the engine has the namespace with other terms; and those of the engine.
    pub fn check(&mut self) -> Result<(), StoreError> {
        // A quarantine begins when it is noticed. To make a record is for who knows its terms.
        let note_quarantine = |view: &View, asking: &Asking<'_>| match Standing::of(view, asking) {
            Ok(standing) if view.namespace.is_some() && !standing.quarantine_left().is_zero() => {
                Decision {
                    change: standing.into_change(),
                    answer: Ok(()),
                }
            }
            Ok(_) => Decision {
                change: Change::none(view),
                answer: Ok(()),
            },
            Err(refusal) => Decision::refused(refusal),
        };
        match self.run(&Wanted::default(), false, note_quarantine) {
            Err(Undone {
                error: StoreError::ClockSkew { .. },
                ..
            }) => self.look().map(drop),
            outcome => outcome.map(drop).map_err(|undone| undone.error),
        }
    }

    /// The namespace as it stands; nothing is written.
    fn look(&mut self) -> Result<Standing, StoreError> {
        let view = self.records.read(&Wanted::default())?;
        self.records.engine.abandon();
        Standing::of(&view, &self.asking(None, (0, 0)))
    }

    fn asking(&self, clock: Option<Expected>, fresh: (u64, u64)) -> Asking<'_> {
        Asking {
            terms: self.namespace.terms(),
            seen: &self.seen,
            clock,
            fresh,
        }
    }

    /// This machine's wall clock, and its monotonic one.
    fn machine_now(&self) -> Option<(Duration, Duration)> {
        let machine = self.machine.as_ref()?;
        Some((machine.wall(), machine.steady()))
    }

    /// Reads, decides and writes, until nobody else was faster. The store's clock is compared with what it showed
    /// before, carried on, if `is_renewal`; else, or if it showed nothing before, with this machine's.
    fn run<T>(
        &mut self,
        wanted: &Wanted<'_>,
        is_renewal: bool,
        rule: impl Fn(&View, &Asking<'_>) -> Decision<T>,
    ) -> Result<Done<T>, Undone> {
        for _ in 0..TRIES {
            let fresh = fresh().map_err(StoreError::unavailable)?;
            let before = self.machine_now();
            let view = self.records.read(wanted)?;
            let last = self.last.as_ref().filter(|_| is_renewal);
            let clock = before.zip(self.machine_now()).map(
                |((before, sent), (after, received))| match last {
                    Some((_, carried)) => carried.expected(sent, received),
                    None => Expected::of_machine(before, after),
                },
            );
            let Decision { change, answer } = rule(&view, &self.asking(clock, fresh));
            if let Err(error @ StoreError::ClockSkew { .. }) = answer {
                // A leap counts as a failure once; then this machine's clock has to agree.
                self.last = None;
                self.records.engine.abandon();
                return Err(error.into());
            }
            let now = if change.is_empty() {
                self.records.engine.abandon();
                view.now
            } else {
                match self.records.commit(&change) {
                    Ok(Committed::Done { now }) => now,
                    Ok(Committed::Stale) => continue,
                    Err(error) => {
                        let tried = Some(Box::new((fresh.1, change)));
                        return Err(Undone {
                            error: error.into(),
                            tried,
                        });
                    }
                }
            };
            let record = change.namespace_after.or(change.namespace_before);
            // What the rules have looked at: by the write the clock may have leapt.
            self.answered(record, view.now, before.map(|(_, sent)| sent));
            return Ok(Done {
                answer: answer?,
                now,
            });
        }
        Err(StoreError::unavailable("other clients of the store were faster each time").into())
    }

    fn answered(&mut self, record: Option<NamespaceRecord>, now: Duration, sent: Option<Duration>) {
        if let Some(record) = &record {
            self.seen.note_namespace(record);
        }
        let received = self.machine.as_ref().map(Machine::steady);
        let times = sent.zip(received);
        let carried = times.map(|(sent, received)| Carried::new(now, sent, received));
        self.last = record.zip(carried);
    }

    /// What this process knows of a grant.
    fn held(&self, grant: &Grant) -> Held {
        let written = self.written.get(&grant.node_id);
        // A device's lease may be renewed by any server, in turns.
        let is_ours = |written: &&Written| {
            written.record.is_of(grant) && !written.record.holder.starts_with(DEVICE)
        };
        let written = written.filter(is_ours);
        Held {
            grant: *grant,
            written: written.map(|written| (written.record.serial, written.record.nonce)),
            tried: written.map_or_else(Vec::new, |written| written.tried.clone()),
        }
    }

    /// Notes a write that was answered.
    fn wrote(&mut self, record: &NodeRecord) {
        self.seen.note(record);
        let written = Written {
            record: record.clone(),
            tried: Vec::new(),
        };
        self.written.insert(record.node_id, written);
    }

    /// Notes a write that may have happened.
    fn may_have_written(&mut self, undone: Undone) -> StoreError {
        if let Some((nonce, change)) = undone.tried.map(|tried| *tried) {
            for after in change.nodes.iter().map(|node| &node.after) {
                if let Some(written) = self.written.get_mut(&after.node_id) {
                    written.tried.push(nonce);
                }
            }
        }
        undone.error
    }

    /// Renews without reading first: by the same rule, on what this process wrote last and the store's clock
    /// carried on. The engine writes only if all of that is still so. `None`: it is not known, or not so.
    fn renew_unread(
        &mut self,
        leases: &[Held],
        ttl: u64,
    ) -> Result<Option<Done<Renewals>>, Undone> {
        let (Some(machine), Some((record, carried))) = (&self.machine, self.last.clone()) else {
            return Ok(None);
        };
        let sent = machine.steady();
        let known: Option<Vec<_>> = leases
            .iter()
            .map(|lease| {
                let written = self.written.get(&lease.grant.node_id)?;
                let is_known = written.record.is_of(&lease.grant) && written.tried.is_empty();
                let record = Some(written.record.clone());
                is_known.then_some(Node {
                    node_id: lease.grant.node_id,
                    record,
                })
            })
            .collect();
        let Some(nodes) = known else {
            return Ok(None);
        };
        let now = carried.at(sent);
        let view = View::carried(now, record, nodes);
        let fresh = fresh().map_err(StoreError::unavailable)?;
        let Decision { mut change, answer } = renew(&view, leases, ttl, &self.asking(None, fresh));
        let Ok(renewed) = answer else {
            return Ok(None);
        };
        if change.namespace_after.is_some() || renewed.iter().any(Result::is_err) {
            return Ok(None);
        }
        let soonest = change
            .nodes
            .iter()
            .filter_map(|node| Some(node.before.as_ref()?.end))
            .min();
        let expires = soonest.map_or(now, |end| {
            Duration::from_millis(self.namespace.spec().unix_ms(end) - 1)
        });
        change.window = Some((now.saturating_sub(LEAP), (now + 2 * LEAP).min(expires)));
        match self.records.commit(&change) {
            Ok(Committed::Done { now }) => {
                self.answered(change.namespace_before, now, Some(sent));
                Ok(Some(Done {
                    answer: renewed,
                    now,
                }))
            }
            Ok(Committed::Stale) => Ok(None),
            Err(error) => {
                let tried = Some(Box::new((fresh.1, change)));
                Err(Undone {
                    error: error.into(),
                    tried,
                })
            }
        }
    }

    fn renew_some(&mut self, grants: &[Grant], ttl: u64) -> Result<Renewed, StoreError> {
        let leases: Vec<_> = grants.iter().map(|grant| self.held(grant)).collect();
        let nodes: Vec<_> = grants.iter().map(|grant| grant.node_id).collect();
        let wanted = Wanted {
            nodes: &nodes,
            free: 0,
        };
        let mut outcome = Ok(None);
        if self.records.engine.renews_unread() {
            outcome = self.renew_unread(&leases, ttl);
        }
        let outcome = match outcome {
            Ok(Some(done)) => Ok(done),
            Ok(None) => self.run(&wanted, true, |view, asking| {
                renew(view, &leases, ttl, asking)
            }),
            Err(undone) => Err(undone),
        };
        let Done { answer, now } = outcome.map_err(|undone| self.may_have_written(undone))?;
        for record in answer.iter().flatten() {
            self.wrote(record);
        }
        let ends = answer
            .into_iter()
            .map(|outcome| outcome.map(|record| record.end));
        Ok(Renewed {
            ends: ends.collect(),
            now,
        })
    }

    fn release_some(&mut self, grants: &[Grant]) -> Result<(), StoreError> {
        let leases: Vec<_> = grants.iter().map(|grant| self.held(grant)).collect();
        let nodes: Vec<_> = grants.iter().map(|grant| grant.node_id).collect();
        let wanted = Wanted {
            nodes: &nodes,
            free: 0,
        };
        let outcome = self.run(&wanted, true, |view, asking| release(view, &leases, asking));
        let done = outcome.map_err(|undone| self.may_have_written(undone))?;
        for record in &done.answer {
            self.wrote(record);
        }
        Ok(())
    }
}

impl<E: Engine> Debug for Ledger<E> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.debug_struct("Ledger")
            .field("engine", &self.records.engine)
            .field("namespace", &self.namespace)
            .finish_non_exhaustive()
    }
}

impl<E: Engine> LeaseStore for Ledger<E> {
    fn namespace(&self) -> &Namespace {
        &self.namespace
    }

    fn seal(&mut self, seal: Seal) {
        self.namespace.set_seal(seal);
    }

    fn acquire(&mut self, request: &AcquireRequest<'_>) -> Result<Acquired, StoreError> {
        let AcquireRequest {
            token,
            holder,
            nodes,
            ttl,
        } = *request;
        self.records.engine.limit_for(self.namespace.span(ttl));
        let at_once = self.records.engine.at_once();
        if nodes.count() as usize > at_once {
            return Err(StoreError::Invalid(format!(
                "{} node ids asked for at once: this store grants at most {at_once}",
                nodes.count()
            )));
        }
        let pending = self.pending.take().filter(|pending| pending.token == token);
        let mut pending = pending.unwrap_or(Pending {
            token,
            nonces: Vec::new(),
            nodes: Vec::new(),
        });
        let asked = Acquire {
            token,
            holder,
            nodes,
            ttl,
            tried: &pending.nonces,
        };
        let (chosen, free) = match nodes {
            // More than there are is for the rule to refuse.
            NodeIds::Any(count) => (
                &[][..],
                usize::try_from(u64::from(count).min(self.namespace.node_ids()))
                    .unwrap_or(usize::MAX),
            ),
            NodeIds::These(chosen) => (chosen, 0),
        };
        let read = [&pending.nodes, chosen].concat();
        let wanted = Wanted { nodes: &read, free };
        match self.run(&wanted, false, |view, asking| acquire(view, &asked, asking)) {
            Ok(Done { answer, now }) => {
                for record in &answer {
                    self.wrote(record);
                }
                let grants = answer.iter().map(NodeRecord::grant).collect();
                Ok(Acquired { grants, now })
            }
            Err(Undone { error, tried }) => {
                if let Some((nonce, change)) = tried.map(|tried| *tried) {
                    pending.nonces.push(nonce);
                    pending
                        .nodes
                        .extend(change.nodes.iter().map(|node| node.after.node_id));
                }
                if !pending.nonces.is_empty() {
                    self.pending = Some(pending);
                }
                Err(error)
            }
        }
    }

    fn renew(&mut self, grants: &[Grant], ttl: u64) -> Result<Renewed, StoreError> {
        self.records.engine.limit_for(self.namespace.span(ttl));
        let mut chunks = grants.chunks(self.records.engine.at_once());
        let mut renewed = self.renew_some(chunks.next().unwrap_or_default(), ttl)?;
        for grants in chunks {
            let more = self.renew_some(grants, ttl)?;
            renewed.ends.extend(more.ends);
            renewed.now = more.now;
        }
        Ok(renewed)
    }

    fn release(&mut self, grants: &[Grant]) -> Result<(), StoreError> {
        let mut chunks = grants.chunks(self.records.engine.at_once());
        self.release_some(chunks.next().unwrap_or_default())?;
        chunks.try_for_each(|grants| self.release_some(grants))
    }

    fn list(&mut self) -> Result<Vec<Record>, StoreError> {
        let records = self.records.list()?.into_iter();
        let records = records.map(|record| Record {
            grant: record.grant(),
            contested: record.contested,
            holder: record.holder,
        });
        Ok(records.collect())
    }

    fn quarantine(&mut self) -> Result<Duration, StoreError> {
        let done = self.run(&Wanted::default(), false, quarantine);
        done.map(|done| done.answer).map_err(|undone| undone.error)
    }

    fn end_quarantine(&mut self) -> Result<(), StoreError> {
        let done = self.run(&Wanted::default(), false, end_quarantine);
        done.map(|done| done.answer).map_err(|undone| undone.error)
    }

    fn now(&mut self) -> Result<Duration, StoreError> {
        let view = self.records.read(&Wanted::default())?;
        self.records.engine.abandon();
        Ok(view.now)
    }

    fn diagnose(&mut self) -> Result<Vec<Finding>, StoreError> {
        let mut findings = self.records.engine.diagnose()?;
        findings.push(Finding::quarantine(self.look()?.quarantine_left()));
        Ok(findings)
    }
}
