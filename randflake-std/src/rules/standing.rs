//! Whether a namespace may grant: whom it is for, whether the store kept its memory, and until when it waits.

use core::time::Duration;

use super::{Change, Form, NamespaceRecord, Reason, Seen, StoreTime, Versions, View};
use crate::date::span;
use crate::vocabulary::Terms;
use crate::vocabulary::{
    ASSUMED_MAX_TTL, History, MAX_SKEW, Quarantine, QuarantineCause, StoreError,
};

/// Who asks.
#[derive(Clone, Copy, Debug)]
pub struct Asking<'a> {
    /// What the namespace means to them.
    pub terms: &'a Terms,
    /// What this process has seen.
    pub seen: &'a Seen,
    /// What the store's clock must show; none in simulations.
    pub clock: Option<Expected>,
    /// Two numbers that nobody else has, also no copy of this process: the origin of a record, and the nonce of a
    /// write.
    pub fresh: (u64, u64),
    /// The highest version of records that they know.
    pub knows: u8,
}

/// By how much a store's clock may differ from what is expected of it before it counts as having leapt: what a server
/// that slews its clock, and two clocks that drift, do between two renewals.
pub(crate) const LEAP: Duration = Duration::from_secs(1);

/// Between which times a store's clock must be.
#[derive(Clone, Copy, Debug)]
pub struct Expected {
    /// The first.
    pub least: Duration,
    /// The last.
    pub most: Duration,
}

impl Expected {
    /// By this machine's clock, which showed these times before and after the read, in either order: however long the
    /// request took, it was read in between.
    #[must_use]
    pub fn of_machine(before: Duration, after: Duration) -> Self {
        Self {
            least: before.min(after).saturating_sub(MAX_SKEW),
            most: before.max(after).saturating_add(MAX_SKEW),
        }
    }

    /// By the store's own last answer, carried on by a monotonic clock until before and until after the read.
    #[must_use]
    pub fn of_store(before: Duration, after: Duration) -> Self {
        Self {
            least: before.saturating_sub(LEAP),
            most: after + LEAP,
        }
    }

    /// Whether a clock may show this.
    pub(crate) fn allows(&self, store: Duration) -> bool {
        (self.least..=self.most).contains(&store)
    }

    /// A store whose clock leapt ahead would grant node ids far into the future, and one whose clock went back would
    /// end a quarantine too early.
    fn check(&self, store: Duration) -> Result<(), StoreError> {
        if !self.allows(store) {
            let middle = (self.least + self.most) / 2;
            return Err(StoreError::ClockSkew {
                store,
                here: middle,
            });
        }
        Ok(())
    }
}

/// A namespace as it should be.
#[derive(Clone, Debug)]
pub struct Standing {
    /// The store's clock.
    pub now: StoreTime,
    /// Its record, with what follows from the view.
    pub record: NamespaceRecord,
    before: Option<NamespaceRecord>,
    is_changed: bool,
}

impl Standing {
    /// The namespace of a view, for one who looks, releases or administers: a longest TTL that they do not name is the
    /// stored one.
    ///
    /// A record that is not there is made. A quarantine is set where leases may have been forgotten: the engine
    /// is another than when the record was written, the record is gone or older than this process has seen it.
    ///
    /// # Errors
    ///
    /// Nothing may be written then: the engine loses what it answers, the clocks of store and machine differ by more
    /// than [`MAX_SKEW`], the namespace means something else.
    pub fn of(view: &View, asking: &Asking<'_>) -> Result<Self, StoreError> {
        Self::under(view, asking, asking.terms)
    }

