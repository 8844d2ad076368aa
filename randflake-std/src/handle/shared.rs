//! What a handle's threads share with its keeper.

use core::mem;
use core::sync::atomic::{AtomicU64, Ordering};
use core::time::Duration;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};

use randflake_core::internal::{Run, first_ready_within};
use randflake_core::{AnyLayout, Clock, Codec, GenerateError, Id, Permutation};

use super::blocks::{Blocks, Stamp};
use super::demand::Demand;
use super::elastic::NodeIdCount;
use super::issuer::Issuer;
use super::phase::{Phase, Wake};
use super::slots::{Reading, Slot, Slots};
use super::tasks::Tasks;
use crate::clock::{AnchoredClock, Monotonic, is_coarse};
use crate::fork_guard::ForkGuard;
use crate::generation::Generation;
use crate::observability::metrics::Tally;
use crate::vocabulary::{Seal, StoreError};

const NANOS_PER_MS: u32 = 1_000_000;

/// One of the ways of an [`Issuer`] to take a run: how many at most, and the tolerance.
type TakeRun<L> = fn(&Issuer<L>, u32, u32) -> Result<Run<L>, GenerateError>;

#[derive(Debug)]
pub(super) struct Shared<L: AnyLayout, P: Permutation + Send + Sync + 'static> {
    pub(super) slots: Slots<Issuer<L>>,
    pub(super) codec: Codec<L, P>,
    pub(super) tolerance: u32,
    pub(super) fork_guard: ForkGuard,
    pub(super) generation: Generation,
    pub(super) tally: Tally,
    /// The clocks of all issuers in one, as far ahead as the furthest.
    pub(super) clock: AnchoredClock<L>,
    /// The slot that issued last.
    cursor: AtomicU64,
    /// What an elastic handle's callers tell its keeper.
    pub(super) demand: Option<Demand>,
    blocks: Blocks,
    /// Not where there is nothing to encrypt, nor where looking for a fork costs more than encrypting.
    has_blocks: bool,
    /// How often a lease was sealed: every block is dropped then.
    seals: AtomicU64,
    phase: Mutex<Phase>,
    changed: Condvar,
    /// They wait for a change of the phase, as threads do for `changed`.
    pub(super) tasks: Tasks,
}

