//! One operation: tried until nobody else was faster.

use core::time::Duration;

use super::LeaseStore;
use super::clock_estimate::{ClockEstimate, Exchange, Moment};
use super::fresh::fresh;
use crate::rules::{Caller, Change, Committed, Decision, NamespaceRecord, View, Wanted};
use crate::vocabulary::StoreError;

/// How often an operation begins anew because others were faster.
const TRIES: usize = 100;

/// An operation that succeeded.
pub(super) struct Done<T> {
    pub(super) answer: T,
    /// The store's clock at the write; at the read if nothing was written.
    pub(super) now: Duration,
}

/// An operation that failed, with the nonce and the change that may have been written all the same.
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
    /// Reads, decides and writes, until nobody else was faster. The store's clock is compared with its last answer if
    /// `is_renewal`; else, if there is none, or if it has drifted away since, with this machine's.
    pub(super) fn run<T>(
        &mut self,
        wanted: &Wanted<'_>,
        is_renewal: bool,
        rule: impl Fn(&View, &Caller<'_>) -> Decision<T>,
    ) -> Result<Done<T>, Undone> {
        self.ready()?;
        for _ in 0..TRIES {
            let fresh = fresh().map_err(StoreError::unavailable)?;
            let sent = self.machine.now();
            let wanted = Wanted {
                seen: Some(&self.seen),
                ..*wanted
            };
            let view = self.records.read(&wanted)?;
            let received = self.machine.now();
            let exchange = Exchange { sent, received };
            // Others need a clock that is right, above all a grant. For a renewal it is enough that
            // the clock did not leap: the end of a lease moves on as time does.
            let last = self.estimate.as_ref().filter(|_| is_renewal);
            let (clock, compared) = ClockEstimate::window(last, view.now, &exchange);
            let Decision { change, answer } = rule(&view, &self.caller(clock, fresh));
            if let Err(error @ StoreError::ClockSkew { .. }) = answer {
                // A leap counts as a failure once; then this machine's clock has to agree.
                self.note_step(view.now, &exchange);
                self.estimate = None;
                self.records.engine().abandon();
                return Err(error.into());
            }
            // What is there now would count as leases of the new namespace, so the view is stale after that.
            if change.opens_anew() {
                let is_cleared = self.clears_dropped();
                if is_cleared.inspect_err(|_| self.records.engine().abandon())? {
                    continue;
                }
            }
            // The claim comes first: after a crash in between it is there without a namespace, which harms nobody.
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
                    // Perhaps written: its nonce tells a repetition that the write is its own.
                    Err(error) => {
                        let tried = Some(Box::new((fresh.1, change)));
                        return Err(Undone {
                            error: error.into(),
                            tried,
                        });
                    }
                }
            };
            // Also before a refusal: a quarantine that was just written is known from now on.
            let record = change.namespace_after.or(change.namespace_before);
            // A plain refusal has no record: what is known stays as it is, unless the store's clock stepped.
            let is_known = self.step(view.now, &exchange).is_none();
            if record.is_some() || answer.is_ok() || !is_known {
                // The time that the rules have looked at, not that of the write: the clock may have leapt in between.
                self.answered(record, view.now, exchange, compared);
            }
            return Ok(Done {
                answer: answer?,
                now,
            });
        }
        Err(StoreError::unavailable("other clients of the store were faster each time").into())
    }

    /// Claims a secret for this namespace, before its record says that it has it.
    fn claim(&mut self, check: u32) -> Result<(), StoreError> {
        let claimed = self.records.claim(check);
        claimed.inspect_err(|_| self.records.engine().abandon())
    }

    /// Removes what a drop has left that was interrupted: leases in ticks of a layout that may be another. Returns whether
    /// there was any.
    fn clears_dropped(&mut self) -> Result<bool, StoreError> {
        if !self.records.has_leases()? {
            return Ok(false);
        }
        self.clear_dropped()?;
        Ok(true)
    }

    /// Remembers the namespace's record, and the store's clock in an exchange.
    pub(super) fn answered(
        &mut self,
        record: Option<NamespaceRecord>,
        now: Duration,
        exchange: Exchange,
        compared: Moment,
    ) {
        self.note_step(now, &exchange);
        let estimate = ClockEstimate::new(now, exchange, compared);
        // Without a namespace there is nothing to renew, and so nothing to expect.
        self.estimate = record.is_some().then_some(estimate);
        if let Some(record) = record {
            self.seen.note_namespace(record, now);
        }
    }

    fn step(&self, now: Duration, exchange: &Exchange) -> Option<i64> {
        self.estimate.as_ref()?.step(now, exchange)
    }

    fn note_step(&self, now: Duration, exchange: &Exchange) {
        if let Some(by_ms) = self.step(now, exchange) {
            clock_stepped(self.namespace.name(), by_ms);
        }
    }
}

/// The event of `randflake_std`'s `observability`, whose target it has: users filter by that.
#[cfg(feature = "tracing")]
fn clock_stepped(namespace: &str, by_ms: i64) {
    tracing::warn!(target: "randflake_std", namespace, by_ms, "store clock stepped");
}

#[cfg(not(feature = "tracing"))]
fn clock_stepped(_: &str, _: i64) {}
