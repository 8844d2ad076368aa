//! Sequencer: issues each position of one lease once.

use core::cmp::Ordering;
use core::marker::PhantomData;
use core::time::Duration;

use crate::state::{StepRefusal, StepTerms, max_length, step};
use crate::{
    AnyLayout, AtomicWord, Clock, ExtendError, GenerateError, LayoutSpec, Lease, LeaseError,
    Tolerance, Word,
};

/// Issues each (tick, sequence) of one lease at most once, whatever its clock shows.
///
/// The part of a [`Generator`](crate::Generator) that belongs to one lease: many sequencers can
/// share a clock and a key. One atomic word holds the next unissued position; threads and
/// interrupts may take from it concurrently.
///
/// Aligned to its own cache lines, where there are caches: a core that writes the word takes the
/// line from all others. Processors fetch lines in pairs, hence 128 bytes.
#[derive(Debug)]
#[cfg_attr(target_pointer_width = "64", repr(align(128)))]
pub struct Sequencer<L, W> {
    /// The next position not issued yet, or [`closed`].
    next: W,
    /// Number of ticks of the lease; only grows.
    length: W,
    /// The raw id of the lease's first tick and sequence 0.
    first_raw: u64,
    start: LeaseStart,
    layout: L,
}

/// When the lease starts, by which the word's tick is compared with the clock before anything else;
/// nothing on 32-bit processors, whose memory is small.
///
/// While the clock shows the word's tick, which it does for all ids of a tick but the first,
/// [`step`] issues the word's position, and that is all there is to do.
#[derive(Clone, Copy, Debug)]
struct LeaseStart([u64; Self::IS_KNOWN as usize]);

impl LeaseStart {
    const IS_KNOWN: bool = usize::BITS >= 64;

    fn of(spec: LayoutSpec, tick: u64) -> Self {
        Self([spec.begins(tick); Self::IS_KNOWN as usize])
    }

    /// Whether the tick `elapsed` ticks after the start is known to be that of the clock, or ahead
    /// of it within the tolerance.
    #[inline]
    fn allows(self, spec: LayoutSpec, elapsed: u64, tolerance: u32, now: Duration) -> bool {
        let Some(&begins) = self.0.first() else {
            return false;
        };
        spec.allows(begins, elapsed, tolerance, now)
    }
}

/// The sequence of a position.
#[inline]
#[expect(
    clippy::cast_possible_truncation,
    reason = "a sequence has at most 32 bits"
)]
fn sequence<V: Word>(spec: LayoutSpec, position: V) -> u32 {
    position.into() as u32 & spec.max_sequence()
}

/// All ones: [`max_length`] keeps every position below.
const fn closed<V: Word>() -> V {
    V::MAX
}

impl<L: AnyLayout, W: AtomicWord> Sequencer<L, W> {
    /// Creates the sequencer of a lease that nothing was issued of.
    ///
    /// One lease has one sequencer: making a second one, also after a restart or in a copy of the
    /// process, repeats ids.
    ///
    /// # Errors
    ///
    /// [`LeaseError::TooLong`] when the word cannot count the lease's ticks. A 32-bit word counts
    /// 32,767 seconds of the Randflake layout (9.1 hours).
    pub fn new(lease: Lease<L>) -> Result<Self, LeaseError> {
        let spec = lease.layout().spec();
        // Refused here, once, so that positions never wrap and all ones stay free for `closed`.
        let max = max_length::<W::Value>(spec.sequence_bits());
        if lease.ticks() > max {
            return Err(LeaseError::TooLong {
                ticks: lease.ticks(),
                max,
            });
        }
        Ok(Self {
            // Always from the first tick: what another sequencer of this lease has issued is not
            // known here. That is why a lease has one sequencer in its whole life.
            next: W::new(W::Value::low_bits_of(0)),
            length: W::new(W::Value::low_bits_of(lease.ticks())),
            first_raw: spec.pack(lease.start(), lease.node_id(), 0),
            start: LeaseStart::of(spec, lease.start()),
            layout: lease.layout(),
        })
    }

