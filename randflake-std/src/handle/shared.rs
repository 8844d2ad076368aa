//! What a handle's threads share with its keeper.

use core::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use core::time::Duration;
use std::io;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use randflake_core::{
    AnyLayout, Clock, Codec, ExtendError, GenerateError as Refusal, Id, Lease, LeaseError, Run,
    Sequencer, first_ready_within,
};

use super::pulse::Pulse;
use super::slot::Slot;
use crate::clock::{AnchoredClock, Monotonic, is_coarse};
use crate::error::GenerateError;
use crate::fork_guard::ForkGuard;
use crate::generation::Generation;
use crate::lease::{Grant, StoreError};
use crate::observability::figures::Tally;

const NANOS_PER_MS: u32 = 1_000_000;

/// A grant at work: its positions, and the clock of the store that granted it.
#[derive(Debug)]
pub(super) struct Issuer<L: AnyLayout> {
    pub(super) sequencer: Sequencer<L, AtomicU64>,
    pub(super) clock: AnchoredClock<L>,
    /// The generation number before the lease was asked for.
    generation: u64,
    is_lost: AtomicBool,
}

/// One of the ways of an [`Issuer`] to take a run: how many at most, and the tolerance.
type TakeRun<L> = fn(&Issuer<L>, u32, u32) -> Result<Run<L>, Refusal>;

impl<L: AnyLayout> Issuer<L> {
    /// The issuer of a grant from a store that answered `now` to a request sent at `sent`.
    pub(super) fn new(
        layout: L,
        grant: &Grant,
        now: Duration,
        sent: Monotonic,
        generation: u64,
    ) -> Result<Self, LeaseError> {
        Ok(Self {
            sequencer: Sequencer::new(grant.lease_of(layout)?)?,
            clock: AnchoredClock::new(layout, now, sent),
            generation,
            is_lost: AtomicBool::new(false),
        })
    }

    /// Whether the lease was asked for in this generation. A lease of an earlier one may be a copy's too.
    #[inline]
    pub(super) fn is_of(&self, generation: u64) -> bool {
        self.generation == generation
    }

    #[inline]
    fn take(&self, tolerance: u32) -> Result<u64, Refusal> {
        self.sequencer.take(&self.clock, tolerance)
    }

    fn take_exactly(&self, tolerance: u32) -> Result<u64, Refusal> {
        self.sequencer.take(&self.clock.exact(), tolerance)
    }

    fn take_run(&self, most: u32, tolerance: u32) -> Result<Run<L>, Refusal> {
        self.sequencer.take_run(most, &self.clock, tolerance)
    }

    fn take_run_exactly(&self, most: u32, tolerance: u32) -> Result<Run<L>, Refusal> {
        self.sequencer
            .take_run(most, &self.clock.exact(), tolerance)
    }

    pub(super) fn extend(&self, extended: Lease<L>) -> Result<(), ExtendError> {
        self.sequencer.extend(extended, &self.clock)
    }

    /// How long until the lease begins by its own clock; zero when it has.
    pub(super) fn begins_in(&self) -> Duration {
        let lease = self.sequencer.lease();
        let start = Duration::from_millis(lease.layout().spec().unix_ms(lease.start()));
        start.saturating_sub(self.clock.exact().now().unwrap_or_default())
    }

    /// Issues nothing more: the lease is another's too.
    pub(super) fn lose(&self) {
        self.sequencer.seal();
        self.is_lost.store(true, Ordering::Release);
    }

    /// How long until the lease ends by its own clock; zero when it is lost.
    pub(super) fn remaining(&self) -> Duration {
        if self.is_lost.load(Ordering::Acquire) {
            return Duration::ZERO;
        }
        let lease = self.sequencer.lease();
        let end = Duration::from_millis(lease.layout().spec().unix_ms(lease.end()));
        end.saturating_sub(self.clock.now().unwrap_or_default())
    }
}

#[derive(Debug)]
pub(super) struct Shared<L: AnyLayout> {
    pub(super) slots: Box<[Slot<Issuer<L>>]>,
    pub(super) codec: Codec<L>,
    pub(super) tolerance: u32,
    pub(super) fork_guard: ForkGuard,
    pub(super) generation: Generation,
    pub(super) tally: Tally,
    /// The slot that issued last.
    cursor: AtomicU64,
    /// Runs as soon as somebody prefetches.
    pulse: Mutex<Option<Arc<Pulse>>>,
    phase: Mutex<Phase>,
    changed: Condvar,
}

/// What a buffer was filled with.
#[derive(Clone, Copy, Debug)]
pub(super) struct Filled {
    /// How many ids, from the front.
    pub(super) count: usize,
    /// How long until the first of their leases ends.
    pub(super) remaining: Duration,
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
    /// How many leases were lost to copies of the process.
    pub(super) contested: u64,
    /// The keeper shall look at the generation number.
    copied: bool,
    /// The last generation of which it was told.
    told_of: Option<u64>,
    /// Why the last call of the store failed, until one succeeds.
    pub(super) last_error: Option<Arc<StoreError>>,
}

impl<L: AnyLayout> Shared<L> {
    pub(super) fn new(
        issuers: Vec<Issuer<L>>,
        codec: Codec<L>,
        tolerance: u32,
        generation: Generation,
    ) -> Self {
        Self {
            slots: issuers.into_iter().map(Slot::new).collect(),
            codec,
            tolerance,
            fork_guard: ForkGuard::new(),
            generation,
            tally: Tally::new(),
            cursor: AtomicU64::new(0),
            pulse: Mutex::default(),
            phase: Mutex::default(),
            changed: Condvar::new(),
        }
    }

