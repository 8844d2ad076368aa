//! Blocks: ids of the current tick, reserved and encrypted in bulk before they are requested.

use core::fmt::{self, Debug, Formatter};
use core::time::Duration;

use crate::{AnyLayout, AtomicWord, Clock, Codec, GenerateError, Id, Permutation, Sequencer};

const NS_PER_MS: u64 = 1_000_000;
/// A block takes at most one in this many of the ids left in a tick, so that blocks shrink as the tick is used up.
const LEFT_PER_BLOCK: u32 = 8;

/// Ids of one tick for one thread: reserved by one exchange of the word, encrypted together, and handed out one by
/// one during that tick.
///
/// In each tick the first refill takes one id and each further one twice as many, up to the length of the memory
/// `S`: a thread that seldom asks takes nothing from others. [`BlockBudget`] bounds what all blocks of a sequencer hold.
/// Ids that are dropped are never issued.
///
/// ```
/// use std::sync::atomic::AtomicU64;
/// use randflake_core::internal::{Block, BlockBudget};
/// use randflake_core::{Codec, Lease, Randflake, Sequencer, Sparx64};
///
/// let codec = Codec::new(Randflake, Sparx64::new(&[7; 16]));
/// let lease = Lease::new(Randflake, 42, 3_706_297, 3_706_357)?;
/// let sequencer = Sequencer::<Randflake, AtomicU64>::new(lease)?;
/// let budget = BlockBudget::<AtomicU64>::new();
/// let mut block = Block::new([0; 256]);
///
/// let mut now_ns = 1_733_706_297_000_000_000;
/// for sequence in 0..1_000 {
///     let id = match block.take(now_ns, || true) {
///         Some(id) => id,
///         None => block.refill(&sequencer, &budget, &codec, now_ns)?,
///     };
///     assert_eq!(codec.inspect(id).sequence, sequence);
/// }
/// now_ns += 1_000_000_000;
/// assert_eq!(block.take(now_ns, || true), None, "the next tick has begun");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct Block<S> {
    /// Ids; those from `next` on are not handed out yet.
    ids: S,
    next: usize,
    /// Ids ever reserved, and of these the dropped ones.
    filled: u64,
    dropped: u64,
    /// Start of the tick in nanoseconds since the Unix epoch, and its length.
    from_ns: u64,
    span_ns: u64,
    /// Tick of the last refill.
    tick: u64,
    /// Number of ids of the last refill.
    size: u32,
    /// Number of ids of this block that are counted in [`BlockBudget`].
    counted: u32,
    /// First raw id of their lease, by which leases differ.
    first_raw: u64,
}

impl<S: AsRef<[u64]> + AsMut<[u64]>> Block<S> {
    /// Creates an empty block; `memory` is its capacity.
    pub fn new(memory: S) -> Self {
        Self {
            next: memory.as_ref().len(),
            ids: memory,
            filled: 0,
            dropped: 0,
            from_ns: 0,
            span_ns: 0,
            // No layout has this tick, so the first refill begins with one id.
            tick: u64::MAX,
            size: 0,
            counted: 0,
            first_raw: 0,
        }
    }

    /// Takes the next id if `now_ns` (nanoseconds since the Unix epoch) is in the tick of the block and `is_valid`
    /// returns true; otherwise drops the block.
    ///
    /// `is_valid` is called after the id was taken: if the process is copied in between, neither copy finds the id
    /// again.
    #[inline]
    pub fn take(&mut self, now_ns: u64, is_valid: impl FnOnce() -> bool) -> Option<Id> {
        // An empty block has `next` at the end of the memory: the bounds check is the test for
        // emptiness.
        let id = *self.ids.as_ref().get(self.next)?;
        self.next = self.next.wrapping_add(1);
        // An earlier time wraps to a large number: one comparison for both ends.
        if now_ns.wrapping_sub(self.from_ns) < self.span_ns && is_valid() {
            return Some(Id::from_u64(id));
        }
        self.drop_taken();
        None
    }

    /// Drops the block, including the id that was taken last.
    #[cold]
    fn drop_taken(&mut self) {
        // Counted as dropped together with the others: it was never handed out.
        self.next = self.next.wrapping_sub(1);
        self.clear();
    }

    /// Drops what is left, reserves another block, and returns its first id, which has the tick of the clock.
    ///
    /// # Errors
    ///
    /// As for [`Sequencer::take`] without tolerance. Nothing is consumed then.
    #[inline]
    pub fn refill<L, W, H, P>(
        &mut self,
        sequencer: &Sequencer<L, W>,
        budget: &BlockBudget<H>,
        codec: &Codec<L, P>,
        now_ns: u64,
    ) -> Result<Id, GenerateError>
    where
        L: AnyLayout,
        W: AtomicWord,
        H: AtomicWord<Value = u64>,
        P: Permutation,
    {
        // The reservation must see the same time as the block, so the clock is not read again.
        let now = Duration::from_nanos(now_ns);
        let most = self.reserve(sequencer, budget, now);
        let run = sequencer.take_run(most, &At(now), 0)?;
        self.size = most;
        self.filled = self.filled.wrapping_add(run.len() as u64);
        // A single id is not worth a pass through the bulk code, nor the bookkeeping.
        if run.len() == 1 {
            return Ok(codec.id(run.first()));
        }
        let spec = codec.layout().spec();
        self.from_ns = spec.unix_ms(self.tick).saturating_mul(NS_PER_MS);
        self.span_ns = spec.tick_ms().saturating_mul(NS_PER_MS);
        let ids = self.ids.as_mut();
        // At the end of the memory, so that `next == len` means empty.
        let first = ids.len().saturating_sub(run.len());
        let (_, ids) = ids.split_at_mut(first);
        codec.encode_raws(run, ids);
        self.next = first.wrapping_add(1);
        Ok(Id::from_u64(ids.first().copied().unwrap_or_default()))
    }