    /// Takes the next raw id, at most `tolerance` ticks ahead of the clock.
    ///
    /// # Errors
    ///
    /// As for [`Generator::generate`](crate::Generator::generate). Nothing is consumed then.
    #[inline]
    pub fn take(&self, clock: &impl Clock, tolerance: u32) -> Result<u64, GenerateError> {
        self.take_run(1, clock, tolerance).map(|run| run.first())
    }

    /// Takes up to `most` consecutive raw ids of one tick in one exchange of the word: at least
    /// one, at most what the tick has left.
    ///
    /// # Errors
    ///
    /// As for [`take`](Sequencer::take).
    #[inline]
    pub fn take_run(
        &self,
        most: u32,
        clock: &impl Clock,
        tolerance: u32,
    ) -> Result<Run<L>, GenerateError> {
        self.take_run_within(most, clock, &tolerance)
    }

    /// Takes a run as [`take_run`](Sequencer::take_run) does, with a tolerance that may be a
    /// constant.
    #[inline]
    pub(crate) fn take_run_within(
        &self,
        most: u32,
        clock: &impl Clock,
        tolerance: &impl Tolerance,
    ) -> Result<Run<L>, GenerateError> {
        let spec = self.spec();
        loop {
            // The word is read before the clock. A thread that was suspended with an old time finds
            // the word moved on by others and reads both again, so an old reading is never mistaken
            // for a clock that went back.
            let next = self.next.load();
            // A closed sequencer says so even without a clock: waiting for the clock would be in
            // vain.
            let Some(now) = clock.now() else {
                return Err(if next == closed() {
                    GenerateError::Closed
                } else {
                    GenerateError::ClockUnknown
                });
            };
            // Fast path: if the tick of the word is the tick of the clock, or within the tolerance,
            // the word itself is the position. Everything else is decided out of line by `step`.
            let mut position = next;
            let mut elapsed = next.shr(spec.sequence_bits());
            if !LeaseStart::IS_KNOWN
                // A closed word leaves the fast path here too: its tick is past every length.
                || elapsed >= self.length.load()
                || !self
                    .start
                    .allows(spec, elapsed.into(), tolerance.ticks(), now)
            {
                position = self.step(next, now, tolerance.ticks())?;
                elapsed = position.shr(spec.sequence_bits());
            }
            // A run never crosses a tick: the carry out of the sequence would be the next tick,
            // which may be ahead of the clock.
            let sequence = sequence(spec, position);
            let left = spec.max_sequence().wrapping_sub(sequence);
            // Written so that a run of one costs what one id costs.
            let beyond_first = most.saturating_sub(1).min(left);
            let after = position.advance(beyond_first).advance(1);
            // The word only grows, so success proves that it was `next` from the load on, and the
            // clock was read meanwhile. After a failure both are read again: the tick may have
            // changed too.
            if self.next.compare_exchange(next, after) {
                return Ok(Run::new(self.raw(elapsed, sequence), beyond_first));
            }
        }
    }

    /// The position to issue at whatever the clock shows.
    #[cfg_attr(target_pointer_width = "64", cold, inline(never))]
    #[cfg_attr(not(target_pointer_width = "64"), inline)]
    fn step(
        &self,
        next: W::Value,
        now: Duration,
        tolerance: u32,
    ) -> Result<W::Value, GenerateError> {
        let terms = self.terms(tolerance);
        step(self.spec(), next, now, &terms).map_err(|refusal| {
            // Asked only after a refusal. `step` refuses all ones whatever the clock shows, so ids
            // do not pay for this comparison.
            if next == closed() {
                GenerateError::Closed
            } else {
                explain(self.spec(), refusal, next, now, terms)
            }
        })
    }

