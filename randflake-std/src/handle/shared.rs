//! State that the threads of a handle share with its keeper.

use core::sync::atomic::{AtomicU64, Ordering};
use core::time::Duration;

use randflake_core::internal::Run;
use randflake_core::{AnyLayout, Clock, Codec, GenerateError, Id, Permutation};
use randflake_lease::unstable::ForkGuard;
use randflake_lease::unstable::clock::{AnchoredClock, MonotonicTime, is_coarse};
use randflake_lease::{KeyCheck, StoreError};

use super::blocks::ThreadBlocks;
use super::elastic::NodeIdCount;
use super::issuer::Issuer;
use super::per_thread::Stamp;
use super::phase::{Demand, PhaseCell};
use super::slots::Slots;
use crate::generation::Generation;
use crate::observability::metrics::UsageTally;

const NANOS_PER_MS: u32 = 1_000_000;

/// A method of [`Issuer`] that takes a run: the most ids, and the tolerance.
type TakeRun<L> = fn(&Issuer<L>, u32, u32) -> Result<Run<L>, GenerateError>;

#[derive(Debug)]
pub(super) struct SharedHandle<L: AnyLayout, P: Permutation + Send + Sync + 'static> {
    pub(super) slots: Slots<Issuer<L>>,
    pub(super) codec: Box<Codec<L, P>>,
    pub(super) tolerance: u32,
    pub(super) fork_guard: ForkGuard,
    pub(super) generation: Generation,
    pub(super) tally: UsageTally,
    /// Clock of the whole handle, as far ahead as the furthest issuer.
    pub(super) clock: AnchoredClock<L>,
    /// Index of the slot that issued last, with which the next call begins.
    cursor: AtomicU64,
    /// Demand of the callers of an elastic handle.
    pub(super) demand: Option<Demand>,
    blocks: ThreadBlocks,
    /// Whether threads have blocks: not without encryption, and not where a fork check costs more
    /// than an encryption.
    has_blocks: bool,
    /// Number of leases closed for issuing; a change drops every thread block.
    closed: AtomicU64,
    /// State that callers and keeper exchange.
    pub(super) phase: PhaseCell,
}

