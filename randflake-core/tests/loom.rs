//! The generator's word, blocks and the buffer of segments under every interleaving that loom's
//! memory model allows.
//!
//! Loom's atomic is one more [`AtomicWord`]; nothing in the crate knows of it. Most models are
//! explored completely. Those of three threads and a clock are bounded to [`PREEMPTIONS`]: five
//! take most of a minute, each more up to ten times as long, and a faulty word shows with one.

#![cfg(all(not(miri), any(target_arch = "x86_64", target_arch = "aarch64")))]
#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use core::sync::atomic;
use core::time::Duration;
use std::sync::Arc;

use loom::model::Builder;
use loom::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};
use loom::thread;
use randflake_core::{
    AtomicWord, Clock, Field, GenerateError, Layout, LayoutFields, LayoutSpec, Lease, Plain,
    Sequencer,
};

const PREEMPTIONS: usize = 4;

/// Two ids a millisecond.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Tiny;

impl Layout for Tiny {
    type Permutation = Plain;
    const SPEC: LayoutSpec = LayoutSpec::declare(LayoutFields {
        timestamp: Field { bits: 8, shift: 1 },
        node_id: Field { bits: 1, shift: 9 },
        sequence: Field { bits: 1, shift: 0 },
        epoch_unix_ms: 0,
        tick_ms: 1,
    });
}

/// With the orderings of the native words.
struct LoomWord(AtomicU32);

impl AtomicWord for LoomWord {
    type Value = u32;

    fn new(value: u32) -> Self {
        Self(AtomicU32::new(value))
    }

    fn load(&self) -> u32 {
        self.0.load(Ordering::Acquire)
    }

    fn load_relaxed(&self) -> u32 {
        self.0.load(Ordering::Relaxed)
    }

    fn compare_exchange(&self, current: u32, new: u32) -> bool {
        self.0
            .compare_exchange(current, new, Ordering::AcqRel, Ordering::Relaxed)
            .is_ok()
    }
}

/// As [`LoomWord`], with 64 bits.
struct LoomWord64(AtomicU64);

impl AtomicWord for LoomWord64 {
    type Value = u64;

    fn new(value: u64) -> Self {
        Self(AtomicU64::new(value))
    }

    fn load(&self) -> u64 {
        self.0.load(Ordering::Acquire)
    }

    fn load_relaxed(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }

    fn compare_exchange(&self, current: u64, new: u64) -> bool {
        self.0
            .compare_exchange(current, new, Ordering::AcqRel, Ordering::Relaxed)
            .is_ok()
    }
}

/// A word that is wrong: another thread may write between its comparison and its exchange.
struct TornWord(AtomicU32);

impl AtomicWord for TornWord {
    type Value = u32;

    fn new(value: u32) -> Self {
        Self(AtomicU32::new(value))
    }

    fn load(&self) -> u32 {
        self.0.load(Ordering::Acquire)
    }

    fn compare_exchange(&self, current: u32, new: u32) -> bool {
        let equal = self.0.load(Ordering::Acquire) == current;
        if equal {
            self.0.store(new, Ordering::Release);
        }
        equal
    }
}

/// A clock in milliseconds, which threads may see late.
struct LoomClock(AtomicU64);

impl Clock for LoomClock {
    fn now(&self) -> Option<Duration> {
        Some(Duration::from_millis(self.0.load(Ordering::Relaxed)))
    }
}

struct World<W> {
    sequencer: Sequencer<Tiny, W>,
    clock: LoomClock,
}

impl<W: AtomicWord + Send + Sync + 'static> World<W> {
    /// A lease of ticks 0 to `end - 1`, and the clock at tick 0.
    fn new(end: u64) -> Arc<Self> {
        Arc::new(Self {
            sequencer: Sequencer::new(lease(end)).unwrap(),
            clock: LoomClock(AtomicU64::new(0)),
        })
    }

    fn take(&self) -> Result<u64, GenerateError> {
        self.sequencer.take(&self.clock, 0)
    }

    fn tick_on(&self) {
        self.clock.0.store(1, Ordering::Relaxed);
    }

    /// A thread that takes `count` times, and what it got.
    fn taker(self: &Arc<Self>, count: usize) -> thread::JoinHandle<Vec<u64>> {
        let world = Arc::clone(self);
        thread::spawn(move || (0..count).filter_map(|_| world.take().ok()).collect())
    }
}