    /// The lease, with its current end.
    pub fn lease(&self) -> Lease<L> {
        // A copy at one moment: another thread may extend the lease right after.
        let start = self.start();
        let end = start.saturating_add(self.length.load().into());
        let node_id = self.spec().unpack(self.first_raw).node_id;
        Lease::checked_before(self.layout, node_id, start, end)
    }

    /// Extends the lease to a later end.
    ///
    /// An end that is not later changes nothing: a lease never gets shorter.
    ///
    /// # Errors
    ///
    /// On an error nothing has changed.
    ///
    /// - [`Foreign`](ExtendError::Foreign): another layout, node id or start;
    /// - [`TooLong`](ExtendError::TooLong): the word cannot count its ticks, see
    ///   [`new`](Sequencer::new);
    /// - [`Closed`](ExtendError::Closed): [`close`](Sequencer::close) was called;
    /// - [`ClockUnknown`](ExtendError::ClockUnknown): the clock has no time yet;
    /// - [`Expired`](ExtendError::Expired): by the clock, the lease has expired.
    pub fn extend(&self, extended: Lease<L>, clock: &impl Clock) -> Result<(), ExtendError> {
        let spec = self.spec();
        // Positions count from the start of the lease. One with another start or node id would give
        // the positions that were issued a second meaning.
        if extended.layout() != self.layout
            || extended.start() != self.start()
            || extended.node_id() != spec.unpack(self.first_raw).node_id
        {
            return Err(ExtendError::Foreign);
        }
        // As in `new`: the positions of the longer lease must fit the word too.
        let max = max_length::<W::Value>(spec.sequence_bits());
        if extended.ticks() > max {
            return Err(ExtendError::TooLong {
                ticks: extended.ticks(),
                max,
            });
        }
        let new_length = W::Value::low_bits_of(extended.ticks());
        loop {
            let length = self.length.load();
            // Checked in each round: `close` may come between two tries, and a closed lease may be
            // released and granted to another holder.
            if self.next.load() == closed() {
                return Err(ExtendError::Closed);
            }
            let Some(now) = clock.now() else {
                return Err(ExtendError::ClockUnknown);
            };
            let end = self.start().saturating_add(length.into());
            if spec.tick_at(now).is_some_and(|tick| tick >= end) {
                return Err(ExtendError::Expired {
                    since_ms: spec.ms_since(end, now),
                });
            }
            // The expiry was checked against the length that is exchanged here, so an expired lease
            // is never extended by a late caller.
            if new_length <= length || self.length.compare_exchange(length, new_length) {
                return Ok(());
            }
        }
    }

    /// Stops issuing permanently, and returns the first tick of which nothing was or will be
    /// issued: the lease may be released from there on, the lease's start if it was not used at
    /// all.
    ///
    /// `None` when it was closed before.
    pub fn close(&self) -> Option<u64> {
        loop {
            let next = self.next.load();
            if next == closed() {
                return None;
            }
            // By the word that issuing exchanges: an id was either taken before, and its tick
            // counts as used, or it is never issued.
            if self.next.compare_exchange(next, closed()) {
                // The tick of the last id counts as used, even if only one id of it was issued.
                let used = next.previous().map_or(0, |last| {
                    let elapsed: u64 = last.shr(self.spec().sequence_bits()).into();
                    elapsed.saturating_add(1)
                });
                return Some(self.start().saturating_add(used));
            }
        }
    }

    /// The tick and sequence after the last id: sequence 0 of the lease's first tick when nothing
    /// was issued, and of a later one when the tick before it was used up. `None` when closed.
    pub fn position(&self) -> Option<(u64, u32)> {
        let next = self.next.load();
        let spec = self.spec();
        let elapsed = next.shr(spec.sequence_bits()).into();
        (next != closed()).then(|| (self.start().saturating_add(elapsed), sequence(spec, next)))
    }