    /// Number of ids that the next block may have; at least 1.
    #[inline]
    fn reserve<L: AnyLayout, W: AtomicWord, H: AtomicWord<Value = u64>>(
        &mut self,
        sequencer: &Sequencer<L, W>,
        budget: &BlockBudget<H>,
        now: Duration,
    ) -> u32 {
        self.clear();
        let spec = sequencer.spec();
        let Some(tick) = spec.tick_at(now) else {
            return 1; // And the sequencer says why there is none.
        };
        // A block of another tick or lease is not counted any more, so nothing of it is given back.
        let is_same = tick == self.tick && self.first_raw == sequencer.first_raw();
        let counted = if is_same { self.counted } else { 0 };
        let capacity = u32::try_from(self.capacity()).unwrap_or(u32::MAX);
        let wanted = self
            .wanted(tick)
            .min(capacity)
            // Smaller blocks near the end of the tick, so that its last ids go to whoever asks instead of being dropped.
            .min(sequencer.left(tick) / LEFT_PER_BLOCK);
        (self.tick, self.first_raw, self.counted) = (tick, sequencer.first_raw(), 0);
        // A thread that wants one id and holds no block leaves the shared counter's cache line
        // alone.
        if wanted > 1 || counted > 0 {
            let limit = BlockBudget::<H>::limit(spec.max_sequence());
            self.counted = budget.exchange(tick, counted, wanted, limit);
        }
        // Where the others hold all that blocks may hold, a single id is taken. It is handed out at
        // once, so it does not count.
        self.counted.max(1)
    }

    /// Number of ids that a refill asks for: 1 in a new tick, otherwise twice the last number. Capacity and what is
    /// left in the tick may lower it.
    pub fn wanted(&self, tick: u64) -> u32 {
        if tick == self.tick {
            self.size.saturating_mul(2)
        } else {
            1
        }
    }

    /// Largest number of ids that the block can hold.
    pub fn capacity(&self) -> usize {
        self.ids.as_ref().len()
    }

    /// Replaces the memory, dropping what is left.
    pub fn grow(&mut self, memory: S) {
        // What the former memory has left counts as dropped: it was reserved and is never handed
        // out.
        self.clear();
        self.next = memory.as_ref().len();
        self.ids = memory;
    }

    /// Number of ids ever handed out, including the first one of each refill.
    pub fn handed_out(&self) -> u64 {
        let not_yet = self.dropped.wrapping_add(self.left() as u64);
        self.filled.wrapping_sub(not_yet)
    }

    /// Number of ids that are not handed out yet.
    pub fn left(&self) -> usize {
        self.capacity().saturating_sub(self.next)
    }

    #[inline]
    fn clear(&mut self) {
        self.dropped = self.dropped.wrapping_add(self.left() as u64);
        self.next = self.capacity();
    }
}

/// Shows the number of ids left, never the ids: they are not issued yet.
impl<S: AsRef<[u64]> + AsMut<[u64]>> Debug for Block<S> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.debug_struct("Block")
            .field("left", &self.left())
            .finish_non_exhaustive()
    }
}

/// Number of ids of the current tick that the blocks of one sequencer may hold together: 1/16 of a tick. So a node
/// id issues at least 15/16 of its ids, however many threads stop in the middle of a block.
///
/// A block counts until its owner takes another one in the same tick, or until the tick ends.
#[derive(Debug)]
pub struct BlockBudget<W>(W);

impl<W: AtomicWord<Value = u64>> BlockBudget<W> {
    // The word is `low 32 bits of the tick | count`: one exchange starts a new tick with a count of 0.
    const COUNT_BITS: u32 = 32;
    const PART: u32 = 16;

    /// Creates the budget of a sequencer without blocks.
    #[must_use]
    pub fn new() -> Self {
        Self(W::new(0))
    }

    /// Number of ids that blocks may hold, by the largest sequence of a tick.
    const fn limit(max_sequence: u32) -> u32 {
        max_sequence / Self::PART
    }

    /// Replaces a block of `former` ids by one of up to `wanted`, and returns the number granted: 0 instead of 1,
    /// which would be no block.
    fn exchange(&self, tick: u64, former: u32, wanted: u32, limit: u32) -> u32 {
        // Only the low bits of the tick are kept: ticks that agree in them are so far apart that nobody holds ids
        // of both.
        let tick = tick << Self::COUNT_BITS;
        loop {
            let word = self.0.load();
            let held = if word >> Self::COUNT_BITS == tick >> Self::COUNT_BITS {
                let count = u32::try_from(word & u64::from(u32::MAX)).unwrap_or(u32::MAX);
                count.saturating_sub(former)
            } else {
                0
            };
            let granted = wanted.min(limit.saturating_sub(held));
            // A block of one id saves nothing over `take`, and would have to be counted.
            let granted = if granted < 2 { 0 } else { granted };
            let after = tick | u64::from(held.saturating_add(granted));
            // An unchanged word is not exchanged: that would take its cache line from other threads.
            if word == after || self.0.compare_exchange(word, after) {
                return granted;
            }
        }
    }
}

impl<W: AtomicWord<Value = u64>> Default for BlockBudget<W> {
    fn default() -> Self {
        Self::new()
    }
}

/// A clock that always shows the time of one reading.
struct At(Duration);

impl Clock for At {
    #[inline]
    fn now(&self) -> Option<Duration> {
        Some(self.0)
    }
}

#[cfg(test)]
mod tests;
