//! Blocks of several threads under every interleaving that loom's memory model allows: taking from them, and dropping
//! them because the lease was sealed.

#![cfg(all(not(miri), any(target_arch = "x86_64", target_arch = "aarch64")))]
#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

mod loom_word;

use std::sync::Arc;

use loom::model::Builder;
use loom::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use loom::thread;
use loom_word::LoomWord;
use randflake_core::internal::{Block, BlockBudget};
use randflake_core::{Codec, Id, Layout, LayoutFields, LayoutSpec, Lease, Plain, Sequencer};

const PREEMPTIONS: usize = 3;
const NOW_NS: u64 = 500_000_000;

/// As many ids a second as make blocks of 2 and 4, and eight that may be budget.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Tiny;

impl Layout for Tiny {
    type Permutation = Plain;
    const SPEC: LayoutSpec = LayoutSpec::declare(LayoutFields::in_order([8, 0, 8], 0, 1_000));
}

/// What threads share of a handle.
struct World {
    sequencer: Sequencer<Tiny, LoomWord>,
    budget: BlockBudget<LoomWord>,
    codec: Codec<Tiny>,
    /// How often the lease was sealed.
    seals: AtomicU64,
    is_closed: AtomicBool,
}

impl World {
    fn new() -> Arc<Self> {
        Arc::new(Self {
            sequencer: Sequencer::new(Lease::new(Tiny, 0, 0, 9).unwrap()).unwrap(),
            budget: BlockBudget::new(),
            codec: Codec::new(Tiny, Plain),
            seals: AtomicU64::new(0),
            is_closed: AtomicBool::new(false),
        })
    }

    fn close(&self) {
        self.sequencer.seal();
        self.seals.fetch_add(1, Ordering::AcqRel);
        self.is_closed.store(true, Ordering::Release);
    }
}

/// A thread's block, and what must still be so.
struct Mine {
    block: Block<[u64; 4]>,
    taken_at: u64,
    looks: bool,
}

impl Mine {
    fn new(looks: bool) -> Self {
        Self {
            block: Block::new([0; 4]),
            taken_at: 0,
            looks,
        }
    }

    fn next(&mut self, world: &World) -> Option<Id> {
        let (taken_at, looks) = (self.taken_at, self.looks);
        let is_valid = |taken_at| !looks || world.seals.load(Ordering::Acquire) == taken_at;
        if let Some(id) = self.block.take(NOW_NS, || is_valid(taken_at)) {
            return Some(id);
        }
        self.taken_at = world.seals.load(Ordering::Acquire);
        let (sequencer, budget) = (&world.sequencer, &world.budget);
        let id = self.block.refill(sequencer, budget, &world.codec, NOW_NS);
        id.ok().filter(|_| is_valid(self.taken_at))
    }
}

fn explore(model: impl Fn() + Send + Sync + 'static) {
    let mut builder = Builder::new();
    builder.preemption_bound = Some(PREEMPTIONS);
    builder.check(model);
}

/// An id after the handle was closed, to somebody who knows that it was.
fn close_while_taking(looks: bool) {
    explore(move || {
        let world = World::new();
        let closing = Arc::clone(&world);
        let closer = thread::spawn(move || closing.close());
        let mut mine = Mine::new(looks);
        for _ in 0..5 {
            let was_closed = world.is_closed.load(Ordering::Acquire);
            let id = mine.next(&world);
            assert!(!was_closed || id.is_none(), "issued after it was closed");
        }
        closer.join().unwrap();
        assert!(mine.next(&world).is_none(), "issued after it was closed");
    });
}

#[test]
fn no_id_of_a_block_is_handed_out_after_close() {
    close_while_taking(true);
}

#[test]
#[should_panic(expected = "issued after it was closed")]
fn a_block_that_does_not_look_is_found() {
    close_while_taking(false);
}

#[test]
fn two_threads_never_have_the_same_id_nor_hold_too_many() {
    explore(|| {
        let world = World::new();
        let issue = |world: Arc<World>| {
            move || {
                let mut mine = Mine::new(true);
                let ids = (0..4).map(|_| mine.next(&world).unwrap());
                (ids.collect::<Vec<_>>(), mine.block.left())
            }
        };
        let other = thread::spawn(issue(Arc::clone(&world)));
        let (mut ids, left) = issue(Arc::clone(&world))();
        let (other_ids, other_left) = other.join().unwrap();
        ids.extend(other_ids);
        ids.sort();
        ids.dedup();
        assert_eq!(ids.len(), 8);
        assert!(left + other_left <= 256 / 16);
    });
}
