//! Blocks: what a device uses of its grant after each reset.

use core::marker::PhantomData;
use core::time::Duration;

use crate::{HorizonError, HorizonStore, Layout, Lease};

/// Default length of a block: 60 s.
pub const DEFAULT_BLOCK_S: u32 = 60;

/// Divides the grant of a device into blocks, each recorded as used before any id of it is issued.
///
/// A device can then continue with the same grant after it lost everything else in a reset. All
/// blocks of one grant and horizon are disjoint, across any number of resets and whatever the clock
/// shows; what a reset leaves of a block is skipped.
///
/// The store gets its first horizon in the factory, or by [`provision`](Self::provision). If
/// nothing is readable later, the horizon is *lost* and no block is begun: how much of the grant
/// was used is unknown.
///
/// ```
/// use core::time::Duration;
/// use randflake_core::{Blocks, HorizonStore, Lease, Randflake};
///
/// # struct Ram(u32);
/// # impl HorizonStore for Ram {
/// #     type Error = core::convert::Infallible;
/// #     fn unix_s(&self) -> u32 { self.0 }
/// #     fn raise(&mut self, to: u32) -> Result<(), Self::Error> { self.0 = to.max(self.0); Ok(()) }
/// # }
/// # let mut store = Ram(0);
/// let grant = Lease::new(Randflake, 42, 1_000, 9_000)?;
/// // Where the device is made:
/// Blocks::new(grant, &mut store).provision()?;
///
/// let now = Duration::from_secs(1_730_000_000 + 1_500);
/// let lease = Blocks::new(grant, &mut store).begin(Some(now))?;
/// assert_eq!((lease.start(), lease.end()), (1_500, 1_560));
///
/// // After a reset, whatever the clock shows:
/// let mut blocks = Blocks::new(grant, &mut store);
/// let lease = blocks.begin(None)?;
/// assert_eq!((lease.start(), lease.end()), (1_560, 1_620));
///
/// // And before that is used up:
/// let longer = blocks.extend(lease)?;
/// assert_eq!((longer.start(), longer.end()), (1_560, 1_680));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct Blocks<L, S> {
    // The fields of the grant one by one: copying a whole lease is a call of `memcpy` on RISC-V.
    start: u64,
    end: u64,
    node_id: u32,
    layout: PhantomData<L>,
    pub(super) store: S,
    block_s: u32,
}

impl<L: Layout, S> Blocks<L, S> {
    /// Creates the blocks of a grant after the horizon of the store, 60 s long. The grant belongs
    /// to this device and this horizon alone.
    pub const fn new(grant: Lease<L>, store: S) -> Self {
        Self {
            start: grant.start(),
            end: grant.end(),
            node_id: grant.node_id(),
            layout: PhantomData,
            store,
            block_s: DEFAULT_BLOCK_S,
        }
    }

    /// Sets the length of a block in seconds; 0 counts as 1. Longer blocks wear the medium less,
    /// and skip more at a reset.
    ///
    /// The store may raise the horizon some seconds higher, above all after writes that failed, and
    /// a block has these too. So stay below what the generator's word counts: 32,700 s for one of
    /// 32 bits in the Randflake layout, which leaves room for sixteen failed writes. A block that
    /// is longer than the word counts is refused as
    /// [`LeaseError::TooLong`](crate::LeaseError::TooLong) by the generator, and is used up.
    #[must_use]
    pub const fn with_block_s(mut self, block_s: u32) -> Self {
        // An empty block would raise the horizon without giving a tick.
        self.block_s = if block_s == 0 { 1 } else { block_s };
        self
    }

    /// The store. Its horizon is where a clock without a time source may start.
    pub const fn store(&self) -> &S {
        &self.store
    }

    /// The store, for what it offers beyond [`HorizonStore`]. If its horizon is raised, the last
    /// block cannot be extended.
    pub const fn store_mut(&mut self) -> &mut S {
        &mut self.store
    }

