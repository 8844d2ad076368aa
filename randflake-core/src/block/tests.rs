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
fn a_block_is_counted_once_however_often_it_is_refilled() {
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
fn blocks_shrink_with_what_is_left_of_the_tick_and_give_the_rest_back() {
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
    world.sequencer.seal();
    let codec = Codec::new(Randflake, Plain);
    let refilled = block.refill(&world.sequencer, &world.budget, &codec, world.now_ns);
    assert_eq!(refilled, Err(GenerateError::Sealed));
    assert_eq!((block.handed_out(), block.left()), (3, 0));
}
