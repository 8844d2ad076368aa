//! Generator: issues ids from one lease, one clock and one key. And the choice among several
//! leases: the first that has an id issues it.

use core::fmt::{self, Debug, Formatter};

use crate::permutation::check_width;
use crate::{
    AnyLayout, AtomicWord, Clock, Codec, ExtendError, GenerateError, Id, Lease, LeaseError, Parts,
    Permutation, Sequencer, Word,
};

/// Issues the ids of one lease. Share it by reference; it is `Sync` if its word and clock are.
///
/// The permutation is the layout's unless it is given another: `Generator<Snowflake, W, C>` issues
/// plain ids, `Generator<Snowflake, W, C, Sparx64>` encrypted ones.
///
/// ```
/// use std::sync::atomic::AtomicU64;
/// use randflake_core::{GenerateError, Generator, Lease, ManualClock, Parts, Randflake, Sparx64};
///
/// let clock = ManualClock::at_unix_ms(1_733_706_297_000);
/// let lease = Lease::new(Randflake, 42, 3_706_297, 3_706_357)?;
/// let cipher = Sparx64::new(&[7; 16]);
/// let generator = Generator::<Randflake, AtomicU64, _>::new(lease, &clock, cipher)?;
///
/// let id = generator.generate()?;
/// assert_eq!(generator.inspect(id), Parts { tick: 3_706_297, node_id: 42, sequence: 0 });
///
/// clock.advance_ms(61_500);
/// assert_eq!(generator.generate(), Err(GenerateError::LeaseOver { since_ms: 1_500 }));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct Generator<L: AnyLayout, W, C, P = <L as AnyLayout>::Permutation, T = Strict> {
    pub(crate) sequencer: Sequencer<L, W>,
    clock: C,
    codec: Codec<L, P>,
    tolerance: T,
}

/// Number of ticks that ids may be ahead of the clock: a `u32`, or [`Strict`]; 0 by default.
pub trait Tolerance: Default {
    /// Number of ticks ahead of the clock that are allowed.
    fn ticks(&self) -> u32;
}

/// Tolerance of 0 ticks, without a field or code.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Strict;

impl Tolerance for Strict {
    #[inline]
    fn ticks(&self) -> u32 {
        0
    }
}

impl Tolerance for u32 {
    #[inline]
    fn ticks(&self) -> u32 {
        *self
    }
}

