//! One lease, one clock, one key: ids.

use core::fmt::{self, Debug, Formatter};

use crate::{
    AnyLayout, AtomicWord, Clock, Codec, ExtendError, GenerateError, Id, Lease, LeaseError, Parts,
    Permutation, Sequencer,
};

/// Issues the ids of one lease. Share it by reference; it is `Sync` if its word and clock are.
///
/// The permutation is the layout's unless it is given another: `Generator<Snowflake, W, C>` issues plain ids,
/// `Generator<Snowflake, W, C, Sparx64>` encrypted ones.
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
    sequencer: Sequencer<L, W>,
    clock: C,
    codec: Codec<L, P>,
    tolerance: T,
}

/// How many ticks the ids of a [`Generator`] may be ahead of its clock: a `u32`, or [`Strict`].
pub trait Tolerance {
    /// The ticks.
    fn ticks(&self) -> u32;
}

/// No tick ahead of the clock, which takes neither memory nor code.
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

impl<L: AnyLayout, W: AtomicWord, C: Clock, P: Permutation> Generator<L, W, C, P> {
    /// The generator of a lease. One lease has one generator, also over restarts: see
    /// [`Sequencer::new`].
    ///
    /// # Errors
    ///
    /// [`LeaseError::TooLong`] when the word cannot count the lease's ticks.
    pub fn new(lease: Lease<L>, clock: C, permutation: P) -> Result<Self, LeaseError> {
        Ok(Self {
            sequencer: Sequencer::new(lease)?,
            clock,
            codec: Codec::new(lease.layout(), permutation),
            tolerance: Strict,
        })
    }

    /// Lets ids be up to `ticks` ahead of the clock, 0 unless set.
    ///
    /// That is the whole clock policy: with 0 a clock that stepped back and an exhausted tick refuse;
    /// with `n` the generator holds through a step back of `n` ticks, and when a tick is exhausted
    /// borrows from the next `n`.
    #[must_use]
    pub fn with_tolerance(self, ticks: u32) -> Generator<L, W, C, P, u32> {
        Generator {
            sequencer: self.sequencer,
            clock: self.clock,
            codec: self.codec,
            tolerance: ticks,
        }
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
    /// The next id. It never blocks; of two threads at least one gets on.
    ///
    /// On a microcontroller `generate().map_err(GenerateError::kind)` leaves the milliseconds of the reason out of the
    /// program, and `generate().ok()` all of it.
    ///
    /// # Errors
    ///
    /// Nothing is consumed by an error.
    ///
    /// - [`ClockUnknown`](GenerateError::ClockUnknown): the clock has no time yet;
    /// - [`SequenceExhausted`](GenerateError::SequenceExhausted): the tick's ids are all issued;
    /// - [`ClockBehind`](GenerateError::ClockBehind): the clock is before the last issued tick, or
    ///   before the lease, by more than the tolerance;
    /// - [`LeaseOver`](GenerateError::LeaseOver): the time is past the lease, or what the tolerance
    ///   allows to borrow is;
    /// - [`Sealed`](GenerateError::Sealed): [`seal`](Generator::seal) was called.
    #[inline]
    pub fn generate(&self) -> Result<Id, GenerateError> {
        let run = self
            .sequencer
            .take_run_within(1, &self.clock, &self.tolerance)?;
        Ok(self.codec.id(run.first()))
    }

    /// Fills a buffer with ids from the front, and returns how many: one exchange of the word and one reading of the
    /// clock for each tick, and many encryptions at once.
    ///
    /// Returns fewer than the buffer holds when the tick is exhausted; the next call returns the error.
    ///
    /// # Errors
    ///
    /// As for [`generate`](Generator::generate), when there was not a single id.
    #[inline]
    pub fn fill(&self, ids: &mut [Id]) -> Result<usize, GenerateError> {
        self.codec.fill_with(ids, |most| {
            self.sequencer
                .take_run_within(most, &self.clock, &self.tolerance)
        })
    }

    /// The lease as it is now.
    pub fn lease(&self) -> Lease<L> {
        self.sequencer.lease()
    }

    /// Moves the lease's end on.
    ///
    /// # Errors
    ///
    /// As for [`Sequencer::extend`].
    pub fn extend(&self, extended: Lease<L>) -> Result<(), ExtendError> {
        self.sequencer.extend(extended, &self.clock)
    }

    /// Stops issuing permanently: see [`Sequencer::seal`].
    pub fn seal(&self) -> Option<u64> {
        self.sequencer.seal()
    }

    /// The fields of an id: a debugging aid, see [`Codec`].
    pub fn inspect(&self, id: Id) -> Parts {
        self.codec.inspect(id)
    }

    /// Composes and inspects ids under the generator's key.
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