fn lease(end: u64) -> Lease<Tiny> {
    Lease::new(Tiny, 0, 0, end).unwrap()
}

fn tick(raw: u64) -> u64 {
    raw >> 1
}

/// Explores all interleavings, or those with at most so many preemptions.
fn explore(preemptions: impl Into<Option<usize>>, model: impl Fn() + Send + Sync + 'static) {
    let mut builder = Builder::new();
    builder.preemption_bound = preemptions.into();
    builder.check(model);
}

/// What the takers and the model's own thread got.
fn join(
    takers: impl IntoIterator<Item = thread::JoinHandle<Vec<u64>>>,
    own: impl IntoIterator<Item = u64>,
) -> Vec<u64> {
    let taken = takers.into_iter().flat_map(|taker| taker.join().unwrap());
    let mut raws: Vec<u64> = taken.chain(own).collect();
    raws.sort_unstable();
    raws
}

fn assert_distinct(raws: &[u64]) {
    assert!(raws.windows(2).all(|pair| pair[0] != pair[1]), "{raws:?}");
}

#[test]
fn two_threads_across_a_tick_change() {
    explore(None, || {
        let world = World::<LoomWord>::new(4);
        let taker = world.taker(2);
        let first = world.take().ok();
        world.tick_on();
        let second = world.take().ok();
        let raws = join([taker], first.into_iter().chain(second));
        assert_distinct(&raws);
        assert!(raws.len() >= 2, "some were refused, but not all");
    });
}

#[test]
fn three_threads_across_a_tick_change() {
    explore(PREEMPTIONS, || {
        let world = World::<LoomWord>::new(4);
        let takers = [world.taker(1), world.taker(2)];
        world.tick_on();
        let raws = join(takers, world.take().ok());
        assert_distinct(&raws);
        assert!(raws.len() >= 2, "some were refused, but not all");
    });
}

#[test]
fn three_threads_exhaust_a_tick() {
    explore(None, || {
        let world = World::<LoomWord>::new(4);
        let takers = [world.taker(1), world.taker(1)];
        let own = world.take().ok();
        assert_eq!(join(takers, own), [0, 1], "the tick's ids, each once");
        let exhausted = GenerateError::SequenceExhausted { retry_in_ms: 1 };
        assert_eq!(world.take(), Err(exhausted));
    });
}

#[test]
fn two_threads_take_runs() {
    explore(None, || {
        let world = World::<LoomWord>::new(4);
        // The sequence is the lowest field, so the raw ids of a run are consecutive.
        let take_run = |world: &World<LoomWord>, tolerance| {
            let run = world.sequencer.take_run(2, &world.clock, tolerance);
            run.map_or(vec![], |run| (run.first()..).take(run.len()).collect())
        };
        let taker = {
            let world = Arc::clone(&world);
            thread::spawn(move || take_run(&world, 1))
        };
        let first = world.take().ok();
        world.tick_on();
        let own = take_run(&world, 0);
        let raws = join([taker], first.into_iter().chain(own));
        assert_distinct(&raws);
        assert!(raws.len() >= 2, "some were refused, but not all");
    });
}

#[test]
fn nothing_is_issued_after_close_returned() {
    explore(PREEMPTIONS, || {
        let world = World::<LoomWord>::new(4);
        let closed = Arc::new(AtomicBool::new(false));
        let takers = [1, 2].map(|count| {
            let (world, closed) = (Arc::clone(&world), Arc::clone(&closed));
            thread::spawn(move || {
                let take = |_| {
                    let was_closed = closed.load(Ordering::Acquire);
                    let raw = world.take();
                    assert!(!was_closed || raw == Err(GenerateError::Closed));
                    raw.ok()
                };
                (0..count).filter_map(take).collect()
            })
        });
        world.tick_on();
        let unused_from = world.sequencer.close().unwrap();
        closed.store(true, Ordering::Release);
        let raws = join(takers, []);
        assert_distinct(&raws);
        assert_eq!(unused_from, raws.last().map_or(0, |&raw| tick(raw) + 1));
        assert_eq!(world.take(), Err(GenerateError::Closed));
    });
}