    /// The next id, of the first slot that has one.
    #[inline]
    pub(super) fn generate(&self) -> Result<Id, GenerateError> {
        self.check_process()?;
        // Most calls need no other slot than the one that issued last.
        if let Some(issuer) = self.last_used()
            && let Ok(raw) = issuer.take(0)
        {
            let id = self.codec.id(raw);
            if issuer.is_of(self.generation.now()) {
                self.tally.issued(1);
                return Ok(id);
            }
        }
        self.generate_from_any()
    }

    /// Only the exact clock says that no slot has an id: by the coarse one, which is late, a tick would
    /// begin some milliseconds after its time.
    #[cold]
    fn generate_from_any(&self) -> Result<Id, GenerateError> {
        let id = self.unless_copied(|generation| {
            let raw = match self.first_ready(generation, Issuer::take) {
                Err(_) if is_coarse(self.codec.layout()) => {
                    self.first_ready(generation, Issuer::take_exactly)
                }
                raw => raw,
            };
            raw.map(|raw| self.codec.id(raw))
        });
        let id = id.inspect_err(|error| self.tally.refused(*error))?;
        self.tally.issued(1);
        Ok(id)
    }

    /// What was taken in one generation; nothing if that ended before this returns.
    fn unless_copied<T>(
        &self,
        take: impl FnOnce(u64) -> Result<T, GenerateError>,
    ) -> Result<T, GenerateError> {
        let generation = self.generation.now();
        let taken = take(generation);
        let is_copied = match &taken {
            Ok(_) => self.generation.now() != generation,
            // Those that were left out might have had an id.
            Err(_) => !self.slots.iter().all(|slot| slot.get().is_of(generation)),
        };
        if is_copied && self.tell_of_copy() {
            return Err(GenerateError::Copied);
        }
        taken
    }

    #[inline]
    fn last_used(&self) -> Option<&Issuer<L>> {
        let index = usize::try_from(self.cursor.load(Ordering::Acquire)).ok()?;
        self.slots.get(index).map(Slot::get)
    }

    /// Fills a buffer from the front, from one slot after another.
    pub(super) fn fill(&self, ids: &mut [Id]) -> Result<Filled, GenerateError> {
        self.check_process()?;
        let mut remaining = Duration::MAX;
        let count = self.unless_copied(|generation| {
            self.codec.fill_with(ids, |most| {
                let mut ask = |take: TakeRun<L>| {
                    self.first_ready(generation, |issuer, tolerance| {
                        let run = take(issuer, most, tolerance)?;
                        remaining = remaining.min(issuer.remaining());
                        Ok(run)
                    })
                };
                match ask(Issuer::take_run) {
                    Err(_) if is_coarse(self.codec.layout()) => ask(Issuer::take_run_exactly),
                    run => run,
                }
            })
        });
        let count = count.inspect_err(|error| self.tally.refused(*error))?;
        self.tally.issued(count);
        Ok(Filled { count, remaining })
    }

    #[inline]
    fn check_process(&self) -> Result<(), GenerateError> {
        if self.fork_guard.is_in_child() {
            return Err(GenerateError::InForkedChild);
        }
        Ok(())
    }

    #[inline]
    fn first_ready<T>(
        &self,
        generation: u64,
        mut ask: impl FnMut(&Issuer<L>, u32) -> Result<T, Refusal>,
    ) -> Result<T, GenerateError> {
        first_ready_within(
            &self.slots,
            &self.cursor,
            self.tolerance,
            |slot, tolerance| {
                let issuer = slot.get();
                if issuer.is_of(generation) {
                    ask(issuer, tolerance)
                } else {
                    Err(Refusal::Sealed)
                }
            },
        )
        .map_err(GenerateError::Refused)
    }

    /// How much of its millisecond is over: waits are told in whole ones, rounded up.
    pub(super) fn past_millisecond(&self) -> Duration {
        let now = self
            .slots
            .first()
            .and_then(|slot| slot.get().clock.exact().now());
        Duration::from_nanos(now.map_or(0, |now| u64::from(now.subsec_nanos() % NANOS_PER_MS)))
    }

    /// The pulse for prefetched blocks; the first call starts it.
    pub(super) fn pulse(&self) -> Result<Arc<Pulse>, io::Error> {
        let mut pulse = self.pulse.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(pulse) = &*pulse {
            return Ok(Arc::clone(pulse));
        }
        Ok(Arc::clone(pulse.insert(Pulse::start()?)))
    }

    /// Tells the keeper to release the leases, and lets prefetched blocks expire.
    pub(super) fn close(&self) {
        self.change(|phase| phase.closing = true);
        if let Some(pulse) = &*self.pulse.lock().unwrap_or_else(PoisonError::into_inner) {
            pulse.end();
        }
    }

    /// Wakes the keeper, the first time that somebody finds that this generation is another one. Says whether there
    /// will be other leases: not when the handle is being closed.
    fn tell_of_copy(&self) -> bool {
        let generation = self.generation.now();
        let mut phase = self.phase();
        if phase.told_of != Some(generation) {
            phase.told_of = Some(generation);
            phase.copied = true;
            self.changed.notify_all();
        }
        !phase.closing
    }

    /// The keeper's pause, which a copy of the machine cuts short. Says whether the handle is being closed.
    pub(super) fn pause(&self, time: Duration) -> bool {
        self.wait_until(time, |phase| phase.closing || phase.copied);
        let mut phase = self.phase();
        phase.copied = false;
        phase.closing
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
