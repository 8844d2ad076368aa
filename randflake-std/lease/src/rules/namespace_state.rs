//! State of a namespace: whether it may grant, whether the store has kept its memory, and how long
//! it waits.

use core::time::Duration;

use randflake_core::LayoutSpec;

use super::{
    Caller, Change, Form, NamespaceRecord, Observed, QuarantineReason, StoreTime, Versions, View,
};
use crate::date::span;
use crate::types::{
    History, KeyCheck, MAX_SKEW, NodeIds, Quarantine, QuarantineCause, StoreError, Terms,
};

/// State of a namespace at one moment, with the change that follows from it.
#[derive(Clone, Debug)]
pub struct NamespaceState {
    /// Clock of the store.
    pub now: StoreTime,
    /// Record of the namespace, including a quarantine that follows from the view.
    pub record: NamespaceRecord,
    before: Option<NamespaceRecord>,
    is_changed: bool,
}

impl NamespaceState {
    /// State for a client that looks, releases or administers: if it names no longest TTL, the
    /// stored one counts.
    ///
    /// A missing record is made. A quarantine is set where leases may have been forgotten: the
    /// engine differs from when the record was written, the record is gone, or it is older than
    /// this process has observed.
    ///
    /// # Errors
    ///
    /// Nothing may be written then: the store is a copy, the engine loses answered writes, the
    /// clocks of store and machine differ by more than [`MAX_SKEW`], or the namespace has other
    /// terms.
    pub fn of(view: &View, caller: &Caller<'_>) -> Result<Self, StoreError> {
        view.check_copied()?;
        Self::under(view, caller, caller.terms)
    }

    /// State for a client that leases or creates: if it names no longest TTL,
    /// [`DEFAULT_MAX_TTL`](crate::DEFAULT_MAX_TTL) counts.
    ///
    /// # Errors
    ///
    /// As for [`of`](NamespaceState::of); and [`StoreError::Dropped`]: only a person opens a
    /// namespace again, by [`reopen`](super::reopen).
    pub fn of_a_holder(view: &View, caller: &Caller<'_>) -> Result<Self, StoreError> {
        view.check_copied()?;
        let state = Self::under(view, caller, &caller.terms.of_a_holder())?;
        state.check_dropped()?;
        Ok(state)
    }

    fn under(view: &View, caller: &Caller<'_>, terms: &Terms) -> Result<Self, StoreError> {
        // An engine that loses what it has answered would grant the same node id again.
        if let Some(fault) = &view.continuity.fault {
            return Err(StoreError::failed_precondition(fault.clone()));
        }
        // The clock is checked first: a quarantine set by a wrong clock would end too early.
        if let Some(expected) = caller.clock {
            expected.check(view.now)?;
        }
        terms.check_max_ttl()?;
        let now = StoreTime::at(view.now, terms.spec)?;
        // A dropped namespace is made anew by any client that may open it: only the mark's versions
        // outlive it.
        let there = view
            .namespace
            .as_ref()
            .filter(|record| !record.reason.is_dropped);
        let dropped = view.namespace.as_ref().filter(|_| there.is_none());
        let mut state = Self {
            now,
            record: match there {
                Some(stored) => stored.clone(),
                None => NamespaceRecord {
                    // Also of a namespace that was dropped: older programs do not come back with
                    // new terms.
                    versions: dropped.map_or(Versions::FIRST, |dropped| dropped.versions),
                    form: dropped.map_or_else(Form::default, |dropped| dropped.form.clone()),
                    terms: terms.of_a_holder(),
                    namespace_nonce: caller.fresh.0,
                    writes: 0,
                    quarantine: 0,
                    reason: QuarantineReason::default(),
                    fingerprint: view.continuity.fingerprint.clone(),
                    identity: view.continuity.identity.clone(),
                },
            },
            before: view.namespace.clone(),
            is_changed: there.is_none(),
        };
        // Before anything is concluded: a client of another layout would misread every tick below.
        state.check_terms(terms)?;
        let is_known = match there.or(dropped) {
            Some(stored) => stored.fingerprint == view.continuity.fingerprint,
            // Records of node ids without a namespace show that its record was deleted.
            None => {
                view.continuity.is_absence_certain
                    && view.nodes.iter().all(|node| node.record.is_none())
            }
        };
        // Two independent witnesses: the fingerprint of the engine, and what this process has
        // observed.
        let is_contradicted = caller.seen.contradicts(view.namespace.as_ref())
            && !(there.is_some() && state.has_followed(caller.seen));
        let has_forgotten = !is_known || is_contradicted;
        // A drop is known to have ended all leases by the mark's time. Everything else that is
        // missing is a loss.
        if let Some(dropped) = dropped {
            state.begin_after(dropped);
            if has_forgotten {
                // The store may also have forgotten that it was reopened meanwhile.
                state.quarantine(view, caller.seen, QuarantineCause::Dropped);
            }
        } else if has_forgotten {
            // People see the cause, and a new namespace may be declared so
            // (`Administration::end_quarantine`); the wait is the same.
            let granted_nothing = there.is_none() || state.is_new();
            // An operator may end a quarantine of the cause `New` at once, so a process that has
            // had a lease here rules it out.
            let cause = if granted_nothing && !caller.seen.has_leased() {
                QuarantineCause::New
            } else {
                QuarantineCause::Lost
            };
            state.quarantine(view, caller.seen, cause);
        }
        Ok(state)
    }

