//! Issuer: a grant in use.

use core::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use core::time::Duration;

use randflake_core::internal::{BlockBudget, Run};
use randflake_core::{AnyLayout, Clock, ExtendError, GenerateError, Lease, LeaseError, Sequencer};
use randflake_lease::Acquisition;
use randflake_lease::unstable::clock::{AnchoredClock, MonotonicTime};

/// A grant in use: its sequencer, and the clock of the store that granted it.
#[derive(Debug)]
pub(super) struct Issuer<L: AnyLayout> {
    pub(super) sequencer: Sequencer<L, AtomicU64>,
    /// Limits the ids that the blocks of threads hold.
    pub(super) budget: BlockBudget<AtomicU64>,
    // Its own, not the handle's: after the store's clock stepped back a new grant begins before the
    // handle's time, which never goes back.
    pub(super) clock: AnchoredClock<L>,
    /// Generation number read before the lease was requested.
    generation: u64,
    pub(super) is_lost: AtomicBool,
}

impl<L: AnyLayout> Issuer<L> {
    /// Creates the issuers of all that a store granted to a request sent at `sent`. The generation
    /// is that from before the request.
    pub(super) fn of_all(
        layout: L,
        acquired: &Acquisition,
        sent: MonotonicTime,
        generation: u64,
    ) -> Result<Vec<Self>, LeaseError> {
        acquired
            .grants
            .iter()
            .map(|grant| {
                Ok(Self {
                    sequencer: Sequencer::new(grant.lease(layout)?)?,
                    budget: BlockBudget::new(),
                    clock: AnchoredClock::new(layout, acquired.now, sent),
                    generation,
                    is_lost: AtomicBool::new(false),
                })
            })
            .collect()
    }

    /// Whether the lease was requested in this generation. One of an earlier generation may be in
    /// use by a copy.
    #[inline]
    pub(super) fn is_of(&self, generation: u64) -> bool {
        self.generation == generation
    }

    #[inline]
    pub(super) fn take(&self, tolerance: u32) -> Result<u64, GenerateError> {
        self.sequencer.take(&self.clock, tolerance)
    }

    /// [`take`](Issuer::take) by the exact clock.
    pub(super) fn take_exactly(&self, tolerance: u32) -> Result<u64, GenerateError> {
        self.sequencer.take(&self.clock.exact(), tolerance)
    }

    pub(super) fn take_run(&self, most: u32, tolerance: u32) -> Result<Run<L>, GenerateError> {
        self.sequencer.take_run(most, &self.clock, tolerance)
    }

    pub(super) fn take_run_exactly(
        &self,
        most: u32,
        tolerance: u32,
    ) -> Result<Run<L>, GenerateError> {
        self.sequencer
            .take_run(most, &self.clock.exact(), tolerance)
    }

    pub(super) fn extend(&self, extended: Lease<L>) -> Result<(), ExtendError> {
        self.sequencer.extend(extended, &self.clock)
    }

    pub(super) fn lease(&self) -> Lease<L> {
        self.sequencer.lease()
    }

    /// How long until the lease ends by its own clock; zero when it is lost, or has not begun
    /// because the store's clock stepped back while it was granted. No id is taken once this is
    /// zero.
    pub(super) fn remaining(&self) -> Duration {
        if self.is_lost.load(Ordering::Acquire) {
            return Duration::ZERO;
        }
        let lease = self.sequencer.lease();
        let unix = |tick| Duration::from_millis(lease.layout().spec().unix_ms(tick));
        let start = unix(lease.start());
        // Exactly: the coarse clock may show the tick before the one in which the lease was just
        // granted.
        if self.clock.exact().now() < Some(start) {
            return Duration::ZERO;
        }
        // By the clock that ids are taken by, which may be late: zero must not be returned before
        // the last id was taken.
        let now = self.clock.now().unwrap_or_default();
        unix(lease.end()).saturating_sub(now.max(start))
    }
}

#[cfg(test)]
mod tests {
    use randflake_core::Randflake;
    use randflake_lease::{Grant, Token};

    use super::*;

    #[test]
    fn no_id_is_taken_after_remaining_was_zero() {
        let spec = Randflake.spec();
        let end = 1_000;
        // At several places between two steps of the coarse clock.
        for before_end in (100..5_000).step_by(500).map(Duration::from_micros) {
            let grant = Grant {
                node_id: 1,
                start: end - 1,
                end,
                fencing_token: end,
                token: Token::from_bytes([1; 16]),
            };
            let acquired = Acquisition {
                grants: vec![grant],
                last_writes: Vec::new(),
                now: Duration::from_millis(spec.unix_ms(end)).saturating_sub(before_end),
            };
            let issuers = Issuer::of_all(Randflake, &acquired, MonotonicTime::exact(), 0);
            let issuer = issuers.unwrap().remove(0);
            while !issuer.remaining().is_zero() {}
            issuer.take(0).unwrap_err();
        }
    }
}
