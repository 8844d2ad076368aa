//! Ids of the current tick, taken and encrypted together before they are asked for.

use core::fmt::{self, Debug, Formatter};
use core::time::Duration;

use crate::{AnyLayout, AtomicWord, Clock, Codec, GenerateError, Id, Permutation, Sequencer};

const NS_PER_MS: u64 = 1_000_000;
/// A block is at most this part of what a tick has left, so that blocks get small when it is nearly used up.
const LEFT_PER_BLOCK: u32 = 8;

/// A block of ids of one tick and one sequencer, for one thread: taken in one exchange of the word, encrypted
/// together, and handed out one by one while the clock shows that tick. So an id has the current tick, and costs a
/// fraction of what it costs alone.
///
/// In each tick a block begins with one id and doubles with each refill, up to the length of its memory `S`: who asks
/// seldom takes nothing from others. What all blocks of a sequencer hold is bounded by its [`Held`]. Ids that are
/// dropped are never issued.
///
/// ```
/// use std::sync::atomic::AtomicU64;
/// use randflake_core::internal::{Block, Held};
/// use randflake_core::{Codec, Lease, Randflake, Sequencer, Sparx64};
///
/// let codec = Codec::new(Randflake, Sparx64::new(&[7; 16]));
/// let lease = Lease::new(Randflake, 42, 3_706_297, 3_706_357)?;
/// let sequencer = Sequencer::<Randflake, AtomicU64>::new(lease)?;
/// let held = Held::<AtomicU64>::new();
/// let mut block = Block::new([0; 256]);
///
/// let mut now_ns = 1_733_706_297_000_000_000;
/// for sequence in 0..1_000 {
///     let id = match block.take(now_ns, || true) {
///         Some(id) => id,
///         None => block.refill(&sequencer, &held, &codec, now_ns)?,
///     };
///     assert_eq!(codec.inspect(id).sequence, sequence);
/// }
/// now_ns += 1_000_000_000;
/// assert_eq!(block.take(now_ns, || true), None, "the next tick has begun");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct Block<S> {
    /// Those from `next` on are still to be handed out.
    ids: S,
    next: usize,
    /// How many ids it ever had, and how many of them were dropped.
    filled: u64,
    dropped: u64,
    /// When their tick begins, in nanoseconds since the Unix epoch, and how long it is.
    from_ns: u64,
    span_ns: u64,
    /// The tick of the last refill.
    tick: u64,
    /// How many ids it got.
    size: u32,
    /// How many ids of it are noted as held, and with which lease.
    noted: u32,
    origin: u64,
}

impl<S: AsRef<[u64]> + AsMut<[u64]>> Block<S> {
    /// An empty block, with memory for as many ids as it may have.
    pub fn new(memory: S) -> Self {
        Self {
            next: memory.as_ref().len(),
            ids: memory,
            filled: 0,
            dropped: 0,
            from_ns: 0,
            span_ns: 0,
            tick: u64::MAX,
            size: 0,
            noted: 0,
            origin: 0,
        }
    }

    /// The next id, if the clock shows the block's tick and `is_valid` says that it may be handed out; else the block
    /// is dropped. `now_ns` is the time in nanoseconds since the Unix epoch.
    ///
    /// `is_valid` is asked after the id was taken: whoever is interrupted or copied between the two does not find it
    /// again.
    #[inline]
    pub fn take(&mut self, now_ns: u64, is_valid: impl FnOnce() -> bool) -> Option<Id> {
        let id = *self.ids.as_ref().get(self.next)?;
        self.next = self.next.wrapping_add(1);
        // A clock that went back is as far off as one that is ahead.
        if now_ns.wrapping_sub(self.from_ns) < self.span_ns && is_valid() {
            return Some(Id::from_u64(id));
        }
        self.drop_taken();
        None
    }

    /// Drops the block, with the id that was taken last.
    #[cold]
    fn drop_taken(&mut self) {
        self.next = self.next.wrapping_sub(1);
        self.clear();
    }

    /// Takes another block, drops what is left of this one, and gives the first id: strictly of the clock's tick.
    ///
    /// # Errors
    ///
    /// As for [`Sequencer::take`] without tolerance. Nothing is consumed then.
    #[inline]
    pub fn refill<L, W, H, P>(
        &mut self,
        sequencer: &Sequencer<L, W>,
        held: &Held<H>,
        codec: &Codec<L, P>,
        now_ns: u64,
    ) -> Result<Id, GenerateError>
    where
        L: AnyLayout,
        W: AtomicWord,
        H: AtomicWord<Value = u64>,
        P: Permutation,
    {
        let now = Duration::from_nanos(now_ns);
        let most = self.reserve(sequencer, held, now);
        let run = sequencer.take_run(most, &At(now), 0)?;
        self.size = most;
        self.filled = self.filled.wrapping_add(run.len() as u64);
        if run.len() == 1 {
            return Ok(codec.id(run.first()));
        }
        let spec = codec.layout().spec();
        self.from_ns = spec.unix_ms(self.tick).saturating_mul(NS_PER_MS);
        self.span_ns = spec.tick_ms().saturating_mul(NS_PER_MS);
        let ids = self.ids.as_mut();
        // The last of the memory, so that its end is that of the block.
        let first = ids.len().saturating_sub(run.len());
        let (_, ids) = ids.split_at_mut(first);
        codec.encode_raws(run, ids);
        self.next = first.wrapping_add(1);
        Ok(Id::from_u64(ids.first().copied().unwrap_or_default()))
    }