    /// Whether the record follows on another one that this process has seen, of which no lease is
    /// in use any more: it was dropped, or lost long ago. Otherwise a process that has slept since
    /// then would close a namespace that works.
    fn has_followed(&self, seen: &Observed) -> bool {
        let Some((former, seen_at)) = seen.former_of(&self.record) else {
            return false;
        };
        let QuarantineReason { since, cause, .. } = self.record.reason;
        // A mark's start never changes: it was there from the drop until this record was made,
        // no matter who saw it when.
        let was_there = if former.reason.is_dropped {
            former.unix(former.reason.since)
        } else {
            *seen_at
        };
        // The record must be younger than the one that was seen, by more than clocks may differ. An
        // older one is a backup's, which may have forgotten what was granted since.
        if self.record.unix(since) <= was_there.saturating_add(2 * MAX_SKEW) {
            return false;
        }
        let is_over = if former.reason.is_dropped {
            // Nothing is granted before the end of this record's own quarantine, so that may be the
            // later one.
            let grants_from = self.now.unix.max(self.record.unix(self.record.quarantine));
            former.unix(former.quarantine) <= grants_from
        } else {
            // The time until which the mark of a drop has leases is in the quarantine of the record
            // after it. After a loss nobody knows that time, but no lease lasts longer than a span.
            cause == QuarantineCause::Dropped || self.now.tick >= since.saturating_add(self.span())
        };
        is_over && seen.latest_end() <= self.now.tick
    }

    /// Waits for the leases of a dropped namespace: the drop mark says when the last one ends, in
    /// ticks of a layout that may be another.
    fn begin_after(&mut self, dropped: &NamespaceRecord) {
        let spec = self.record.terms.spec;
        // Later than the mark by more than clocks may differ, however soon it is opened again: so
        // who has seen the mark tells this record from an older one. The quarantine is longer than
        // that.
        let after_mark = dropped.unix(dropped.reason.since) + 2 * MAX_SKEW;
        let after_mark = spec.tick_at(after_mark).map_or(0, |tick| tick + 1);
        self.record.reason.since = self.now.tick.max(after_mark);
        self.record.reason.cause = QuarantineCause::Dropped;
        // `quarantine_until` includes the tick of the time given; in the same layout this one has
        // not begun.
        let until = dropped.unix(dropped.quarantine);
        self.quarantine_until(until.saturating_sub(Duration::from_millis(1)));
    }

    /// Refuses a namespace that was dropped and not reopened.
    pub(super) fn check_dropped(&self) -> Result<(), StoreError> {
        self.before
            .as_ref()
            .map_or(Ok(()), NamespaceRecord::check_dropped)
    }

    /// Refuses other terms. A key check that was unknown becomes known.
    fn check_terms(&mut self, asked: &Terms) -> Result<(), StoreError> {
        let stored = &mut self.record.terms;
        if !stored.agrees_with(asked) {
            return Err(stored.refused(asked));
        }
        // A client without the key, such as a server for devices, may have made the namespace.
        if stored.key_check.is_none() && asked.key_check.is_some() {
            stored.key_check = asked.key_check;
            self.is_changed = true;
        }
        Ok(())
    }

