//! Lanes: each interrupt priority issues its own share of the sequences of a tick.

use core::fmt::{self, Debug, Formatter};
use core::marker::PhantomData;

use crate::permutation::check_width;
use crate::sequencer::explain;
use crate::state::{StepTerms, max_length, step};
use crate::{
    Clock, ExtendError, GenerateError, Id, Layout, Lease, LeaseError, Permutation, Strict,
    Tolerance, Word,
};

/// A generator that owns a share of the sequences of each tick: one per interrupt priority and one
/// for the main code.
///
/// Each lane is used through `&mut` by one priority, so nothing is shared: no atomic word, no
/// masked interrupt.
///
/// ```text
/// sequence | lane | its own sequence |        two lanes: one bit; four: two
/// ```
///
/// With `N` lanes each issues `1/N` of the ids of a tick: 65,536 a second of the Randflake layout
/// for two. Lanes of a lease differ in the top bits of the sequence, so their ids are distinct. On
/// two cores each may take a lane.
///
/// ```
/// use randflake_core::{Lane, Lease, ManualClock, Parts, Codec, Randflake, Sparx64};
///
/// let clock = ManualClock::at_unix_ms(1_733_706_297_000);
/// let key = Sparx64::new(&[7; 16]);
/// let lease = Lease::new(Randflake, 42, 3_706_297, 3_706_357)?;
/// let [mut main_code, mut interrupt] = Lane::split(lease, &clock, &key)?;
///
/// let ids = [main_code.generate()?, interrupt.generate()?];
/// let codec = Codec::new(Randflake, Sparx64::new(&[7; 16]));
/// assert_eq!(ids.map(|id| codec.inspect(id).sequence), [0, 65_536]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct Lane<L, C, P, T = Strict> {
    /// The raw id of the lease's first tick and the lane's first sequence, which has the lane's
    /// number in its top bits.
    first_raw: u64,
    /// The next position not issued yet, counted in this lane's sequences.
    next: u32,
    /// Number of ticks of the lease.
    length: u32,
    /// Number of low sequence bits that the lane counts in.
    bits: u32,
    tolerance: T,
    clock: C,
    permutation: P,
    layout: PhantomData<L>,
}

impl<L: Layout, C: Clock + Clone, P: Permutation + Clone> Lane<L, C, P> {
    /// Splits an unused lease into `N` lanes. `N` must be a power of two, at most the number of
    /// sequences in a tick, or this does not compile. Split a lease only once, also across
    /// restarts.
    ///
    /// Pass the clock and the key by reference to share them.
    ///
    /// # Errors
    ///
    /// [`LeaseError::TooLong`] when 32 bits cannot count the lease's positions: for two lanes of
    /// the Randflake layout 65,535 seconds, twice as long for twice as many.
    /// [`LeaseError::TooWide`] if the layout uses more bits than the permutation permutes.
    pub fn split<const N: usize>(
        lease: Lease<L>,
        clock: C,
        permutation: P,
    ) -> Result<[Self; N], LeaseError> {
        const {
            assert!(N.is_power_of_two(), "lanes are a power of two");
            assert!(
                N.ilog2() <= L::SPEC.sequence_bits(),
                "a tick has fewer sequences than there are lanes"
            );
        }
        check_width(lease.layout(), &permutation)?;
        let bits = L::SPEC.sequence_bits().saturating_sub(N.ilog2());
        let length = length(&lease, bits)?;
        let mut number = 0_u32;
        Ok([(); N].map(|()| {
            // The lane's number is in the top bits of the sequence, so no two lanes have a sequence
            // in common. With one lane and a sequence of 32 bits the shift is by the whole width:
            // 0.
            let first = number.checked_shl(bits).unwrap_or_default();
            number = number.wrapping_add(1);
            Self {
                first_raw: L::SPEC.pack(lease.start(), lease.node_id(), first.into()),
                next: 0,
                length,
                bits,
                tolerance: Strict,
                clock: clock.clone(),
                permutation: permutation.clone(),
                layout: PhantomData,
            }
        }))
    }

    /// Allows ids of this lane to be up to `ticks` ahead of the clock: see
    /// [`Generator::with_tolerance`](crate::Generator::with_tolerance).
    #[must_use]
    pub fn with_tolerance(self, ticks: u32) -> Lane<L, C, P, u32> {
        Lane {
            first_raw: self.first_raw,
            next: self.next,
            length: self.length,
            bits: self.bits,
            tolerance: ticks,
            clock: self.clock,
            permutation: self.permutation,
            layout: PhantomData,
        }
    }
}

