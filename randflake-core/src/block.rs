//! Blocks: ids of the current tick, reserved and encrypted in bulk before they are requested.

use core::fmt::{self, Debug, Formatter};
use core::time::Duration;

use crate::{AnyLayout, AtomicWord, Clock, Codec, GenerateError, Id, Permutation, Sequencer};

const NS_PER_MS: u64 = 1_000_000;
/// A block takes at most one in this many of the ids left in a tick, so that blocks shrink as the
/// tick is used up.
const LEFT_PER_BLOCK: u32 = 8;

/// Ids of one tick for one thread: reserved by one exchange of the word, encrypted together, and
/// handed out one by one during that tick.
///
/// In each tick the first refill takes one id and each further one twice as many, up to the length
/// of the memory `S`: a thread that seldom asks takes nothing from others. [`BlockBudget`] bounds
/// what all blocks of a sequencer hold. Ids that are dropped are never issued.
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

    /// Takes the next id if `now_ns` (nanoseconds since the Unix epoch) is in the tick of the block
    /// and `is_valid` returns true; otherwise drops the block.
    ///
    /// `is_valid` is called after the id was taken: if the process is copied in between, neither
    /// copy finds the id again.
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

    /// Drops what is left, reserves another block, and returns its first id, which has the tick of
    /// the clock.
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
            // Smaller blocks near the end of the tick, so that its last ids are issued instead of
            // being dropped.
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

    /// Number of ids that a refill asks for: 1 in a new tick, otherwise twice the last number.
    /// Capacity and what is left in the tick may lower it.
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

/// Number of ids of the current tick that the blocks of one sequencer may hold together: 1/16 of a
/// tick. So a node id issues at least 15/16 of its ids, however many threads stop in the middle of
/// a block.
///
/// A block counts until its owner takes another one in the same tick, or until the tick ends.
#[derive(Debug)]
pub struct BlockBudget<W>(W);

impl<W: AtomicWord<Value = u64>> BlockBudget<W> {
    // The word is `low 32 bits of the tick | count`: one exchange starts a new tick with a count of
    // 0.
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