    /// First horizon to write, given the one that the store shows.
    pub(super) fn first<E>(&self, horizon: u32) -> Result<u32, HorizonError<E>> {
        if horizon != 0 {
            return Err(HorizonError::Provisioned);
        }
        // At least 1, because 0 means that the horizon is lost.
        let first = L::SPEC.unix_s_from(self.start).max(1);
        u32::try_from(first).map_err(|_| HorizonError::OutOfRange)
    }

    /// The next block, given the horizon of the store.
    pub(super) fn next<E>(
        &self,
        horizon: u32,
        now: Option<Duration>,
    ) -> Result<Claim, HorizonError<E>> {
        let horizon = L::SPEC.tick_from(known(horizon)?);
        // Without a time the block begins at the horizon. Its ids are as unique, but their time is
        // old.
        let tick = now.and_then(|now| L::SPEC.tick_at(now)).unwrap_or(0);
        // Never before the horizon, whatever the clock shows: those ticks may be used.
        let start = self.start.max(horizon).max(tick);
        self.claim(start, start)
    }

    /// The last block extended by one, given the horizon of the store.
    pub(super) fn longer<E>(
        &self,
        horizon: u32,
        lease: Lease<L>,
    ) -> Result<Claim, HorizonError<E>> {
        // An older block may be extended by nobody: ticks after it belong to later blocks.
        if !self.is_last(known(horizon)?, &lease) {
            return Err(HorizonError::Foreign);
        }
        // With the start of the block: its generator is extended and goes on, it is not replaced.
        self.claim(lease.start(), lease.end())
    }

    /// Whether a lease is the last block or the end of it, given the horizon of the store.
    pub(super) fn is_last(&self, horizon: u32, lease: &Lease<L>) -> bool {
        lease.end() == self.end_below(horizon) && lease.node_id() == self.node_id
    }

    /// Claims from `start` to one block after `end`.
    fn claim<E>(&self, start: u64, end: u64) -> Result<Claim, HorizonError<E>> {
        // Checked before the store is touched: a grant that is used up wears no flash.
        if end >= self.end {
            return Err(HorizonError::GrantUsed);
        }
        // A block has at least one tick, however long that is.
        let block_s = u64::from(self.block_s).max(L::SPEC.tick_ms().div_ceil(1_000));
        // May be past the end of the grant: `lease` cuts the block there, and at the next call the
        // grant is used up.
        let horizon = L::SPEC.unix_s_from(end).saturating_add(block_s);
        let horizon = u32::try_from(horizon).map_err(|_| HorizonError::OutOfRange)?;
        Ok(Claim { start, horizon })
    }

    /// The lease of a claim, up to the horizon that the store has reached, which may be higher than
    /// requested.
    pub(super) fn lease(&self, claim: &Claim, horizon: u32) -> Lease<L> {
        // The store may have rounded the horizon up: the ticks in between are this block's too,
        // since no other block can begin before the horizon.
        let until = self.end_below(horizon);
        // Never empty: a block has a tick at least, and a store shows no less than it was raised
        // to.
        Lease::checked_before(L::default(), self.node_id, claim.start, until)
    }

    /// End of what lies entirely below the horizon, within the grant.
    fn end_below(&self, horizon: u32) -> u64 {
        let end = L::SPEC.tick_at(Duration::from_secs(horizon.into()));
        // 0 is before every grant: a horizon before the epoch ends no block.
        end.unwrap_or(0).min(self.end)
    }
}

/// A block to use once the store was raised to its horizon.
pub(super) struct Claim {
    /// First tick of the block.
    start: u64,
    pub(super) horizon: u32,
}

/// Checks that a horizon is known: 0 means that it is lost.
const fn known<E>(horizon: u32) -> Result<u32, HorizonError<E>> {
    match horizon {
        0 => Err(HorizonError::Lost),
        horizon => Ok(horizon),
    }
}

