//! Pools: several leases behind one call.

use core::fmt::{self, Debug, Formatter};

use crate::{AnyLayout, AtomicWord, Clock, Codec, GenerateError, Id, Permutation, Sequencer, Word};

/// Issues ids of several leases, each of its own node id, moving on when one is exhausted or ahead
/// of the clock: `k` node ids give `k` times as many ids in a tick, and survive a clock step.
///
/// `S` holds the sequencers: an array, a slice, or a vector where there is one.
///
/// ```
/// use std::sync::atomic::AtomicU64;
/// use randflake_core::{Codec, Lease, ManualClock, Plain, Pool, Sequencer, Snowflake};
///
/// let clock = ManualClock::at_unix_ms(1_288_834_974_657);
/// let sequencer = |node_id| Sequencer::<Snowflake, AtomicU64>::new(Lease::new(Snowflake, node_id, 0, 1_000)?);
/// let pool = Pool::new([sequencer(1)?, sequencer(2)?], &clock, Codec::new(Snowflake, Plain));
///
/// for _ in 0..2 * 4096 {
///     pool.generate()?;
/// }
/// assert!(pool.generate().is_err(), "both are exhausted until the next millisecond");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct Pool<L: AnyLayout, W, C, S, P = <L as AnyLayout>::Permutation> {
    sequencers: S,
    /// Index of the sequencer that issued last.
    cursor: W,
    clock: C,
    codec: Codec<L, P>,
    tolerance: u32,
}

impl<L, W, C, S, P> Pool<L, W, C, S, P>
where
    L: AnyLayout,
    W: AtomicWord,
    C: Clock,
    S: AsRef<[Sequencer<L, W>]>,
    P: Permutation,
{
    /// Creates a pool. The leases of the sequencers must have distinct node ids or disjoint intervals.
    pub fn new(sequencers: S, clock: C, codec: Codec<L, P>) -> Self {
        Self {
            sequencers,
            cursor: W::new(W::Value::low_bits_of(0)),
            clock,
            codec,
            tolerance: 0,
        }
    }

    /// Allows ids to be up to `ticks` ahead of the clock, as
    /// [`Generator::with_tolerance`](crate::Generator::with_tolerance) does. Ids ahead of the clock are issued only
    /// when no sequencer has one at its time.
    #[must_use]
    pub fn with_tolerance(mut self, ticks: u32) -> Self {
        self.tolerance = ticks;
        self
    }

    /// Generates an id from the first sequencer that has one.
    ///
    /// # Errors
    ///
    /// When none has an id within the tolerance: of the sequencers' errors the one that passes soonest, else one that
    /// is not [`Sealed`](GenerateError::Sealed) if there is any. A pool without sequencers answers
    /// [`LeaseOver`](GenerateError::LeaseOver).
    #[inline]
    pub fn generate(&self) -> Result<Id, GenerateError> {
        let take = |sequencer: &Sequencer<L, W>, ticks| sequencer.take(&self.clock, ticks);
        let raw = first_ready_within(self.sequencers(), &self.cursor, self.tolerance, take)?;
        Ok(self.codec.id(raw))
    }

    /// Fills a buffer with ids and returns the number written: one exchange of the word and one clock reading per
    /// tick, and bulk encryption.
    ///
    /// Returns fewer than the buffer holds when the tick is exhausted; the next call returns the error.
    ///
    /// # Errors
    ///
    /// As for [`generate`](Pool::generate), when there was not a single id.
    #[inline]
    pub fn fill(&self, ids: &mut [Id]) -> Result<usize, GenerateError> {
        // Each run may come from another member: when one has used up its tick, the next one goes
        // on.
        self.codec.fill_with(ids, |most| {
            first_ready_within(
                self.sequencers(),
                &self.cursor,
                self.tolerance,
                |member, ticks| member.take_run(most, &self.clock, ticks),
            )
        })
    }

    /// The sequencers, to extend or seal.
    pub fn sequencers(&self) -> &[Sequencer<L, W>] {
        self.sequencers.as_ref()
    }

    /// The codec of the pool, with its layout and key.
    pub fn codec(&self) -> &Codec<L, P> {
        &self.codec
    }
}