impl<L: AnyLayout, P: Permutation + Send + Sync + 'static> SharedHandle<L, P> {
    pub(super) fn new(
        issuers: Vec<Issuer<L>>,
        count: NodeIdCount,
        codec: Box<Codec<L, P>>,
        tolerance: u32,
        generation: Generation,
        (now, sent): (Duration, MonotonicTime),
    ) -> Self {
        let fork_guard = ForkGuard::new();
        let is_plain = KeyCheck::of(codec.permutation()) == KeyCheck::Plain;
        let has_blocks = !is_plain && fork_guard.is_cheap();
        let most = usize::try_from(count.most).unwrap_or(usize::MAX);
        let is_elastic = count.is_elastic();
        Self {
            clock: AnchoredClock::new(codec.layout(), now, sent),
            blocks: ThreadBlocks::new(),
            closed: AtomicU64::new(0),
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
            tally: UsageTally::new(),
            cursor: AtomicU64::new(0),
            phase: PhaseCell::new(),
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
        // Read once for the take and the refill: two readings could lie in two ticks.
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
            // After the id was taken: a machine that was copied in between has another number by
            // then. The id is dropped, and the slow path says why.
            if issuer.is_of(self.generation.now()) {
                self.tally.issued(1);
                return Ok(id);
            }
        }
        self.generate_from_any()
    }

    /// Takes the first id of a new block.
    #[inline(never)]
    fn generate_for(&self, now_ns: u64) -> Result<Id, GenerateError> {
        if !self.has_blocks {
            return self.generate_one();
        }
        // A child forked in the middle of a block comes here, since its block is not valid.
        self.check_process()?;
        let tick = self
            .codec
            .layout()
            .spec()
            .tick_at(Duration::from_nanos(now_ns));
        let first = tick.and_then(|tick| {
            self.blocks.refill(tick, |thread_block| {
                let slots = self.slots.read();
                let issuer = slots.value(self.last_used())?;
                // Before anything is taken: a block of a lease that is closed meanwhile is dropped.
                let stamp = self.stamp();
                if !issuer.is_of(stamp.generation) {
                    return None;
                }
                let Issuer {
                    sequencer, budget, ..
                } = issuer;
                thread_block.stamp = stamp;
                let id = thread_block
                    .block
                    .refill(sequencer, budget, &self.codec, now_ns)
                    .ok()?;
                // Counted by the block: an atomic addition for each id would cost as much as the
                // id.
                self.tally.issued(thread_block.handed_out_since());
                // Ids reserved after a lease was closed are dropped with the block.
                self.is_valid(stamp).then_some(id)
            })
        });
        match first {
            Some(id) => Ok(id),
            // Slow path: tries every slot, borrows within the tolerance, and returns the reason if
            // none has an id.
            None => self.generate_from_any(),
        }
    }

    #[inline]
    fn stamp(&self) -> Stamp {
        Stamp {
            // Acquire, with the addition in `close_issuer`: who sees the new number also sees the
            // closed sequencer.
            closed: self.closed.load(Ordering::Acquire),
            generation: self.generation.now(),
        }
    }

    /// Whether ids taken under a stamp may be handed out: in this process, if no lease was closed
    /// and the machine was not copied since.
    #[inline]
    fn is_valid(&self, taken: Stamp) -> bool {
        self.stamp() == taken && self.fork_guard.is_surely_parent()
    }

    /// Stops issuing from a lease, and returns the first unused tick; `None` if it was closed
    /// before.
    pub(super) fn close_issuer(&self, issuer: &Issuer<L>) -> Option<u64> {
        let unused_from = issuer.sequencer.close();
        // After the close: a block that is taken in between has the old number and is dropped.
        self.closed.fetch_add(1, Ordering::AcqRel);
        unused_from
    }

    /// Stops issuing from a lease that somebody else has too.
    pub(super) fn lose(&self, issuer: &Issuer<L>) {
        self.close_issuer(issuer);
        // Issuing has already stopped: this makes the remaining time zero, for health and metrics.
        issuer.is_lost.store(true, Ordering::Release);
    }

    /// Uses the exact clock, since only that can say that no slot has an id: by the coarse one a
    /// tick would begin some milliseconds late.
    #[cold]
    fn generate_from_any(&self) -> Result<Id, GenerateError> {
        let id = self
            .unless_copied(|generation| {
                let raw = match self.first_ready(generation, Issuer::take) {
                    Err(_) if is_coarse(self.codec.layout()) => {
                        self.first_ready(generation, Issuer::take_exactly)
                    }
                    raw => raw,
                };
                raw.map(|raw| self.codec.id(raw))
            })
            .inspect_err(|error| self.refused(*error))?;
        self.tally.issued(1);
        Ok(id)
    }

    /// Counts a refused call, and notifies the keeper if the tick is exhausted.
    #[cold]
    fn refused(&self, error: GenerateError) {
        self.tally.refused(error);
        if let GenerateError::SequenceExhausted { .. } = error {
            self.notify_of_demand();
        }
    }

    /// Notifies the keeper of an elastic handle that a tick is exhausted.
    #[cold]
    fn notify_of_demand(&self) {
        if self.demand.as_ref().is_some_and(Demand::ran_out) {
            self.phase.wake_for_demand();
        }
    }

    /// Returns what `take` gave, unless the generation changed meanwhile.
    fn unless_copied<T>(
        &self,
        take: impl FnOnce(u64) -> Result<T, GenerateError>,
    ) -> Result<T, GenerateError> {
        let generation = self.generation.now();
        // Issuers of another generation are passed over by `first_ready`; a copy between there and
        // here by what follows.
        let taken = take(generation);
        let is_copied = match &taken {
            Ok(_) => self.generation.now() != generation,
            // Those that were left out might have had an id.
            Err(_) => self.has_other_than(generation),
        };
        if is_copied && self.phase.report_copy(self.generation.now()) {
            return Err(GenerateError::Copied);
        }
        taken
    }

    /// Whether some lease was requested in another generation than this.
    fn has_other_than(&self, generation: u64) -> bool {
        let slots = self.slots.read();
        let mut issuers = slots.values();
        issuers.any(|issuer| !issuer.is_of(generation))
    }

    /// Index of the slot that issued last.
    #[inline]
    pub(super) fn last_used(&self) -> usize {
        // A hint: whichever slot it names, the issuer there decides.
        usize::try_from(self.cursor.load(Ordering::Acquire)).unwrap_or(usize::MAX)
    }

    /// Fills a buffer from the front, from one slot after another.
    pub(super) fn fill(&self, ids: &mut [Id]) -> Result<usize, GenerateError> {
        self.check_process()?;
        let count = self
            .unless_copied(|generation| {
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
            })
            .inspect_err(|error| self.refused(*error))?;
        // A short buffer is no error, so `refused` is not called for it.
        if count < ids.len() {
            self.notify_of_demand();
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
        slots.first_ready_within(&self.cursor, self.tolerance, |issuer, tolerance| {
            let issuer = issuer.filter(|issuer| issuer.is_of(generation));
            let answer = ask(issuer.ok_or(GenerateError::Closed)?, tolerance);
            if tolerance > 0 && answer.is_ok() {
                // The id is borrowed from a later tick: this one is exhausted, though no call was
                // refused.
                self.notify_of_demand();
            }
            answer
        })
    }

    /// Part of the current millisecond that has passed: waits are given in whole ones, rounded up.
    pub(super) fn past_millisecond(&self) -> Duration {
        let now = self.clock.exact().now();
        Duration::from_nanos(now.map_or(0, |now| u64::from(now.subsec_nanos() % NANOS_PER_MS)))
    }

    /// Asks the keeper to release the leases. `false` in a forked child: they are the parent's.
    pub(super) fn begin_close(&self) -> bool {
        let is_ours = !self.fork_guard.is_in_child();
        if is_ours {
            self.phase.change(|phase| phase.closing = true);
        }
        is_ours
    }

    /// Result of the release; only the first caller gets the error.
    pub(super) fn end_close(&self) -> Result<(), StoreError> {
        if self.fork_guard.is_in_child() {
            return Ok(());
        }
        // The keeper has closed them, unless a panic in the store has ended it.
        for issuer in self.slots.read().values() {
            self.close_issuer(issuer);
        }
        self.phase.lock().release_error.take().map_or(Ok(()), Err)
    }
}