    /// Number of ids that a tick has left, less one.
    #[inline]
    pub(crate) fn left(&self, tick: u64) -> u32 {
        let spec = self.spec();
        let next = self.next.load();
        // A tick before the lease wraps to a large number and looks complete; taking from it is
        // refused.
        let elapsed = tick.wrapping_sub(self.start());
        match elapsed.cmp(&next.shr(spec.sequence_bits()).into()) {
            // An older tick has nothing left; a later one is complete.
            Ordering::Less => 0,
            Ordering::Equal => spec.max_sequence().wrapping_sub(sequence(spec, next)),
            Ordering::Greater => spec.max_sequence(),
        }
    }

    /// Raw id of the lease's first tick and sequence 0, which no other lease of the layout has.
    #[inline]
    pub(crate) fn first_raw(&self) -> u64 {
        self.first_raw
    }

    #[inline]
    pub(crate) fn spec(&self) -> LayoutSpec {
        self.layout.spec()
    }

    #[inline]
    fn start(&self) -> u64 {
        self.spec().unpack(self.first_raw).tick
    }

    #[inline]
    fn terms(&self, tolerance: u32) -> StepTerms<W::Value> {
        StepTerms {
            start: self.start(),
            // Relaxed: a length that was extended meanwhile only refuses what the next call may
            // issue.
            length: self.length.load_relaxed(),
            tolerance,
            sequence_bits: self.spec().sequence_bits(),
        }
    }

    /// The raw id of a position of the lease: of its tick, counted from the lease's start, and its
    /// sequence. The lease's first raw id has the sequence 0 and the lease is inside the layout, so
    /// no field carries into another.
    #[inline]
    fn raw(&self, elapsed: W::Value, sequence: u32) -> u64 {
        self.first_raw
            .wrapping_add(self.spec().pack(elapsed.into(), 0, sequence.into()))
    }
}

/// Converts a refusal of the position `next` to an error, with the time until or since it could be
/// issued.
// A small processor goes on with what it has in registers, and a caller that drops the error does
// not pay for it.
#[cfg_attr(target_pointer_width = "64", cold)]
#[inline]
pub(crate) fn explain<V: Word>(
    spec: LayoutSpec,
    refusal: StepRefusal,
    next: V,
    now: Duration,
    terms: StepTerms<V>,
) -> GenerateError {
    let tick = |elapsed: V| terms.start.wrapping_add(elapsed.into());
    if refusal == StepRefusal::LeaseOver {
        return GenerateError::LeaseOver {
            since_ms: spec.ms_since(tick(terms.length), now),
        };
    }
    // The word may run ahead of the clock by the tolerance, so waiting can end that much earlier.
    let due = tick(next.shr(terms.sequence_bits)).saturating_sub(terms.tolerance.into());
    let ms = spec.ms_until(due, now);
    if refusal == StepRefusal::SequenceExhausted {
        GenerateError::SequenceExhausted { retry_in_ms: ms }
    } else {
        GenerateError::ClockBehind { behind_ms: ms }
    }
}

/// Consecutive raw ids of one node id and one tick: at least one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Run<L> {
    first: u64,
    /// Number of ids after the first: so a run is never empty, and one of all 2^32 sequences fits.
    beyond_first: u32,
    layout: PhantomData<L>,
}

impl<L: AnyLayout> Run<L> {
    #[inline]
    pub(crate) const fn new(first: u64, beyond_first: u32) -> Self {
        Self {
            first,
            beyond_first,
            layout: PhantomData,
        }
    }

    /// First raw id; the others have the sequences after its own.
    #[must_use]
    #[inline]
    pub const fn first(&self) -> u64 {
        self.first
    }

    /// Number of ids, at least 1.
    #[must_use]
    #[inline]
    #[expect(clippy::len_without_is_empty, reason = "a run is never empty")]
    pub const fn len(&self) -> usize {
        (self.beyond_first as usize).saturating_add(1)
    }
}
