//! What a handle's threads share with its keeper.

use core::sync::atomic::AtomicU64;
use core::time::Duration;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use randflake_core::{
    Clock, Codec, ExtendError, GenerateError, Layout, Lease, LeaseError, Sequencer, first_ready,
};

use super::slot::Slot;
use crate::clock::{AnchoredClock, Monotonic};
use crate::fork_guard::ForkGuard;
use crate::lease::{Grant, StoreError};

/// A grant at work: its positions, and the clock of the store that granted it.
#[derive(Debug)]
pub(super) struct Issuer<L: Layout> {
    pub(super) sequencer: Sequencer<L, AtomicU64>,
    pub(super) clock: AnchoredClock<L>,
}

impl<L: Layout> Issuer<L> {
    /// The issuer of a grant from a store that answered `now` to a request sent at `sent`.
    pub(super) fn new(grant: &Grant, now: Duration, sent: Monotonic) -> Result<Self, LeaseError> {
        Ok(Self {
            sequencer: Sequencer::new(grant.lease()?)?,
            clock: AnchoredClock::new(now, sent),
        })
    }

    pub(super) fn extend(&self, extended: Lease<L>) -> Result<(), ExtendError> {
        self.sequencer.extend(extended, &self.clock)
    }

    /// How long until the lease ends by its own clock.
    pub(super) fn remaining(&self) -> Duration {
        let end = Duration::from_millis(L::SPEC.unix_ms(self.sequencer.lease().end()));
        end.saturating_sub(self.clock.now().unwrap_or_default())
    }
}

#[derive(Debug)]
pub(super) struct Shared<L: Layout> {
    pub(super) slots: Box<[Slot<Issuer<L>>]>,
    pub(super) codec: Codec<L>,
    pub(super) tolerance: u32,
    pub(super) fork_guard: ForkGuard,
    /// The slot that issued last.
    cursor: AtomicU64,
    phase: Mutex<Phase>,
    changed: Condvar,
}

/// How far the keeper is; every change wakes those who wait for one.
#[derive(Debug, Default)]
pub(super) struct Phase {
    /// The handle is being closed: the keeper shall release everything and end.
    pub(super) closing: bool,
    /// The keeper has ended.
    pub(super) ended: bool,
    /// Why it could not release the leases.
    pub(super) release_error: Option<StoreError>,
    /// How many issuers the keeper has put in place of others.
    pub(super) replaced: u64,
    /// Why the last call of the store failed, until one succeeds.
    pub(super) last_error: Option<String>,
}

impl<L: Layout> Shared<L> {
    pub(super) fn new(issuers: Vec<Issuer<L>>, codec: Codec<L>, tolerance: u32) -> Self {
        Self {
            slots: issuers.into_iter().map(Slot::new).collect(),
            codec,
            tolerance,
            fork_guard: ForkGuard::new(),
            cursor: AtomicU64::new(0),
            phase: Mutex::default(),
            changed: Condvar::new(),
        }
    }

    /// The next raw id, of the first slot that has one.
    #[inline]
    pub(super) fn take(&self) -> Result<u64, GenerateError> {
        first_ready(&self.slots, &self.cursor, |slot| {
            let issuer = slot.get();
            issuer.sequencer.take(&issuer.clock, self.tolerance)
        })
    }

    pub(super) fn phase(&self) -> MutexGuard<'_, Phase> {
        // No code panics while it holds the lock; if it did, the phase would still be whole.
        self.phase.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn change(&self, change: impl FnOnce(&mut Phase)) {
        change(&mut self.phase());
        self.changed.notify_all();
    }

    /// Waits until the phase is as wanted, and says whether it is; `false` when the time is up first.
    pub(super) fn wait_until(&self, time_limit: Duration, wanted: impl Fn(&Phase) -> bool) -> bool {
        let (phase, _) = self
            .changed
            .wait_timeout_while(self.phase(), time_limit, |phase| !wanted(phase))
            .unwrap_or_else(PoisonError::into_inner);
        wanted(&phase)
    }
}

/// The time limit of a wait, and how much of it is left.
#[derive(Clone, Copy, Debug)]
pub(super) struct Deadline {
    started: Instant,
    limit: Duration,
}

impl Deadline {
    pub(super) fn after(limit: Duration) -> Self {
        Self {
            started: Instant::now(),
            limit,
        }
    }

    pub(super) fn left(&self) -> Duration {
        self.limit.saturating_sub(self.started.elapsed())
    }
}