impl<L, W, C, P, T> Generator<L, W, C, P, T>
where
    L: AnyLayout,
    W: AtomicWord,
    C: Clock,
    P: Permutation,
    T: Tolerance,
{
    /// Creates the generator of a lease, with a tolerance of 0 ticks. A lease has one generator,
    /// also across restarts: see [`Sequencer::new`].
    ///
    /// # Errors
    ///
    /// [`LeaseError::TooLong`] if the word cannot count the ticks of the lease,
    /// [`LeaseError::TooWide`] if the layout uses more bits than the permutation permutes.
    pub fn new(lease: Lease<L>, clock: C, permutation: P) -> Result<Self, LeaseError> {
        check_width(lease.layout(), &permutation)?;
        Ok(Self {
            sequencer: Sequencer::new(lease)?,
            clock,
            codec: Codec::new(lease.layout(), permutation),
            tolerance: T::default(),
        })
    }

    /// Allows ids to be up to `ticks` ahead of the clock; 0 unless set.
    ///
    /// This is the whole clock policy. With 0, a clock that stepped back and an exhausted tick are
    /// errors. With `n`, the generator continues through a step back of up to `n` ticks, and
    /// borrows from the next `n` ticks when a tick is exhausted.
    ///
    /// A generator with a tolerance has `u32` as its last type:
    ///
    /// ```
    /// use randflake_core::{Generator, Lease, LocalWord, ManualClock, Randflake, Sparx64};
    ///
    /// type Ids<'a> = Generator<Randflake, LocalWord<u32>, &'a ManualClock, Sparx64, u32>;
    ///
    /// let clock = ManualClock::at_unix_ms(1_733_706_296_000); // a second before the lease
    /// let lease = Lease::new(Randflake, 42, 3_706_297, 3_706_357)?;
    /// let ids = Ids::new(lease, &clock, Sparx64::new(&[7; 16]))?.with_tolerance(1);
    /// assert!(ids.generate().is_ok());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn with_tolerance(self, ticks: u32) -> Generator<L, W, C, P, u32> {
        Generator {
            // Moved, never cloned: two sequencers of one lease would issue the same positions.
            sequencer: self.sequencer,
            clock: self.clock,
            codec: self.codec,
            tolerance: ticks,
        }
    }

    /// Generates the next id. Lock-free: of concurrent callers at least one succeeds.
    ///
    /// On a microcontroller `generate().map_err(GenerateError::kind)` removes the code that
    /// computes milliseconds, and `generate().ok()` all code for errors.
    ///
    /// # Errors
    ///
    /// An error consumes nothing.
    ///
    /// - [`ClockUnknown`](GenerateError::ClockUnknown): the clock has no time yet;
    /// - [`SequenceExhausted`](GenerateError::SequenceExhausted): the tick's ids are all issued;
    /// - [`ClockBehind`](GenerateError::ClockBehind): the clock is before the last issued tick, or
    ///   before the lease, by more than the tolerance;
    /// - [`LeaseOver`](GenerateError::LeaseOver): the time is past the lease, or what the tolerance
    ///   allows to borrow is;
    /// - [`Closed`](GenerateError::Closed): [`close`](Generator::close) was called.
    #[inline]
    pub fn generate(&self) -> Result<Id, GenerateError> {
        let run = self
            .sequencer
            // Tolerance is passed as a type, so that `Strict` leaves no code.
            // A run of one: single ids and bulk share one path, so the rules are proved once.
            .take_run_within(1, &self.clock, &self.tolerance)?;
        Ok(self.codec.id(run.first()))
    }

    /// Fills a buffer with ids and returns the number written: one exchange of the word and one
    /// clock reading per tick, and bulk encryption.
    ///
    /// Returns fewer than the buffer holds when the tick is exhausted; the next call returns the
    /// error.
    ///
    /// # Errors
    ///
    /// As for [`generate`](Generator::generate), if not a single id was generated.
    #[inline]
    pub fn fill(&self, ids: &mut [Id]) -> Result<usize, GenerateError> {
        self.codec.fill_with(ids, |most| {
            self.sequencer
                .take_run_within(most, &self.clock, &self.tolerance)
        })
    }

    /// The lease, with its current end.
    pub fn lease(&self) -> Lease<L> {
        self.sequencer.lease()
    }

    /// Extends the lease to a later end.
    ///
    /// # Errors
    ///
    /// As for [`Sequencer::extend`].
    pub fn extend(&self, extended: Lease<L>) -> Result<(), ExtendError> {
        self.sequencer.extend(extended, &self.clock)
    }

    /// Stops issuing permanently: see [`Sequencer::close`].
    pub fn close(&self) -> Option<u64> {
        self.sequencer.close()
    }

    /// Takes an id apart, for debugging: see [`Codec`].
    pub fn inspect(&self, id: Id) -> Parts {
        self.codec.inspect(id)
    }

    /// The codec of the generator, with its layout and key.
    pub fn codec(&self) -> &Codec<L, P> {
        &self.codec
    }
}

/// Shows the lease, never the key.
impl<L, W, C, P, T> Debug for Generator<L, W, C, P, T>
where
    L: AnyLayout,
    W: AtomicWord,
    C: Clock,
    P: Permutation,
    T: Tolerance,
{
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.debug_struct("Generator")
            .field("lease", &self.lease())
            .field("tolerance", &self.tolerance.ticks())
            .finish_non_exhaustive()
    }
}

/// Asks the members of a pool in turn, beginning with the one that issued last, which `cursor`
/// remembers, until one has an id at the clock's time. Only when none has one, it asks for an id up
/// to `tolerance` ticks ahead. `ask` is given the member and how many ticks ahead are allowed.
///
/// # Errors
///
/// When none has an id: of the members' errors the one that passes soonest, else one that is not
/// [`Closed`](GenerateError::Closed) if there is any. A pool without members answers
/// [`LeaseOver`](GenerateError::LeaseOver).
#[inline]
pub fn first_ready_within<M, W: AtomicWord, T>(
    members: &[M],
    cursor: &W,
    tolerance: u32,
    mut ask: impl FnMut(&M, u32) -> Result<T, GenerateError>,
) -> Result<T, GenerateError> {
    // Two passes: an id ahead of the clock is borrowed only when no member has one at the time of
    // the clock.
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
    // Out of line: without tolerance, and while any member has an id of the present tick, it is not
    // reached.
    first_ready(members, cursor, ask)
}

/// The same once, as far as `ask` allows.
#[inline]
fn first_ready<M, W: AtomicWord, T>(
    members: &[M],
    cursor: &W,
    mut ask: impl FnMut(&M) -> Result<T, GenerateError>,
) -> Result<T, GenerateError> {
    let last = cursor.load();
    // The cursor is only a hint. Any value is valid, so it needs no order with the members. A
    // cursor that is no index, as that of an empty pool, finds no member and begins with the first.
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
    // From the member after the last one and around, so that load spreads and one exhausted member
    // is not asked first each time.
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
