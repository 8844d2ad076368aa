//! One operation on a store: read, decide by a rule, write, and again until no other client was
//! faster.

use core::time::Duration;

use super::LeaseStore;
use super::clock_estimate::{ClockEstimate, Exchange, Moment};
use crate::clock::{MonotonicTime, wall_exact};
use crate::rules::{Caller, Change, Decision, Demand, NamespaceRecord, View, WriteOutcome};
use crate::types::StoreError;

/// How often an operation begins anew because others were faster.
const TRIES: usize = 100;

/// Clock that the store's must agree with before a rule decides.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum ClockCheck {
    /// This machine's: for all that grants something.
    ThisMachine,
    /// The store's last answer, carried on by the monotonic clock: for a renewal it is enough that
    /// the clock did not leap, because the end of a lease moves on as time does. This machine's
    /// clock is asked where there is no last answer, or the store's has drifted away since.
    LastAnswer,
}

/// Answer of an operation that was carried out.
pub(super) struct Completed<T> {
    pub(super) answer: T,
    /// The store's clock at the write; at the read if nothing was written.
    pub(super) now: Duration,
}

/// Failure of an operation.
pub(super) struct Failure {
    pub(super) error: StoreError,
    /// Nonce and change of a write of unknown outcome.
    pub(super) unconfirmed: Option<Box<(u64, Change)>>,
}

impl<F: Into<StoreError>> From<F> for Failure {
    fn from(error: F) -> Self {
        Self {
            error: error.into(),
            unconfirmed: None,
        }
    }
}

impl LeaseStore {
    /// Reads, decides and writes, until no other client was faster.
    pub(super) fn run<T>(
        &mut self,
        demand: &Demand<'_>,
        clock_check: ClockCheck,
        rule: impl Fn(&View, &Caller<'_>) -> Decision<T>,
    ) -> Result<Completed<T>, Failure> {
        self.ready()?;
        for _ in 0..TRIES {
            let fresh = fresh().map_err(StoreError::unavailable)?;
            let (view, exchange) = self.read(demand)?;
            let last = (self.estimate.as_ref()).filter(|_| clock_check == ClockCheck::LastAnswer);
            let (window, compared) = ClockEstimate::window(last, view.now, &exchange);
            let Decision { change, answer } = rule(&view, &self.caller(window, fresh));
            if let Err(error @ StoreError::ClockSkew { .. }) = answer {
                // A leap counts as a failure once; then this machine's clock has to agree.
                self.note_step(view.now, &exchange);
                self.estimate = None;
                self.records.engine().abandon();
                return Err(error.into());
            }
            let Some(now) = self.carry_out(&change, &view, fresh.1)? else {
                continue;
            };
            // Also before a refusal: a quarantine that was just written is known from now on.
            let record = change.namespace_after.or(change.namespace_before);
            // A plain refusal has no record: what is known stays as it is, unless the store's clock
            // stepped.
            let has_stepped = self.step(view.now, &exchange).is_some();
            if record.is_some() || answer.is_ok() || has_stepped {
                // The time that the rule has seen, not that of the write: the clock may have leapt
                // in between.
                self.note_answer(record, view.now, exchange, compared);
            }
            return Ok(Completed {
                answer: answer?,
                now,
            });
        }
        Err(StoreError::unavailable("other clients of the store were faster each time").into())
    }

    fn read(&mut self, demand: &Demand<'_>) -> Result<(View, Exchange), StoreError> {
        let sent = self.machine.now();
        let view = self.records.read(&Demand {
            seen: Some(&self.seen),
            ..*demand
        })?;
        let received = self.machine.now();
        Ok((view, Exchange { sent, received }))
    }

    /// Writes a change, and before it what must be there first. Returns the store's clock then;
    /// `None` if the view is stale, so that the operation has to begin anew.
    fn carry_out(
        &mut self,
        change: &Change,
        view: &View,
        nonce: u64,
    ) -> Result<Option<Duration>, Failure> {
        // What a drop left would count as leases of the new namespace, so the view is stale once it
        // is removed.
        if change.opens_anew() && self.clear_interrupted_drop()? {
            return Ok(None);
        }
        // The claim comes first: after a crash in between it is there without a namespace, which
        // harms nobody.
        if let Some(check) = change.taken_secret() {
            let claimed = self.records.claim(check);
            claimed.inspect_err(|_| self.records.engine().abandon())?;
        }
        if change.is_empty() {
            self.records.engine().abandon();
            return Ok(Some(view.now));
        }
        match self.records.commit(change) {
            Ok(WriteOutcome::Written { now }) => Ok(Some(now)),
            Ok(WriteOutcome::Stale) => Ok(None),
            // Perhaps written: by its nonce a repetition recognizes the write as its own.
            Err(error) => Err(Failure {
                error: error.into(),
                unconfirmed: Some(Box::new((nonce, change.clone()))),
            }),
        }
    }

    /// Removes what an interrupted drop has left: leases in ticks of a layout that may be another.
    /// Returns whether there was anything.
    fn clear_interrupted_drop(&mut self) -> Result<bool, StoreError> {
        let cleared = self
            .records
            .has_leases()
            .map_err(StoreError::from)
            .and_then(|has_leases| {
                if has_leases {
                    self.clear_dropped()?;
                }
                Ok(has_leases)
            });
        // An engine may hold a lock since the read.
        cleared.inspect_err(|_| self.records.engine().abandon())
    }

    /// Remembers the namespace's record, and the store's clock in an exchange.
    pub(super) fn note_answer(
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

/// Fresh numbers for the namespace nonce of a record and the nonce of a write, which nobody else
/// has.
///
/// Why not random numbers alone: a copy of this process, or of its machine, shares the state of all
/// random sources, the kernel's too; it does not share the time at which it goes on.
pub(super) fn fresh() -> Result<(u64, u64), getrandom::Error> {
    /// Spreads the clocks' low bits over the word: 2^64 divided by the golden ratio.
    const SPREAD: u64 = 0x9e37_79b9_7f4a_7c15;

    // A wall clock that cannot be read leaves the monotonic one.
    let wall_ns = wall_exact().unwrap_or_default().as_nanos();
    let wall_ns = u64::try_from(wall_ns).unwrap_or(u64::MAX);
    let time = wall_ns
        .wrapping_mul(SPREAD)
        .wrapping_add(MonotonicTime::exact().nanos())
        .wrapping_mul(SPREAD);
    Ok((
        getrandom::u64()? ^ time,
        getrandom::u64()? ^ time.rotate_left(32),
    ))
}
