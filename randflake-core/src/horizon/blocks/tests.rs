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
    const SPEC: LayoutSpec = LayoutSpec::declare(LayoutFields::in_order([40, 12, 12], 0, 1_000));
}

/// Blocks over resets are disjoint, and no tick of one is past the horizon that was written before.
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
fn a_clock_ahead_begins_there_and_one_behind_at_the_horizon() {
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
fn a_block_is_as_long_as_it_was_set_and_a_second_at_least() {
    let grant = Lease::new(Randflake, 1, 100, 900).unwrap();
    for (block_s, ticks) in [(0, 1), (1, 1), (2, 2), (300, 300)] {
        let mut blocks = Blocks::new(grant, ram()).with_block_s(block_s);
        let lease = blocks.begin(None).unwrap();
        assert_eq!((lease.start(), lease.ticks()), (100, ticks));
    }
}