    /// Replaces a block of `former` ids by one of up to `wanted`, and returns the number granted: 0
    /// instead of 1, which would be no block.
    fn exchange(&self, tick: u64, former: u32, wanted: u32, limit: u32) -> u32 {
        // Only the low bits of the tick are kept: ticks that agree in them are so far apart that
        // nobody holds ids of both.
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
            // An unchanged word is not exchanged: that would take its cache line from other
            // threads.
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
mod tests {
    //! What a block takes, holds and gives back, as it is counted.

    #![expect(clippy::arithmetic_side_effects, reason = "a test fails by panicking")]

    use super::*;
    use crate::{Layout, Lease, LocalWord, Plain, Randflake};

    /// A sequencer and its block budget, with a clock that stands until it is moved.
    struct World {
        sequencer: Sequencer<Randflake, LocalWord<u64>>,
        budget: BlockBudget<LocalWord<u64>>,
        now_ns: u64,
    }

    impl World {
        fn new(node_id: u32) -> Self {
            let lease = Lease::new(Randflake, node_id, 100, 200).unwrap();
            Self {
                sequencer: Sequencer::new(lease).unwrap(),
                budget: BlockBudget::new(),
                now_ns: Randflake::SPEC.unix_ms(100) * NS_PER_MS,
            }
        }

        fn counted(&self) -> u64 {
            self.budget.0.load() & u64::from(u32::MAX)
        }

        fn refill(&self, block: &mut Block<[u64; 64]>) {
            let codec = Codec::new(Randflake, Plain);
            let refilled = block.refill(&self.sequencer, &self.budget, &codec, self.now_ns);
            assert!(refilled.is_ok());
        }

        fn wait_for_the_next_tick(&mut self) {
            self.now_ns += 1_000 * NS_PER_MS;
        }

        /// A block that is refilled until it was given `size` ids.
        fn block_of(&self, size: u32) -> Block<[u64; 64]> {
            let mut block = Block::new([0; 64]);
            while block.size < size {
                self.refill(&mut block);
            }
            block
        }
    }

    #[test]
    fn refilled_block_is_counted_once() {
        let world = World::new(1);
        let mut block = world.block_of(1);
        assert_eq!(world.budget.0.load(), 0, "one id leaves the counter alone");
        for counted in [2, 4, 8, 16, 32, 64, 64] {
            world.refill(&mut block);
            assert_eq!(world.counted(), counted);
        }
        let other = world.block_of(4);
        assert_eq!((other.left(), world.counted()), (3, 68));
    }

    #[test]
    fn a_block_of_an_earlier_tick_gives_nothing_back() {
        let mut world = World::new(1);
        let mut early = world.block_of(4);
        world.wait_for_the_next_tick();
        world.block_of(8);
        assert_eq!(world.counted(), 8);
        world.refill(&mut early);
        assert_eq!(world.counted(), 8, "it was not among these");
        world.refill(&mut early);
        assert_eq!(world.counted(), 8 + 2);
    }

    #[test]
    fn a_block_of_another_lease_gives_nothing_back() {
        let (first, second) = (World::new(0), World::new(1));
        let mut moved = first.block_of(4);
        second.block_of(16);
        second.refill(&mut moved);
        assert_eq!((first.counted(), second.counted()), (4, 16 + 8));
    }

    #[test]
    fn blocks_shrink_near_the_end_of_a_tick() {
        let world = World::new(1);
        let mut block = world.block_of(64);
        let leave = |left| {
            let taken = world.sequencer.left(100) - left;
            let run = world
                .sequencer
                .take_run(taken, &At(Duration::from_nanos(world.now_ns)), 0);
            assert_eq!(run.unwrap().len(), taken as usize);
        };
        leave(8 * 5);
        world.refill(&mut block);
        assert_eq!((block.size, world.counted()), (5, 5));
        leave(8);
        world.refill(&mut block);
        assert_eq!((block.size, world.counted()), (1, 0));
    }

    #[test]
    fn a_block_of_one_id_is_neither_granted_nor_counted() {
        let budget = BlockBudget::<LocalWord<u64>>::new();
        assert_eq!(budget.exchange(5, 0, 9, 10), 9);
        let counted = budget.0.load();
        assert_eq!(budget.exchange(5, 0, 4, 10), 0, "one is left");
        assert_eq!(budget.0.load(), counted);
        assert_eq!(budget.exchange(5, 9, 1, 10), 0);
        assert_eq!(budget.exchange(5, 0, 20, 10), 10, "all were given back");
    }

    #[test]
    fn what_is_dropped_was_not_handed_out() {
        let world = World::new(1);
        let mut block = world.block_of(4);
        // Of refills of 1, 2 and 4 ids the first ids.
        assert_eq!((block.handed_out(), block.left()), (3, 3));
        assert!(block.take(world.now_ns, || true).is_some());
        assert_eq!((block.handed_out(), block.left()), (4, 2));
        assert_eq!(block.take(world.now_ns, || false), None);
        assert_eq!((block.handed_out(), block.left()), (4, 0));
        world.refill(&mut block);
        assert_eq!((block.handed_out(), block.left()), (5, 7));
        block.grow([0; 64]);
        assert_eq!((block.handed_out(), block.left()), (5, 0));
    }

    #[test]
    fn nothing_is_left_of_a_block_whose_refill_is_refused() {
        let world = World::new(1);
        let mut block = world.block_of(4);
        world.sequencer.close();
        let codec = Codec::new(Randflake, Plain);
        let refilled = block.refill(&world.sequencer, &world.budget, &codec, world.now_ns);
        assert_eq!(refilled, Err(GenerateError::Closed));
        assert_eq!((block.handed_out(), block.left()), (3, 0));
    }
}