/// The lease's ticks, unless 32 bits cannot count their positions.
fn length<L: Layout>(lease: &Lease<L>, bits: u32) -> Result<u32, LeaseError> {
    let (ticks, max) = (lease.ticks(), max_length::<u32>(bits));
    if ticks > max {
        return Err(LeaseError::TooLong { ticks, max });
    }
    Ok(u32::low_bits_of(ticks))
}

impl<L: Layout, C: Clock, P: Permutation, T: Tolerance> Lane<L, C, P, T> {
    /// Generates the next id of the lane.
    ///
    /// # Errors
    ///
    /// As for [`Generator::generate`](crate::Generator::generate), of the lane's own sequences.
    /// Nothing is consumed then.
    #[inline]
    pub fn generate(&mut self) -> Result<Id, GenerateError> {
        // Nobody else moves the position of a lane, so unlike in `Sequencer` the order of reading
        // the clock and the position does not matter.
        let Some(now) = self.clock.now() else {
            return Err(GenerateError::ClockUnknown);
        };
        let terms = StepTerms {
            start: self.start(),
            length: self.length,
            tolerance: self.tolerance.ticks(),
            sequence_bits: self.bits,
        };
        let position = step(L::SPEC, self.next, now, &terms)
            .map_err(|refusal| explain(L::SPEC, refusal, self.next, now, terms))?;
        // A plain store: `&mut self` shows that no other code is inside this lane. It cannot wrap
        // to a used position, as `length` keeps every position below the highest number.
        self.next = position.wrapping_add(1);
        // No field carries into another: the sequence of `first_raw` has only the lane's number.
        let elapsed = position.shr(self.bits).into();
        let sequence = position & self.mask();
        let raw = self
            .first_raw
            .wrapping_add(L::SPEC.pack(elapsed, 0, sequence.into()));
        Ok(Id::from_u64(self.permutation.permute(raw)))
    }

    /// Extends the lease for this lane; an end that is not later changes nothing. Each lane is
    /// extended by itself.
    ///
    /// # Errors
    ///
    /// As for [`Sequencer::extend`](crate::Sequencer::extend); nothing has changed then.
    pub fn extend(&mut self, extended: Lease<L>) -> Result<(), ExtendError> {
        let lease = self.lease();
        // The layout is a type here, so leases of another one do not compile.
        if extended.start() != lease.start() || extended.node_id() != lease.node_id() {
            return Err(ExtendError::Foreign);
        }
        // As in `split`: the positions of the longer lease, and the one after it, must fit 32 bits.
        let (ticks, max) = (extended.ticks(), max_length::<u32>(self.bits));
        if ticks > max {
            return Err(ExtendError::TooLong { ticks, max });
        }
        let Some(now) = self.clock.now() else {
            return Err(ExtendError::ClockUnknown);
        };
        // Once it has expired the store may have granted the node id to somebody else from there
        // on.
        if L::SPEC.tick_at(now).is_some_and(|tick| tick >= lease.end()) {
            return Err(ExtendError::Expired {
                since_ms: L::SPEC.ms_since(lease.end(), now),
            });
        }
        // Never shorter: ids up to the former end may be issued already.
        self.length = self.length.max(u32::low_bits_of(ticks));
        Ok(())
    }

    /// The lease, with its current end.
    pub fn lease(&self) -> Lease<L> {
        let start = self.start();
        let end = start.saturating_add(self.length.into());
        let node_id = L::SPEC.unpack(self.first_raw).node_id;
        Lease::checked_before(L::default(), node_id, start, end)
    }

    #[inline]
    fn start(&self) -> u64 {
        L::SPEC.unpack(self.first_raw).tick
    }

    /// The bits of a position that are its sequence.
    #[inline]
    fn mask(&self) -> u32 {
        u32::MAX
            .checked_shl(self.bits)
            .map_or(u32::MAX, |high| !high)
    }
}

/// Shows the lease and the lane's first sequence, never the key.
impl<L: Layout, C: Clock, P: Permutation, T: Tolerance> Debug for Lane<L, C, P, T> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.debug_struct("Lane")
            .field("lease", &self.lease())
            .field("first", &L::SPEC.unpack(self.first_raw).sequence)
            .field("tolerance", &self.tolerance.ticks())
            .finish_non_exhaustive()
    }
}