    /// How many ids the next block may have; at least 1.
    #[inline]
    fn reserve<L: AnyLayout, W: AtomicWord, H: AtomicWord<Value = u64>>(
        &mut self,
        sequencer: &Sequencer<L, W>,
        held: &Held<H>,
        now: Duration,
    ) -> u32 {
        self.clear();
        let spec = sequencer.spec();
        let Some(tick) = spec.tick_at(now) else {
            return 1; // And the sequencer says why there is none.
        };
        let is_same = tick == self.tick && self.origin == sequencer.origin();
        let noted = if is_same { self.noted } else { 0 };
        let capacity = u32::try_from(self.capacity()).unwrap_or(u32::MAX);
        let wanted = self
            .wanted(tick)
            .min(capacity)
            .min(sequencer.left(tick) / LEFT_PER_BLOCK);
        (self.tick, self.origin, self.noted) = (tick, sequencer.origin(), 0);
        if wanted > 1 || noted > 0 {
            self.noted = held.exchange(tick, noted, wanted, Held::<H>::limit(spec.max_sequence()));
        }
        self.noted.max(1)
    }

    /// How many ids a refill in a tick asks for, if there is memory for them and enough is left: 1 in a tick that is
    /// new to the block, else twice as many as last time.
    pub fn wanted(&self, tick: u64) -> u32 {
        if tick == self.tick {
            self.size.saturating_mul(2)
        } else {
            1
        }
    }

    /// How many ids it has memory for.
    pub fn capacity(&self) -> usize {
        self.ids.as_ref().len()
    }

    /// Drops what is left, and goes on with other memory.
    pub fn grow(&mut self, memory: S) {
        self.clear();
        self.next = memory.as_ref().len();
        self.ids = memory;
    }

    /// How many ids it ever handed out, the first ones of its refills included.
    pub fn handed_out(&self) -> u64 {
        let not_yet = self.dropped.wrapping_add(self.left() as u64);
        self.filled.wrapping_sub(not_yet)
    }

    /// How many ids are left.
    pub fn left(&self) -> usize {
        self.capacity().saturating_sub(self.next)
    }

    #[inline]
    fn clear(&mut self) {
        self.dropped = self.dropped.wrapping_add(self.left() as u64);
        self.next = self.capacity();
    }
}

/// Shows how much is left, never the ids: they are still to be issued.
impl<S: AsRef<[u64]> + AsMut<[u64]>> Debug for Block<S> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.debug_struct("Block")
            .field("left", &self.left())
            .finish_non_exhaustive()
    }
}

/// How many ids of a sequencer's current tick its blocks hold, used or not: at most 1/16 of what a tick has. So a node
/// id issues at least 15/16 of each tick's ids, however many threads stop in the middle of a block.
///
/// It counts a block until its owner takes another one in the same tick. A block whose owner does not come back counts
/// to the end of the tick.
#[derive(Debug)]
pub struct Held<W>(W);

impl<W: AtomicWord<Value = u64>> Held<W> {
    const COUNT_BITS: u32 = 32;
    const PART: u32 = 16;

    /// None is held.
    #[must_use]
    pub fn new() -> Self {
        Self(W::new(0))
    }

    /// What may be held of a tick whose last sequence is `max_sequence`.
    const fn limit(max_sequence: u32) -> u32 {
        max_sequence / Self::PART
    }

    /// Notes a block of up to `wanted` ids in the place of one of `former`, and gives how many it may have: 0 if it
    /// had fewer than two, which is no block.
    fn exchange(&self, tick: u64, former: u32, wanted: u32, limit: u32) -> u32 {
        // Other ticks differ from this one in the low bits, or are so long ago that nobody has them in hand.
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
            let granted = if granted < 2 { 0 } else { granted };
            let after = tick | u64::from(held.saturating_add(granted));
            if word == after || self.0.compare_exchange(word, after) {
                return granted;
            }
        }
    }
}

impl<W: AtomicWord<Value = u64>> Default for Held<W> {
    fn default() -> Self {
        Self::new()
    }
}

/// One reading of a clock.
struct At(Duration);

impl Clock for At {
    #[inline]
    fn now(&self) -> Option<Duration> {
        Some(self.0)
    }
}