impl<L: Layout, S: HorizonStore> Blocks<L, S> {
    /// Writes the first horizon, at the start of the grant: once in the life of a device, or of a
    /// grant that replaces one whose horizon was lost. Call it on the decision of a person or
    /// server that knows that the grant is unused.
    ///
    /// Never call it at each boot: after its flash was erased, the firmware would use a grant again
    /// and repeat ids.
    ///
    /// # Errors
    ///
    /// - [`Provisioned`](HorizonError::Provisioned): there is a horizon, and it stays as it is; a
    ///   new grant needs no other;
    /// - [`OutOfRange`](HorizonError::OutOfRange): the grant begins past 2106-02-07 06:28:15 UTC;
    /// - [`Store`](HorizonError::Store): the store failed.
    pub fn provision(&mut self) -> Result<(), HorizonError<S::Error>> {
        let first = self.first(self.store.unix_s())?;
        self.store.raise(first).map_err(HorizonError::Store)
    }

    /// Begins the next block, for a new generator: after a reset, or when the previous block has
    /// expired. It begins at the horizon, or at `now` if later, and is durable on return.
    ///
    /// A wrong `now` wastes the ticks up to it, so use a clock that was set within
    /// [`TimeBounds`](crate::TimeBounds).
    ///
    /// # Errors
    ///
    /// On an error no block was begun.
    ///
    /// - [`Lost`](HorizonError::Lost): the store shows no horizon. This grant must not be used
    ///   again: take one that nobody has used, and [`provision`](Self::provision);
    /// - [`GrantUsed`](HorizonError::GrantUsed): nothing is left of the grant;
    /// - [`OutOfRange`](HorizonError::OutOfRange): the block would end past 2106-02-07 06:28:15
    ///   UTC;
    /// - [`Store`](HorizonError::Store): the store failed.
    pub fn begin(&mut self, now: Option<Duration>) -> Result<Lease<L>, HorizonError<S::Error>> {
        let claim = self.next(self.store.unix_s(), now)?;
        self.raise(&claim)
    }

    /// Extends the last block by one, for [`Generator::extend`](crate::Generator::extend) before it
    /// expires; durable on return.
    ///
    /// # Errors
    ///
    /// As for `begin`, and [`Foreign`](HorizonError::Foreign) when the lease is not that of the
    /// last block. The lease is as it was.
    pub fn extend(&mut self, lease: Lease<L>) -> Result<Lease<L>, HorizonError<S::Error>> {
        let claim = self.longer(self.store.unix_s(), lease)?;
        self.raise(&claim)
    }

    fn raise(&mut self, claim: &Claim) -> Result<Lease<L>, HorizonError<S::Error>> {
        self.store
            // Durable before the lease exists, so no id of it can be issued under a horizon that a
            // reset would forget.
            .raise(claim.horizon)
            .map_err(HorizonError::Store)?;
        Ok(self.lease(claim, self.store.unix_s()))
    }
}

#[cfg(test)]
mod tests {
    //! Blocks over resets, in every layout.

    #![expect(clippy::arithmetic_side_effects, reason = "a test fails by panicking")]

    use super::*;
    use crate::{LayoutFields, LayoutSpec, Plain, Randflake, Snowflake, Sonyflake};

    /// A medium that fails when told so.
    struct Ram {
        horizon: u32,
        works: bool,
    }

    impl HorizonStore for Ram {
        type Error = ();

        fn unix_s(&self) -> u32 {
            self.horizon
        }

        fn raise(&mut self, to: u32) -> Result<(), ()> {
            self.horizon = self.horizon.max(to);
            self.works.then_some(()).ok_or(())
        }
    }

    /// Provisioned before any grant.
    fn ram() -> Ram {
        Ram {
            horizon: 1,
            works: true,
        }
    }

    /// A tick of 1.5 s from a moment within a second.
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
    struct Odd;

    impl Layout for Odd {
        type Permutation = Plain;
        const SPEC: LayoutSpec = LayoutSpec::declare(LayoutFields::in_order(
            [40, 12, 12],
            1_600_000_000_700,
            1_500,
        ));
    }

