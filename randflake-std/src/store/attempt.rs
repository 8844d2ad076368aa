//! One operation: tried until nobody else was faster.

use core::time::Duration;

use super::LeaseStore;
use super::carried::{Carried, Compared, Machine};
use super::fresh::fresh;
use crate::rules::{
    Caller, Change, ClockWindow, Committed, Decision, HeldLease, LEAP, NamespaceRecord, Node,
    NodeRecord, SecretClaim, View, Wanted, renew,
};
use crate::vocabulary::Loss;
use crate::vocabulary::StoreError;

/// How often an operation begins anew because others were faster.
const TRIES: usize = 100;

/// What became of each lease of a renewal.
pub(super) type Renewals = Vec<Result<NodeRecord, Loss>>;

/// An operation that succeeded.
pub(super) struct Done<T> {
    pub(super) answer: T,
    pub(super) now: Duration,
}

/// An operation that failed, with what may have been written all the same.
pub(super) struct Undone {
    pub(super) error: StoreError,
    pub(super) tried: Option<Box<(u64, Change)>>,
}

impl<F: Into<StoreError>> From<F> for Undone {
    fn from(error: F) -> Self {
        let error = error.into();
        Self { error, tried: None }
    }
}

impl LeaseStore {
    /// This machine's wall clock, and its monotonic one.
    pub(super) fn machine_now(&self) -> Option<(Duration, Duration)> {
        let machine = self.machine.as_ref()?;
        Some((machine.wall(), machine.steady()))
    }

    /// Reads, decides and writes, until nobody else was faster. The store's clock is compared with what it showed
    /// before, carried on, if `is_renewal`; else, if it showed nothing before, or if it has drifted away since, with
    /// this machine's.
    pub(super) fn run<T>(
        &mut self,
        wanted: &Wanted<'_>,
        is_renewal: bool,
        rule: impl Fn(&View, &Caller<'_>) -> Decision<T>,
    ) -> Result<Done<T>, Undone> {
        self.ready()?;
        for _ in 0..TRIES {
            let fresh = fresh().map_err(StoreError::unavailable)?;
            let before = self.machine_now();
            let wanted = Wanted {
                seen: Some(&self.seen),
                ..*wanted
            };
            let view = self.records.read(&wanted)?;
            let after = self.machine_now();
            let last = self.last.as_ref().filter(|_| is_renewal);
            let clocks = before.zip(after).map(|((wall, sent), (after, received))| {
                let carried = last.map(|(_, carried)| carried);
                let carried = carried.filter(|it| !it.has_drifted_to(view.now, sent, received));
                let compared = Compared { wall, steady: sent };
                carried.map_or_else(
                    || (ClockWindow::of_machine(wall, after), compared),
                    |carried| (carried.expected(sent, received), carried.compared()),
                )
            });
            let (clock, compared) = clocks.unzip();
            let Decision { change, answer } = rule(&view, &self.caller(clock, fresh));
            if let Err(error @ StoreError::ClockSkew { .. }) = answer {
                // A leap counts as a failure once; then this machine's clock has to agree.
                self.last = None;
                self.records.engine().abandon();
                return Err(error.into());
            }
            if change.opens_anew() && self.clears_dropped(&change)? {
                continue;
            }
            if let Some(check) = change.taken_secret() {
                self.claim(check)?;
            }
            let now = if change.is_empty() {
                self.records.engine().abandon();
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
            self.answered(record, view.now, before.map(|(_, sent)| sent).zip(compared));
            return Ok(Done {
                answer: answer?,
                now,
            });
        }
        Err(StoreError::unavailable("other clients of the store were faster each time").into())
    }

    /// Claims a secret for this namespace, before its record says that it has it.
    fn claim(&mut self, check: u32) -> Result<(), StoreError> {
        let claimed = self.records.claim(check, &SecretClaim::of(&self.namespace));
        let allowed = claimed.and_then(|claim| claim.check(&self.namespace));
        allowed.inspect_err(|_| self.records.engine().abandon())
    }

    /// Removes what a drop has left that was interrupted: leases in ticks of a layout that may be another. Says whether
    /// there was any.
    fn clears_dropped(&mut self, change: &Change) -> Result<bool, StoreError> {
        let Some(dropped) = &change.namespace_before else {
            return Ok(false);
        };
        if !self.records.has_leases()? {
            return Ok(false);
        }
        self.records.engine().abandon();
        self.records.engine().clear(&dropped.to_text())?;
        Ok(true)
    }

    fn answered(
        &mut self,
        record: Option<NamespaceRecord>,
        now: Duration,
        sent: Option<(Duration, Compared)>,
    ) {
        if let Some(record) = &record {
            self.seen.note_namespace(record, now);
        }
        let received = self.machine.as_ref().map(Machine::steady);
        let times = sent.zip(received);
        let carried =
            times.map(|((sent, compared), received)| Carried::new(now, sent, received, compared));
        self.last = record.zip(carried);
    }

    /// Renews without reading first: by the same rule, on what this process wrote last and the store's clock
    /// carried on. The engine writes only if all of that is still so. `None`: it is not known, or not so.
    pub(super) fn renew_unread(
        &mut self,
        leases: &[HeldLease],
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
        let near = carried.near(sent, sent);
        if !near.allows(now) {
            return Ok(None);
        }
        let view = View::carried(now, record, nodes);
        let fresh = fresh().map_err(StoreError::unavailable)?;
        let Decision { mut change, answer } = renew(&view, leases, ttl, &self.caller(None, fresh));
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
        let from = now.saturating_sub(LEAP).max(near.least);
        change.window = Some((from, (now + 2 * LEAP).min(near.most).min(expires)));
        match self.records.commit(&change) {
            Ok(Committed::Done { now }) => {
                self.answered(
                    change.namespace_before,
                    now,
                    Some((sent, carried.compared())),
                );
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
}