#[test]
fn an_extension_is_seen_whole() {
    explore(PREEMPTIONS, || {
        let world = World::<LoomWord>::new(1);
        let taker = world.taker(2);
        let other = {
            let world = Arc::clone(&world);
            thread::spawn(move || world.sequencer.extend(lease(2), &world.clock).is_ok())
        };
        world.tick_on();
        let extended = other.join().unwrap();
        let own = world.take();
        let raws = join([taker], own.ok());
        assert_distinct(&raws);
        if extended {
            assert_eq!(world.sequencer.lease().end(), 2);
            assert!(raws.iter().any(|&raw| tick(raw) == 1));
        } else {
            assert_eq!(own, Err(GenerateError::LeaseOver { since_ms: 0 }));
            assert!(raws.iter().all(|&raw| tick(raw) == 0));
        }
    });
}

/// The models do find what they look for.
#[test]
fn a_torn_word_is_caught() {
    static REPEATED: atomic::AtomicBool = atomic::AtomicBool::new(false);
    explore(1, || {
        let world = World::<TornWord>::new(4);
        let taker = world.taker(1);
        let own = world.take().ok();
        if taker.join().unwrap().into_iter().eq(own) {
            REPEATED.store(true, Ordering::Relaxed);
        }
    });
    assert!(REPEATED.load(Ordering::Relaxed));
}

/// Blocks of several threads under every interleaving that loom's memory model allows: taking from
/// them, and dropping them because the lease was closed.
mod blocks {
    use std::sync::Arc;

    use loom::sync::atomic::{AtomicBool, AtomicU64, Ordering};
    use loom::thread;
    use randflake_core::internal::{Block, BlockBudget};
    use randflake_core::{Codec, Id, Layout, LayoutFields, LayoutSpec, Lease, Plain, Sequencer};

    use super::{LoomWord64, explore};

    const PREEMPTIONS: usize = 3;
    const NOW_NS: u64 = 500_000_000;

    /// As many ids a second as make blocks of 2 and 4, and eight that may be held.
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
    struct Tiny;

    impl Layout for Tiny {
        type Permutation = Plain;
        const SPEC: LayoutSpec = LayoutSpec::declare(LayoutFields::in_order([8, 0, 8], 0, 1_000));
    }

    /// What threads share of a handle.
    struct World {
        sequencer: Sequencer<Tiny, LoomWord64>,
        budget: BlockBudget<LoomWord64>,
        codec: Codec<Tiny>,
        /// How often the lease was closed.
        closes: AtomicU64,
        is_closed: AtomicBool,
    }

    impl World {
        fn new() -> Arc<Self> {
            Arc::new(Self {
                sequencer: Sequencer::new(Lease::new(Tiny, 0, 0, 9).unwrap()).unwrap(),
                budget: BlockBudget::new(),
                codec: Codec::new(Tiny, Plain),
                closes: AtomicU64::new(0),
                is_closed: AtomicBool::new(false),
            })
        }

        fn close(&self) {
            self.sequencer.close();
            self.closes.fetch_add(1, Ordering::AcqRel);
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
            let is_valid = |taken_at| !looks || world.closes.load(Ordering::Acquire) == taken_at;
            if let Some(id) = self.block.take(NOW_NS, || is_valid(taken_at)) {
                return Some(id);
            }
            self.taken_at = world.closes.load(Ordering::Acquire);
            let (sequencer, budget) = (&world.sequencer, &world.budget);
            let id = self.block.refill(sequencer, budget, &world.codec, NOW_NS);
            id.ok().filter(|_| is_valid(self.taken_at))
        }
    }