    /// State of a copy that takes the place of its original: what the original has granted since is
    /// forgotten here.
    ///
    /// # Errors
    ///
    /// As for [`of`](NamespaceState::of), but for the copy.
    pub(super) fn of_a_copy(view: &View, caller: &Caller<'_>) -> Result<Self, StoreError> {
        let mut state = Self::under(view, caller, caller.terms)?;
        state.check_dropped()?;
        // Of any cause before: the original may have ended that quarantine, and leased.
        state.quarantine(view, caller.seen, QuarantineCause::Lost);
        state.record.identity.clone_from(&view.continuity.identity);
        Ok(state)
    }

    /// Sets a quarantine until every lease has expired that may have been granted up to now and
    /// forgotten, even by a clock that was off as far as this one is the other way.
    pub fn quarantine(&mut self, view: &View, seen: &Observed, cause: QuarantineCause) {
        let terms = &self.record.terms;
        let before = self.before.as_ref();
        let longest = match before.filter(|record| !record.reason.is_dropped) {
            Some(_) => terms.max_ttl(),
            // The longest TTL of the lost record is unknown.
            None => terms.max_ttl().max(view.assumed_max_ttl),
        };
        let over = self
            .now
            .tick
            .saturating_add(terms.quarantine_ticks(longest));
        // A running quarantine keeps its start when it is extended. The history is known from there
        // on: a quarantine that is extended must not hide what happened in it.
        if self.quarantine_left().is_zero() {
            self.record.reason.since = self.now.tick;
        }
        self.record.reason.cause = cause;
        // Also past the leases of this process: it knows their ends even if the store does not.
        self.record.quarantine = self.record.quarantine.max(over).max(seen.latest_end());
        // A clock that was far ahead may have granted past all of this: some engines keep the
        // latest end apart.
        self.quarantine_until(Duration::from_millis(view.continuity.known_end_unix_ms));
        // With the old fingerprint, each client would notice the same loss and wait anew.
        self.record
            .fingerprint
            .clone_from(&view.continuity.fingerprint);
        self.is_changed = true;
    }

    /// Whether it has granted nothing since it was made.
    pub(super) fn is_new(&self) -> bool {
        !self.quarantine_left().is_zero() && self.record.reason.cause == QuarantineCause::New
    }

    /// Extends the quarantine to a Unix time; a tick that has begun by then counts.
    fn quarantine_until(&mut self, unix: Duration) {
        let tick = self
            .record
            .terms
            .spec
            .tick_at(unix)
            .map_or(0, |tick| tick + 1);
        self.record.quarantine = self.record.quarantine.max(tick);
    }

    /// Ends the quarantine, whatever its cause.
    pub fn end_quarantine(&mut self) {
        self.record.quarantine = 0;
        // `since` stays: leases from before may be missing in the history.
        self.is_changed = true;
    }

    /// Sets the key under which tagged UUIDs are issued from now on.
    pub(super) fn set_key(&mut self, next: KeyCheck) {
        self.record.terms.key_check = Some(next);
        self.is_changed = true;
    }

    /// Sets which versions are allowed. Returns how often the record will have been written then.
    pub(super) fn allow(&mut self, versions: Versions) -> u64 {
        self.is_changed |= versions != self.record.versions;
        self.record.versions = versions;
        // Who may not read what is written shall not read this record either, and so writes
        // nothing.
        let form = &mut self.record.form;
        form.version = form.version.max(versions.written);
        form.min_reader = form.min_reader.max(versions.written);
        let writes = self.record.writes;
        writes.saturating_add(self.is_changed.into())
    }

    /// The quarantine, if the namespace is in one.
    #[must_use]
    pub fn quarantined(&self) -> Option<Quarantine> {
        let record = &self.record;
        (self.now.tick < record.quarantine).then(|| Quarantine {
            since: record.unix(record.reason.since),
            until: record.unix(record.quarantine),
            cause: record.reason.cause,
        })
    }

    /// An empty history of the namespace.
    pub(crate) fn history(&self) -> History {
        History::new(
            self.record.terms.spec,
            self.now.unix,
            self.record.reason.since,
        )
    }

