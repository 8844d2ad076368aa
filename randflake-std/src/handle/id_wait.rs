//! Retry rule of calls that wait for an id, for threads and for tasks.

use core::ops::ControlFlow;
use core::time::Duration;
use std::time::Instant;

use randflake_core::{AnyLayout, GenerateError, Permutation};

use super::phase::{Demand, HandlePhase};
use super::shared::SharedHandle;

/// Retries until success, until waiting cannot help, or until the limit.
pub(super) struct IdWait<'a, L: AnyLayout, P: Permutation + Send + Sync + 'static> {
    shared: &'a SharedHandle<L, P>,
    started: Instant,
    limit: Duration,
}

/// A wait between two tries.
pub(super) struct Pause {
    pub(super) limit: Duration,
    /// Number of replaced issuers before the try.
    replaced: u64,
}

impl Pause {
    /// Whether a change ends the pause early.
    pub(super) fn is_over(&self, phase: &HandlePhase) -> bool {
        phase.closing || phase.replaced != self.replaced
    }
}

impl<'a, L: AnyLayout, P: Permutation + Send + Sync + 'static> IdWait<'a, L, P> {
    pub(super) fn new(shared: &'a SharedHandle<L, P>, limit: Duration) -> Self {
        Self {
            shared,
            started: Instant::now(),
            limit,
        }
    }

    /// Tries once. Returns the result, or the pause before the next try.
    pub(super) fn attempt<T>(
        &self,
        attempt: impl FnOnce() -> Result<T, GenerateError>,
    ) -> Result<ControlFlow<T, Pause>, GenerateError> {
        let shared = self.shared;
        // In a forked child the lock may be another thread's for ever.
        shared.check_process()?;
        // Read before the attempt, so that a replacement during it is not missed.
        let replaced = shared.phase.lock().replaced;
        let error = match attempt() {
            Ok(success) => return Ok(ControlFlow::Break(success)),
            Err(error) => error,
        };
        let left = self.limit.saturating_sub(self.started.elapsed());
        // No other lease will come. Checked after the attempt: a close from here on ends the pause
        // that follows.
        if shared.phase.lock().closing {
            return Err(error);
        }
        let limit = match error {
            // The keeper replaces what is over, and what a copy of this process has too.
            GenerateError::Copied | GenerateError::LeaseOver { .. } | GenerateError::Closed => left,
            _ => match error.retry_in_ms().map(Duration::from_millis) {
                // To the beginning of the tick, not of the millisecond after.
                Some(wait) if wait <= left => wait.saturating_sub(shared.past_millisecond()),
                // The keeper is taking another node id.
                Some(_) if shared.demand.as_ref().is_some_and(Demand::can_take) => left,
                _ => return Err(error),
            },
        };
        // One attempt at least, and the last one when the time is up.
        if left.is_zero() {
            return Err(error);
        }
        Ok(ControlFlow::Continue(Pause { limit, replaced }))
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::handle::keeper::tests::slow;
    use crate::handle::{Handle, HandleOwner};

    #[test]
    fn wait_for_another_lease_does_not_spin() {
        let (keeper, _) = slow(2..=2);
        // No keeper is at work that its drop could wait for.
        keeper.shared.phase.change(|phase| phase.ended = true);
        let handle = Handle(Arc::new(HandleOwner(Arc::clone(&keeper.shared))));
        let mut tries = 0;
        let refused = handle.retry(Duration::from_millis(20), || {
            tries += 1;
            Err::<(), _>(GenerateError::Closed)
        });
        assert_eq!(refused, Err(GenerateError::Closed));
        // One, and one when the time is up.
        assert!((1..=3).contains(&tries), "{tries}");
    }
}
