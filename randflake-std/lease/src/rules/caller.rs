//! The client of an operation, and the times that it accepts from a store.

use core::time::Duration;

use super::Observed;
use crate::types::{MAX_SKEW, StoreError, Terms};

/// The client of an operation: its terms, what it has observed, and its fresh random numbers.
#[derive(Clone, Copy, Debug)]
pub struct Caller<'a> {
    /// Terms that the client expects of the namespace.
    pub terms: &'a Terms,
    /// What this process has observed of the namespace.
    pub seen: &'a Observed,
    /// Interval in which the store clock must be; none in simulations.
    pub clock: Option<ClockWindow>,
    /// Two numbers that nobody else has, not even a copy of this process: for the namespace nonce of a record, and for the
    /// nonce of a write.
    pub fresh: (u64, u64),
    /// The highest version of records that they know.
    pub knows: u8,
}

/// Deviation of a store clock between two answers that does not count as a leap: what a slewed clock, and two clocks
/// that drift, do between two renewals.
const LEAP: Duration = Duration::from_secs(1);
/// A monotonic clock gains or loses at most this part of what it counts: 500 ppm, ten times what a quartz does, and the
/// most by which Linux corrects its own.
const DRIFT_PART: u32 = 2_000;

/// Interval in which the clock of a store must be.
#[derive(Clone, Copy, Debug)]
pub struct ClockWindow {
    /// Earliest time that is allowed.
    pub least: Duration,
    /// Latest time that is allowed.
    pub most: Duration,
}

impl ClockWindow {
    /// Window by the clock of this machine, read before and after the request, in either order: however long the
    /// request took, the store clock was read in between.
    #[must_use]
    pub fn of_machine(before: Duration, after: Duration) -> Self {
        Self {
            least: before.min(after).saturating_sub(MAX_SKEW),
            most: before.max(after).saturating_add(MAX_SKEW),
        }
    }

    /// Window by the clock of this machine as it was read an `age` ago, carried on by a monotonic clock to before and
    /// after the request. It narrows by what that clock may have drifted; `None` if the skew is used up, so that the
    /// machine's clock has to be read again.
    #[must_use]
    pub fn of_machine_carried(before: Duration, after: Duration, age: Duration) -> Option<Self> {
        let skew = MAX_SKEW.checked_sub(age / DRIFT_PART)?;
        (!skew.is_zero()).then(|| Self {
            least: before.min(after).saturating_sub(skew),
            most: before.max(after).saturating_add(skew),
        })
    }

    /// Window by the last answer of the store, carried on by a monotonic clock to before and after the read.
    #[must_use]
    pub fn of_store(before: Duration, after: Duration) -> Self {
        Self {
            least: before.saturating_sub(LEAP),
            most: after + LEAP,
        }
    }

    /// Window in which the store's clock must be when a renewal is written that was decided by an estimate of it, without a
    /// read; `None` if the estimate is not `near` the machine's clock, so that the two have to be compared first.
    #[must_use]
    pub fn of_blind_renewal(estimate: Duration, near: &Self) -> Option<Self> {
        near.allows(estimate).then(|| Self {
            least: estimate.saturating_sub(LEAP).max(near.least),
            // Later than expected by a leap more than earlier: the request is on its way for a time, too.
            most: (estimate + 2 * LEAP).min(near.most),
        })
    }

    /// Whether a time of the store is within the window.
    pub(crate) fn allows(&self, store: Duration) -> bool {
        (self.least..=self.most).contains(&store)
    }

    /// Refuses a store clock outside the window: one that is ahead would grant far into the future, one that is
    /// behind would end a quarantine too early.
    pub(super) fn check(&self, store: Duration) -> Result<(), StoreError> {
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