// On keepers that are not at work, and stores whose clock stands still.
#[cfg(test)]
mod tests {
    use core::ops::ControlFlow;
    use std::sync::Arc;

    use super::*;
    use crate::handle::id_wait::IdWait;
    use crate::handle::keeper::tests::{AtRest, Slow, slow};
    use crate::handle::{Handle, HandleOwner};

    /// All ids of the tick.
    const OF_TWO: usize = 8;

    fn has_run_out(keeper: &AtRest<Slow>) -> bool {
        keeper.shared.demand.as_ref().unwrap().has_run_out()
    }

    fn issue_all(keeper: &AtRest<Slow>) {
        let mut ids = [Id::from_u64(0); OF_TWO];
        assert_eq!(keeper.shared.fill(&mut ids), Ok(OF_TWO));
        assert!(!has_run_out(keeper));
    }

    #[test]
    fn keeper_is_notified_of_an_exhausted_tick() {
        let (keeper, _) = slow(1..=8);
        issue_all(&keeper);
        let refused = keeper.shared.generate();
        let Err(GenerateError::SequenceExhausted { .. }) = refused else {
            panic!("{refused:?}");
        };
        assert!(has_run_out(&keeper));
    }

    #[test]
    fn keeper_is_notified_of_a_borrowed_id() {
        let (mut keeper, _) = slow(1..=8);
        Arc::get_mut(&mut keeper.shared).unwrap().tolerance = 1;
        issue_all(&keeper);
        keeper.shared.generate().unwrap();
        assert!(has_run_out(&keeper));
    }

    #[test]
    fn one_lease_of_another_generation_may_have_had_an_id() {
        let (keeper, _) = slow(1..=8);
        assert!(!keeper.shared.has_other_than(0));
        assert!(keeper.shared.has_other_than(1));
        let sent = MonotonicTime::exact();
        let acquired = randflake_lease::Acquisition {
            grants: vec![keeper.leases[1].grant],
            last_writes: Vec::new(),
            now: Duration::from_secs(keeper.leases[1].grant.start),
        };
        let later = Issuer::of_all(Slow, &acquired, sent, 1).unwrap();
        for issuer in later {
            keeper.shared.slots.replace(1, issuer);
        }
        assert!(keeper.shared.has_other_than(0) && keeper.shared.has_other_than(1));
    }

    /// As after a keeper that has ended in a panic.
    #[test]
    fn close_stops_leases_that_the_keeper_left_open() {
        let (keeper, _) = slow(1..=8);
        keeper.shared.generate().unwrap();
        keeper.shared.end_close().unwrap();
        assert_eq!(keeper.shared.generate(), Err(GenerateError::Closed));
    }

    #[test]
    fn a_part_of_a_millisecond_has_passed() {
        let (keeper, _) = slow(1..=8);
        let parts: Vec<_> = (0..1_000)
            .map(|_| keeper.shared.past_millisecond())
            .collect();
        let ms = Duration::from_millis(1);
        assert!(parts.iter().all(|part| *part < ms));
        assert!(parts.iter().any(|part| *part >= ms / 1_000));
    }

    #[test]
    fn wait_goes_on_while_a_node_id_can_be_taken() {
        let (keeper, _) = slow(1..=8);
        issue_all(&keeper);
        let limit = Duration::from_secs(60);
        let attempt = || IdWait::new(&keeper.shared, limit).attempt(|| keeper.shared.generate());
        keeper.shared.demand.as_ref().unwrap().set_can_take(true);
        let Ok(ControlFlow::Continue(pause)) = attempt() else {
            panic!("another node id may come");
        };
        assert!(pause.limit > limit / 2);
        keeper.shared.demand.as_ref().unwrap().set_can_take(false);
        assert!(attempt().is_err(), "the tick lasts longer");
    }

    #[test]
    fn status_has_the_lease_that_lasts_longest() {
        let (keeper, _) = slow(2..=2);
        let handle = Handle(Arc::new(HandleOwner(Arc::clone(&keeper.shared))));
        keeper
            .shared
            .lose(keeper.shared.slots.read().value(1).unwrap());
        assert!(handle.lease().remaining > Duration::ZERO);
        assert!(handle.health().is_ready());
        // Its drop would wait for the keeper, which does not run here.
        keeper.shared.phase.change(|phase| phase.ended = true);
    }
}