    /// Its first tick is at 0.
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
    struct From1970;

    impl Layout for From1970 {
        type Permutation = Plain;
        const SPEC: LayoutSpec =
            LayoutSpec::declare(LayoutFields::in_order([40, 12, 12], 0, 1_000));
    }

    /// Blocks over resets are disjoint, and no tick of one is past the horizon that was written
    /// before.
    fn blocks_are_disjoint<L: Layout>() {
        let grant = Lease::new(L::default(), 3, 50, 5_000_000).unwrap();
        let mut store = ram();
        let mut used = 0;
        for reset in 0..50_u32 {
            let now = (reset % 3 == 0)
                .then(|| Duration::from_millis(L::SPEC.unix_ms(used + u64::from(reset) * 7)));
            let mut blocks = Blocks::new(grant, &mut store).with_block_s(reset % 5);
            let mut lease = blocks.begin(now).unwrap();
            assert!(lease.start() >= used, "{reset}");
            for _ in 0..reset % 4 {
                let longer = blocks.extend(lease).unwrap();
                assert_eq!(longer.start(), lease.start());
                assert!(longer.end() > lease.end());
                lease = longer;
            }
            assert!(lease.ticks() > 0);
            used = lease.end();
            assert!(L::SPEC.unix_ms(used) <= u64::from(store.horizon) * 1_000);
        }
    }

    #[test]
    fn blocks_are_disjoint_in_every_layout() {
        blocks_are_disjoint::<Randflake>();
        blocks_are_disjoint::<Snowflake>();
        blocks_are_disjoint::<Sonyflake>();
        blocks_are_disjoint::<Odd>();
    }

    #[test]
    fn block_begins_at_clock_or_horizon() {
        let grant = Lease::new(Randflake, 1, 0, 10_000).unwrap();
        let at = |tick| Some(Duration::from_millis(Randflake::SPEC.unix_ms(tick)));
        let mut store = ram();
        let mut blocks = Blocks::new(grant, &mut store);
        assert_eq!(blocks.begin(at(700)).unwrap().start(), 700);
        assert_eq!(blocks.begin(at(300)).unwrap().start(), 760);
        assert_eq!(blocks.begin(Some(Duration::ZERO)).unwrap().start(), 820);
    }

    #[test]
    fn a_grant_ends() {
        let grant = Lease::new(Randflake, 1, 100, 190).unwrap();
        let mut store = ram();
        let mut blocks = Blocks::new(grant, &mut store);
        let lease = blocks.begin(None).unwrap();
        let longer = blocks.extend(lease).unwrap();
        assert_eq!((longer.start(), longer.end()), (100, 190));
        assert_eq!(blocks.extend(longer), Err(HorizonError::GrantUsed));
        assert_eq!(blocks.begin(None), Err(HorizonError::GrantUsed));
        assert_eq!(
            blocks.begin(Some(Duration::MAX)),
            Err(HorizonError::GrantUsed)
        );
    }

    #[test]
    fn only_the_last_block_is_extended() {
        let grant = Lease::new(Randflake, 1, 100, 900).unwrap();
        let mut store = ram();
        let mut blocks = Blocks::new(grant, &mut store);
        let former = blocks.begin(None).unwrap();
        let last = blocks.begin(None).unwrap();
        assert_eq!(blocks.extend(former), Err(HorizonError::Foreign));
        let other_node = Lease::new(Randflake, 2, last.start(), last.end()).unwrap();
        assert_eq!(blocks.extend(other_node), Err(HorizonError::Foreign));
        assert!(blocks.extend(last).is_ok());
    }