    /// Ticks that a lease can end ahead of now, if a clock within the allowed skew granted it.
    pub(super) fn span(&self) -> u64 {
        let terms = &self.record.terms;
        terms.quarantine_ticks(terms.max_ttl())
    }

    /// Time left of the quarantine; zero if the namespace grants.
    #[must_use]
    pub fn quarantine_left(&self) -> Duration {
        if self.now.tick < self.record.quarantine {
            self.now.until(self.record.quarantine)
        } else {
            Duration::ZERO
        }
    }

    /// Refuses during a quarantine.
    pub(super) fn check_quarantine(&self) -> Result<(), StoreError> {
        match self.quarantined() {
            None => Ok(()),
            Some(quarantine) => Err(StoreError::Quarantined {
                retry_in: self.quarantine_left(),
                quarantine,
            }),
        }
    }

    /// Refuses a TTL that the namespace does not allow, in ticks.
    pub(super) fn check_ttl(&self, ttl: u64) -> Result<(), StoreError> {
        let terms = &self.record.terms;
        // A quarantine is as long as the longest lease: one that is longer would outlive it.
        let longest = terms.ticks(terms.max_ttl());
        if ttl == 0 || ttl > longest {
            let time = |ticks: u64| {
                span(Duration::from_millis(
                    ticks.saturating_mul(terms.spec.tick_ms()),
                ))
            };
            return Err(StoreError::Invalid(format!(
                "a TTL of {} was asked for: {} to {} are allowed in this namespace, whose longest TTL was fixed when it \
                 was created",
                time(ttl),
                time(1),
                time(longest)
            )));
        }
        Ok(())
    }

    /// The change of the namespace record alone.
    #[must_use]
    pub fn into_change(self) -> Change {
        // `writes` tells a backup: it has fewer than a process has seen before.
        let namespace_after = self.is_changed.then(|| NamespaceRecord {
            writes: self.record.writes.saturating_add(1),
            ..self.record
        });
        Change {
            namespace_before: self.before,
            namespace_after,
            nodes: Vec::new(),
            window: None,
        }
    }
}

/// Within this time all holders have looked at their files, each second, from threads that may be
/// late.
const LOOKED_WITHIN: Duration = Duration::from_secs(3);
/// With ticks of at least this length the next one is late enough: it has ids of its own.
const LONG_TICK: Duration = Duration::from_secs(1);
/// A random place among so many node ids for each one that is asked for is probably another one
/// than before.
const ENOUGH: u64 = 1 << 14;

/// Time after which a store that was just made grants node ids, so many of which may be leased,
/// from the next tick on.
#[must_use]
pub fn youth(spec: &LayoutSpec, node_ids: u64, request: NodeIds<'_>) -> Duration {
    match request {
        NodeIds::Any(count) if u64::from(count).saturating_mul(ENOUGH) <= node_ids => {
            let is_long = u128::from(spec.tick_ms()) >= LONG_TICK.as_millis();
            if is_long { Duration::ZERO } else { LONG_TICK }
        }
        NodeIds::Any(_) | NodeIds::These(_) => LOOKED_WITHIN,
    }
}

impl NamespaceState {
    /// Refuses a grant in a store that was made a moment ago.
    pub(super) fn check_youth(
        &self,
        view: &View,
        within: (u32, u32),
        request: NodeIds<'_>,
    ) -> Result<(), StoreError> {
        let spec = &self.record.terms.spec;
        let made = Duration::from_millis(view.continuity.made_unix_ms);
        // Made later than now by clocks that agree: a wrong one has made it, of which nothing
        // follows.
        if made > self.now.unix.saturating_add(2 * MAX_SKEW) {
            return Ok(());
        }
        let last = within.1.min(spec.max_node_id());
        let node_ids = u64::from(last.saturating_sub(within.0)) + 1;
        let wait = youth(spec, node_ids, request);
        // Also where the wait ends as a tick begins: the next one has no id from before.
        let grants_from = spec.tick_at(made + wait).map_or(0, |tick| tick + 1);
        if grants_from <= self.now.tick {
            return Ok(());
        }
        Err(StoreError::Quarantined {
            retry_in: self.now.until(grants_from),
            quarantine: Quarantine {
                since: made,
                until: self.record.unix(grants_from),
                cause: QuarantineCause::Young,
            },
        })
    }
}