    /// The namespace of a view, for one who leases, or who makes it: a longest TTL that they do not name is
    /// [`DEFAULT_MAX_TTL`](crate::lease::DEFAULT_MAX_TTL).
    ///
    /// # Errors
    ///
    /// As for [`of`](Standing::of); and [`StoreError::Dropped`]: only a person opens a namespace again, by
    /// [`reopen`](super::reopen).
    pub fn of_a_holder(view: &View, asking: &Asking<'_>) -> Result<Self, StoreError> {
        let standing = Self::under(view, asking, &asking.terms.of_a_holder())?;
        standing.check_dropped()?;
        Ok(standing)
    }

    fn under(view: &View, asking: &Asking<'_>, terms: &Terms) -> Result<Self, StoreError> {
        if let Some(fault) = &view.continuity.fault {
            return Err(StoreError::unusable(fault.clone()));
        }
        // First: a quarantine by a clock that is wrong ends too early.
        if let Some(expected) = asking.clock {
            expected.check(view.now)?;
        }
        let now = StoreTime::at(view.now, terms.spec)?;
        let there = view.namespace.as_ref();
        let there = there.filter(|record| !record.reason.is_dropped);
        let dropped = view.namespace.as_ref().filter(|_| there.is_none());
        let mut standing = Self {
            now,
            record: match there {
                Some(stored) => stored.clone(),
                None => NamespaceRecord {
                    // Also of a namespace that was dropped: older programs do not come back with new terms.
                    versions: dropped.map_or(Versions::FIRST, |dropped| dropped.versions),
                    form: dropped.map_or_else(Form::default, |dropped| dropped.form.clone()),
                    terms: terms.of_a_holder(),
                    origin: asking.fresh.0,
                    writes: 0,
                    quarantine: 0,
                    reason: Reason::default(),
                    fingerprint: view.continuity.fingerprint.clone(),
                },
            },
            before: view.namespace.clone(),
            is_changed: there.is_none(),
        };
        standing.check_terms(terms)?;
        let is_known = match there.or(dropped) {
            Some(stored) => stored.fingerprint == view.continuity.fingerprint,
            // Node ids that were leased belong to a record that was deleted.
            None => {
                view.continuity.is_absence_certain
                    && view.nodes.iter().all(|node| node.record.is_none())
            }
        };
        let has_forgotten = !is_known || asking.seen.contradicts(view.namespace.as_ref());
        if let Some(dropped) = dropped {
            standing.begin_after(dropped);
            if has_forgotten {
                // Also that it was opened again meanwhile.
                standing.quarantine(view, asking.seen, QuarantineCause::Dropped);
            }
        } else if has_forgotten {
            let granted_nothing = there.is_none() || standing.is_new();
            let cause = if granted_nothing && !asking.seen.has_leased() {
                QuarantineCause::New
            } else {
                QuarantineCause::Lost
            };
            standing.quarantine(view, asking.seen, cause);
        }
        Ok(standing)
    }

    /// Waits for the leases of a namespace that was dropped: the mark says when the last one ends, in ticks of a layout
    /// that may be another.
    fn begin_after(&mut self, dropped: &NamespaceRecord) {
        self.record.reason.since = self.now.tick;
        self.record.reason.cause = QuarantineCause::Dropped;
        let until = dropped.terms.spec.unix_ms(dropped.quarantine);
        // Where it is the same layout, that tick has not begun.
        self.quarantine_until(Duration::from_millis(until.saturating_sub(1)));
    }

    /// Refuses a namespace that was dropped, and that nobody has opened since.
    pub(super) fn check_dropped(&self) -> Result<(), StoreError> {
        let dropped = self.before.as_ref();
        match dropped.filter(|record| record.reason.is_dropped) {
            None => Ok(()),
            Some(dropped) => {
                let until = dropped.terms.spec.unix_ms(dropped.quarantine);
                let until = Duration::from_millis(until);
                Err(StoreError::Dropped { until })
            }
        }
    }