/// Shows the leases, never the key.
impl<L, W, C, S, P> Debug for Pool<L, W, C, S, P>
where
    L: AnyLayout,
    W: AtomicWord,
    S: AsRef<[Sequencer<L, W>]>,
{
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.write_str("Pool ")?;
        f.debug_list()
            .entries(self.sequencers.as_ref().iter().map(Sequencer::lease))
            .finish()
    }
}

/// Asks the members of a pool for an id at the clock's time, as [`first_ready`] does, and only when
/// none has one for an id up to `tolerance` ticks ahead: the rule of [`Pool`], for pools that keep
/// more in a member than a sequencer. `ask` is given the member and how many ticks ahead are allowed.
///
/// # Errors
///
/// As for [`first_ready`], within the tolerance.
#[inline]
pub fn first_ready_within<M, W: AtomicWord, T>(
    members: &[M],
    cursor: &W,
    tolerance: u32,
    mut ask: impl FnMut(&M, u32) -> Result<T, GenerateError>,
) -> Result<T, GenerateError> {
    // Two passes: an id ahead of the clock is borrowed only when no member has one at the time of the clock.
    match first_ready(members, cursor, |member| ask(member, 0)) {
        Err(_) if tolerance > 0 => borrow(members, cursor, |member| ask(member, tolerance)),
        answer => answer,
    }
}

#[cold]
fn borrow<M, W: AtomicWord, T>(
    members: &[M],
    cursor: &W,
    ask: impl FnMut(&M) -> Result<T, GenerateError>,
) -> Result<T, GenerateError> {
    // Out of line: without tolerance, and while any member has an id of the present tick, it is not reached.
    first_ready(members, cursor, ask)
}

/// Asks the members of a pool in turn, beginning with the one that issued last, which `cursor`
/// remembers, until one answers.
///
/// # Errors
///
/// When none has an id: of the members' errors the one that passes soonest, else one that is not
/// [`Sealed`](GenerateError::Sealed) if there is any. A pool without members answers
/// [`LeaseOver`](GenerateError::LeaseOver).
#[inline]
pub fn first_ready<M, W: AtomicWord, T>(
    members: &[M],
    cursor: &W,
    mut ask: impl FnMut(&M) -> Result<T, GenerateError>,
) -> Result<T, GenerateError> {
    let last = cursor.load();
    // The cursor is only a hint. Any value is valid, so it needs no order with the members.
    // A cursor that is no index, as that of an empty pool, finds no member and begins with the first.
    let index = usize::try_from(last.into()).unwrap_or(usize::MAX);
    let soonest = match members.get(index).map(&mut ask) {
        Some(Ok(answer)) => return Ok(answer),
        Some(Err(error)) => Some(error),
        None => None,
    };
    next_ready(members, cursor, last, soonest, ask)
}

/// Asks the other members. Out of line, since the member that issued last usually has an id.
#[cold]
fn next_ready<M, W: AtomicWord, T>(
    members: &[M],
    cursor: &W,
    last: W::Value,
    mut soonest: Option<GenerateError>,
    mut ask: impl FnMut(&M) -> Result<T, GenerateError>,
) -> Result<T, GenerateError> {
    let last_index = usize::try_from(last.into())
        .unwrap_or(usize::MAX)
        .min(members.len());
    // From the member after the last one and around, so that load spreads and one exhausted member is not asked
    // first each time.
    let after = members
        .iter()
        .enumerate()
        .skip(last_index.saturating_add(1));
    for (index, member) in after.chain(members.iter().enumerate().take(last_index)) {
        match ask(member) {
            Ok(answer) => {
                // Another caller may have moved it on: either place is as good.
                cursor.compare_exchange(last, W::Value::low_bits_of(index as u64));
                return Ok(answer);
            }
            // Kept, not returned: the next member may have an id.
            Err(error) => soonest = Some(soonest.map_or(error, |soonest| soonest.sooner(error))),
        }
    }
    // Nobody was asked: an empty pool has no lease, as if all had expired.
    Err(soonest.unwrap_or(GenerateError::LeaseOver { since_ms: 0 }))
}