    #[test]
    fn nothing_is_used_that_was_not_written() {
        let grant = Lease::new(Randflake, 1, 100, 900).unwrap();
        let mut store = ram();
        store.works = false;
        let mut blocks = Blocks::new(grant, &mut store);
        assert_eq!(blocks.begin(None), Err(HorizonError::Store(())));
        store.works = true;
        // The medium may have been written all the same.
        assert_eq!(
            Blocks::new(grant, &mut store).begin(None).unwrap().start(),
            160
        );
    }

    #[test]
    fn the_last_second_is_in_2106() {
        let end = Sonyflake::SPEC.max_tick() + 1;
        let grant = Lease::new(Sonyflake, 1, 0, end).unwrap();
        let mut store = Ram {
            horizon: u32::MAX - 10,
            works: true,
        };
        let refused = Blocks::new(grant, &mut store).begin(None);
        assert_eq!(refused, Err(HorizonError::OutOfRange));
        assert_eq!(store.horizon, u32::MAX - 10);
    }

    #[test]
    fn a_grant_is_not_used_without_a_horizon() {
        let grant = Lease::new(Randflake, 1, 100, 900).unwrap();
        let mut store = ram();
        store.horizon = 0;
        let mut blocks = Blocks::new(grant, &mut store);
        assert_eq!(blocks.begin(None), Err(HorizonError::Lost));
        assert_eq!(
            blocks.begin(Some(Duration::from_secs(1_730_000_200))),
            Err(HorizonError::Lost)
        );
        assert_eq!(blocks.extend(grant), Err(HorizonError::Lost));
        assert_eq!(blocks.store().horizon, 0, "nothing was written");

        assert_eq!(blocks.provision(), Ok(()));
        assert_eq!(blocks.provision(), Err(HorizonError::Provisioned));
        let lease = blocks.begin(None).unwrap();
        assert_eq!((lease.start(), lease.end()), (100, 160));

        // Its memory is lost.
        store.horizon = 0;
        let mut blocks = Blocks::new(grant, &mut store);
        assert_eq!(blocks.begin(None), Err(HorizonError::Lost));
    }

    #[test]
    fn a_first_horizon_is_never_0() {
        let grant = Lease::new(From1970, 1, 0, 900).unwrap();
        let mut store = ram();
        store.horizon = 0;
        let mut blocks = Blocks::new(grant, &mut store);
        assert_eq!(blocks.provision(), Ok(()));
        assert!(blocks.begin(None).is_ok());

        let end = Sonyflake::SPEC.max_tick() + 1;
        let late = Lease::new(Sonyflake, 1, end - 1, end).unwrap();
        store.horizon = 0;
        let refused = Blocks::new(late, &mut store).provision();
        assert_eq!(refused, Err(HorizonError::OutOfRange));
    }

    /// A store may hold whole units only.
    #[test]
    fn a_block_goes_as_far_as_the_store_was_raised() {
        struct Units(u32);
        impl HorizonStore for Units {
            type Error = ();

            fn unix_s(&self) -> u32 {
                self.0
            }

            fn raise(&mut self, to: u32) -> Result<(), ()> {
                self.0 = self.0.max(to.next_multiple_of(100));
                Ok(())
            }
        }
        let grant = Lease::new(Randflake, 1, 100, 900).unwrap();
        let mut blocks = Blocks::new(grant, Units(1_730_000_000));
        let lease = blocks.begin(None).unwrap();
        assert_eq!((lease.start(), lease.end()), (100, 200));
        let longer = blocks.extend(lease).unwrap();
        assert_eq!((longer.start(), longer.end()), (100, 300));
        assert_eq!(blocks.begin(None).unwrap().start(), 300);
    }

    #[test]
    fn block_length_is_as_set_and_at_least_a_second() {
        let grant = Lease::new(Randflake, 1, 100, 900).unwrap();
        for (block_s, ticks) in [(0, 1), (1, 1), (2, 2), (300, 300)] {
            let mut blocks = Blocks::new(grant, ram()).with_block_s(block_s);
            let lease = blocks.begin(None).unwrap();
            assert_eq!((lease.start(), lease.ticks()), (100, ticks));
        }
    }
}