    /// Refuses other terms; a key that is not known yet becomes known.
    fn check_terms(&mut self, asked: &Terms) -> Result<(), StoreError> {
        let stored = &mut self.record.terms;
        if !stored.agrees_with(asked) {
            let (stored, asked) = stored.differences(asked);
            return Err(StoreError::Terms { stored, asked });
        }
        if stored.seal.is_none() && asked.seal.is_some() {
            stored.seal = asked.seal;
            self.is_changed = true;
        }
        Ok(())
    }

    /// Nothing is granted until all is over that may have been granted up to now and forgotten: also by a clock
    /// that differed from the true one, as this one may the other way.
    pub fn quarantine(&mut self, view: &View, seen: &Seen, cause: QuarantineCause) {
        let terms = &self.record.terms;
        let before = self.before.as_ref();
        let longest = match before.filter(|record| !record.reason.is_dropped) {
            Some(_) => terms.max_ttl(),
            // Its only holder is who asks.
            None if view.is_sole => terms.max_ttl(),
            // What the lost record allowed is not known.
            None => terms.max_ttl().max(ASSUMED_MAX_TTL),
        };
        let over = self
            .now
            .tick
            .saturating_add(terms.quarantine_ticks(longest));
        if self.quarantine_left().is_zero() {
            self.record.reason.since = self.now.tick;
        }
        self.record.reason.cause = cause;
        self.record.quarantine = self.record.quarantine.max(over).max(seen.latest_end());
        self.quarantine_until(Duration::from_millis(view.continuity.known_end_unix_ms));
        self.record
            .fingerprint
            .clone_from(&view.continuity.fingerprint);
        self.is_changed = true;
    }

    /// Whether it has granted nothing yet, because it waits since it was made.
    pub(super) fn is_new(&self) -> bool {
        !self.quarantine_left().is_zero() && self.record.reason.cause == QuarantineCause::New
    }

    /// Until a time since the Unix epoch at least: a tick that has begun by then counts.
    fn quarantine_until(&mut self, unix: Duration) {
        let tick = self
            .record
            .terms
            .spec
            .tick_at(unix)
            .map_or(0, |tick| tick + 1);
        self.record.quarantine = self.record.quarantine.max(tick);
    }

    /// Grants again at once, whatever the quarantine is for.
    pub fn end_quarantine(&mut self) {
        self.record.quarantine = 0;
        // Since when it was there stays: what was granted before that, the history may not know.
        self.is_changed = true;
    }

    /// Sets which versions are allowed. Returns how often the record will have been written then.
    pub(super) fn allow(&mut self, versions: Versions) -> u64 {
        self.is_changed |= versions != self.record.versions;
        self.record.versions = versions;
        // Who may not read what is written shall not read this record either, and so writes nothing.
        let form = &mut self.record.form;
        form.version = form.version.max(versions.written);
        form.min_reader = form.min_reader.max(versions.written);
        let writes = self.record.writes;
        writes.saturating_add(self.is_changed.into())
    }

    /// The quarantine, if the namespace is in one.
    #[must_use]
    pub fn quarantined(&self) -> Option<Quarantine> {
        let NamespaceRecord {
            terms,
            quarantine,
            reason,
            ..
        } = &self.record;
        let unix = |tick| Duration::from_millis(terms.spec.unix_ms(tick));
        (self.now.tick < *quarantine).then(|| Quarantine {
            since: unix(reason.since),
            until: unix(*quarantine),
            cause: reason.cause,
        })
    }

    /// The namespace's history, without a lease yet.
    pub(crate) fn history(&self) -> History {
        History::new(
            self.record.terms.spec,
            self.now.unix,
            self.record.reason.since,
        )
    }

    /// How far ahead of now a lease can end that was granted by a clock that differs as is allowed, in ticks.
    pub(super) fn span(&self) -> u64 {
        let terms = &self.record.terms;
        terms.quarantine_ticks(terms.max_ttl())
    }

    /// How long nothing is granted; zero if the namespace grants.
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

    /// What has to be written of the namespace alone.
    #[must_use]
    pub fn into_change(self) -> Change {
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