    /// An id after the handle was closed, to somebody who knows that it was.
    fn close_while_taking(looks: bool) {
        explore(PREEMPTIONS, move || {
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
    fn two_threads_share_no_id_and_keep_the_budget() {
        explore(PREEMPTIONS, || {
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
}

/// The buffer of two segments under interleavings that loom's memory model allows, bounded to
/// [`PREEMPTIONS`]. Segments have one number, so that slots are written anew as often as can be.
mod segments {
    use core::sync::atomic;
    use std::sync::Arc;

    use loom::sync::atomic::{AtomicU64, Ordering};
    use loom::thread;
    use randflake_core::AtomicWord;
    use randflake_core::internal::SegmentBuffer;
    use randflake_core::segment::Segment;

    use super::{LoomWord64, explore};

    const PREEMPTIONS: usize = 2;

    /// A word that orders nothing: a slot may seem written before it is, or not yet when it is.
    struct RelaxedWord(AtomicU64);

    impl AtomicWord for RelaxedWord {
        type Value = u64;

        fn new(value: u64) -> Self {
            Self(AtomicU64::new(value))
        }

        fn load(&self) -> u64 {
            self.0.load(Ordering::Relaxed)
        }

        fn compare_exchange(&self, current: u64, new: u64) -> bool {
            self.0
                .compare_exchange(current, new, Ordering::Relaxed, Ordering::Relaxed)
                .is_ok()
        }
    }

    fn segment(first: u64) -> Segment {
        Segment::new(first, 1).unwrap()
    }

    /// What two takers and the putting thread get of the numbers 1, 11, 21 and so on.
    fn numbers<W: AtomicWord<Value = u64> + Send + Sync + 'static>(puts: u64) -> Vec<u64> {
        let buffer = Arc::new(SegmentBuffer::<W>::new(segment(1)));
        let takers = [2, 1].map(|count| {
            let buffer = Arc::clone(&buffer);
            thread::spawn(move || {
                (0..count)
                    .filter_map(move |_| buffer.take(1).map(|number| number.first()))
                    .collect::<Vec<_>>()
            })
        });
        let mut put = 0;
        for _ in 0..puts {
            put += u64::from(buffer.put(segment(put * 10 + 11)).is_ok());
        }
        let taken = takers.into_iter().flat_map(|taker| taker.join().unwrap());
        let mut numbers: Vec<_> = taken.collect();
        numbers.extend(core::iter::from_fn(|| buffer.take(1)).map(|number| number.first()));
        numbers.sort_unstable();
        assert_eq!(numbers.len() as u64, 1 + put, "a number is missing");
        numbers
    }

    fn are_as_put(numbers: &[u64]) -> bool {
        let expected = (0..).map(|n| n * 10 + 1);
        numbers.iter().copied().eq(expected.take(numbers.len()))
    }

    #[test]
    fn every_number_is_taken_once_while_segments_are_put() {
        explore(PREEMPTIONS, || {
            let numbers = numbers::<LoomWord64>(3);
            assert!(are_as_put(&numbers), "{numbers:?}");
        });
    }

    #[test]
    fn two_threads_that_put_do_not_mix() {
        explore(PREEMPTIONS, || {
            let buffer = Arc::new(SegmentBuffer::<LoomWord64>::new(segment(1)));
            buffer.take(1);
            let other = {
                let buffer = Arc::clone(&buffer);
                thread::spawn(move || buffer.put(segment(11)).is_ok())
            };
            let own = buffer.put(segment(21)).is_ok();
            let others = other.join().unwrap();
            let taken = [(); 2].map(|()| buffer.take(1).map(|number| number.first()));
            let expected = match (others, own) {
                (true, true) => [Some(11), Some(21)],
                (true, false) => [Some(11), None],
                (false, true) => [Some(21), None],
                (false, false) => panic!("one of them had to succeed"),
            };
            assert_eq!(taken, expected);
        });
    }

    /// The models do find what they look for.
    #[test]
    fn a_word_without_order_is_caught() {
        static WRONG: atomic::AtomicBool = atomic::AtomicBool::new(false);
        explore(PREEMPTIONS, || {
            if !are_as_put(&numbers::<RelaxedWord>(2)) {
                WRONG.store(true, Ordering::Relaxed);
            }
        });
        assert!(WRONG.load(Ordering::Relaxed));
    }
}