impl<L: AnyLayout, P: Permutation + Send + Sync + 'static> Shared<L, P> {
    pub(super) fn new(
        issuers: Vec<Issuer<L>>,
        count: NodeIdCount,
        codec: Codec<L, P>,
        tolerance: u32,
        generation: Generation,
        (now, sent): (Duration, Monotonic),
    ) -> Self {
        let fork_guard = ForkGuard::new();
        let is_plain = Seal::of(codec.permutation()) == Seal::Plain;
        let has_blocks = !is_plain && fork_guard.is_cheap();
        let most = usize::try_from(count.most).unwrap_or(usize::MAX);
        let is_elastic = count.is_elastic();
        Self {
            clock: AnchoredClock::new(codec.layout(), now, sent),
            blocks: Blocks::new(),
            seals: AtomicU64::new(0),
            slots: if is_elastic {
                Slots::changing(issuers, most)
            } else {
                Slots::lasting(issuers)
            },
            demand: is_elastic.then(Demand::new),
            codec,
            tolerance,
            has_blocks,
            fork_guard,
            generation,
            tally: Tally::new(),
            cursor: AtomicU64::new(0),
            phase: Mutex::default(),
            changed: Condvar::new(),
            tasks: Tasks::new(),
        }
    }

    /// The next id, of the first slot that has one.
    #[expect(
        clippy::inline_always,
        reason = "a call and its return value in memory would cost a tenth of an id"
    )]
    #[inline(always)]
    pub(super) fn generate(&self) -> Result<Id, GenerateError> {
        if !P::PERMUTES {
            return self.generate_one();
        }
        let now_ns = self.clock.now_ns();
        match self.blocks.take(now_ns, |stamp| self.is_valid(stamp)) {
            Some(id) => Ok(id),
            None => self.generate_for(now_ns),
        }
    }

    #[inline]
    fn generate_one(&self) -> Result<Id, GenerateError> {
        self.check_process()?;
        // Most calls need no other slot than the one that issued last.
        if let Some(issuer) = self.slots.get_lasting(self.last_used())
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

    /// The first id of another block.
    #[inline(never)]
    fn generate_for(&self, now_ns: u64) -> Result<Id, GenerateError> {
        if !self.has_blocks {
            return self.generate_one();
        }
        self.check_process()?;
        let tick = self
            .codec
            .layout()
            .spec()
            .tick_at(Duration::from_nanos(now_ns));
        let first = tick.and_then(|tick| {
            self.blocks.refill(tick, |mine| {
                let slots = self.slots.read();
                let issuer = slots.get(self.last_used())?.get()?;
                // Before anything is taken: what is sealed or copied meanwhile is dropped.
                let stamp = self.stamp();
                if !issuer.is_of(stamp.generation) {
                    return None;
                }
                let Issuer {
                    sequencer, held, ..
                } = issuer;
                mine.stamp = stamp;
                let id = mine
                    .block
                    .refill(sequencer, held, &self.codec, now_ns)
                    .ok()?;
                self.tally.issued(mine.handed_out_since());
                self.is_valid(stamp).then_some(id)
            })
        });
        match first {
            Some(id) => Ok(id),
            // It knows more slots, borrows, and says why there is none.
            None => self.generate_from_any(),
        }
    }

    #[inline]
    fn stamp(&self) -> Stamp {
        Stamp {
            seals: self.seals.load(Ordering::Acquire),
            generation: self.generation.now(),
        }
    }

    /// Whether ids may be handed out that were taken under a stamp: by this process, and if none of its leases was
    /// sealed nor the machine copied since.
    #[inline]
    fn is_valid(&self, taken: Stamp) -> bool {
        self.stamp() == taken && self.fork_guard.is_surely_parent()
    }

    /// Ends issuing from a lease, and gives the tick from which on it was not used, unless it was sealed before.
    pub(super) fn seal(&self, issuer: &Issuer<L>) -> Option<u64> {
        let unused_from = issuer.sequencer.seal();
        // After that: a block that is taken in between has the number of before.
        self.seals.fetch_add(1, Ordering::AcqRel);
        unused_from
    }

    /// Issues nothing more from a lease: it is another's, too.
    pub(super) fn lose(&self, issuer: &Issuer<L>) {
        self.seal(issuer);
        issuer.is_lost.store(true, Ordering::Release);
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
        let id = id.inspect_err(|error| self.refused(*error))?;
        self.tally.issued(1);
        Ok(id)
    }

    /// Notes a refusal.
    #[cold]
    fn refused(&self, error: GenerateError) {
        self.tally.refused(error);
        if let GenerateError::SequenceExhausted { .. } = error {
            self.tell_of_demand();
        }
    }

    /// Wakes the keeper of an elastic handle: a tick ran out.
    #[cold]
    fn tell_of_demand(&self) {
        if self.demand.as_ref().is_some_and(Demand::ran_out) {
            // Under the lock, if that takes no waiting: then the keeper waits already, or has not looked yet. Else it
            // may miss this, and looks a tenth of a second later.
            drop(self.phase.try_lock());
            self.changed.notify_all();
        }
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
            Err(_) => self.has_other_than(generation),
        };
        if is_copied && self.tell_of_copy() {
            return Err(GenerateError::Copied);
        }
        taken
    }

    /// Whether a lease is of another generation.
    fn has_other_than(&self, generation: u64) -> bool {
        let slots = self.slots.read();
        let mut issuers = slots.iter().filter_map(Slot::get);
        issuers.any(|issuer| !issuer.is_of(generation))
    }

    /// The slot that issued last.
    #[inline]
    pub(super) fn last_used(&self) -> usize {
        usize::try_from(self.cursor.load(Ordering::Acquire)).unwrap_or(usize::MAX)
    }

    /// Fills a buffer from the front, from one slot after another.
    pub(super) fn fill(&self, ids: &mut [Id]) -> Result<usize, GenerateError> {
        self.check_process()?;
        let count = self.unless_copied(|generation| {
            self.codec.fill_with(ids, |most| {
                let ask = |take: TakeRun<L>| {
                    self.first_ready(generation, |issuer, tolerance| {
                        take(issuer, most, tolerance)
                    })
                };
                match ask(Issuer::take_run) {
                    Err(_) if is_coarse(self.codec.layout()) => ask(Issuer::take_run_exactly),
                    run => run,
                }
            })
        });
        let count = count.inspect_err(|error| self.refused(*error))?;
        if count < ids.len() {
            self.tell_of_demand();
        }
        self.tally.issued(count as u64);
        Ok(count)
    }

    #[inline]
    pub(super) fn check_process(&self) -> Result<(), GenerateError> {
        if self.fork_guard.is_in_child() {
            return Err(GenerateError::InForkedChild);
        }
        Ok(())
    }

    #[inline]
    fn first_ready<T>(
        &self,
        generation: u64,
        mut ask: impl FnMut(&Issuer<L>, u32) -> Result<T, GenerateError>,
    ) -> Result<T, GenerateError> {
        let slots = self.slots.read();
        first_ready_within(&slots, &self.cursor, self.tolerance, |slot, tolerance| {
            let issuer = slot.get().filter(|issuer| issuer.is_of(generation));
            let answer = ask(issuer.ok_or(GenerateError::Sealed)?, tolerance);
            if tolerance > 0 && answer.is_ok() {
                self.tell_of_demand(); // It is borrowed.
            }
            answer
        })
    }

    /// How much of its millisecond is over: waits are told in whole ones, rounded up.
    pub(super) fn past_millisecond(&self) -> Duration {
        let now = self.clock.exact().now();
        Duration::from_nanos(now.map_or(0, |now| u64::from(now.subsec_nanos() % NANOS_PER_MS)))
    }

    /// Tells the keeper to release the leases. `false` in a forked child: they are the parent's.
    pub(super) fn begin_close(&self) -> bool {
        let is_ours = !self.fork_guard.is_in_child();
        if is_ours {
            self.change(|phase| phase.closing = true);
        }
        is_ours
    }

    /// What became of the leases; the clone that asks first has the error.
    pub(super) fn end_close(&self) -> Result<(), StoreError> {
        if self.fork_guard.is_in_child() {
            return Ok(());
        }
        // The keeper has sealed them, unless a panic in the store has ended it.
        for issuer in self.read().iter().filter_map(Slot::get) {
            self.seal(issuer);
        }
        self.phase().release_error.take().map_or(Ok(()), Err)
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

    /// The keeper's pause, which a copy of the machine cuts short, and a tick that ran out if more node ids can be had.
    pub(super) fn pause(&self, time: Duration) -> Wake {
        let is_asked = || self.demand.as_ref().is_some_and(Demand::is_urgent);
        self.wait_until(time, |phase| phase.closing || phase.copied || is_asked());
        let mut phase = self.phase();
        let copied = mem::take(&mut phase.copied);
        match (phase.closing, copied) {
            (true, _) => Wake::Close,
            (false, true) => Wake::Copy,
            (false, false) => Wake::Other,
        }
    }

    /// The slots, to read while the result lives.
    pub(super) fn read(&self) -> Reading<'_, Issuer<L>> {
        self.slots.read()
    }

    pub(super) fn phase(&self) -> MutexGuard<'_, Phase> {
        // No code panics while it holds the lock; if it did, the phase would still be whole.
        self.phase.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn change(&self, change: impl FnOnce(&mut Phase)) {
        change(&mut self.phase());
        self.changed.notify_all();
        self.tasks.wake();
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
