//! Blocks: of the clock's tick only, no id twice, and few ids held.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use core::sync::atomic::AtomicU64;
use std::collections::HashSet;

use proptest::prelude::*;
use randflake_core::internal::{Block, BlockBudget};
use randflake_core::{Codec, Id, Layout, LayoutFields, LayoutSpec, Lease, Plain, Sequencer};

const NS_PER_MS: u64 = 1_000_000;
const TICK_MS: u64 = 1_000;
const LARGEST: usize = 256;
/// Largest number of ids of a tick that blocks may hold.
const LIMIT: usize = 8_192 / 16;

/// 8,192 ids a second.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Small;

impl Layout for Small {
    type Permutation = Plain;
    const SPEC: LayoutSpec =
        LayoutSpec::declare(LayoutFields::in_order([30, 8, 13], 1_000, TICK_MS));
}

type SmallBlock = Block<[u64; LARGEST]>;

struct World {
    codec: Codec<Small>,
    sequencers: Vec<(Sequencer<Small, AtomicU64>, BlockBudget<AtomicU64>)>,
    now_ns: u64,
    issued: HashSet<Id>,
}

impl World {
    fn new(node_ids: u32) -> Self {
        let sequencer =
            |node_id| Sequencer::new(Lease::new(Small, node_id, 100, 400).unwrap()).unwrap();
        Self {
            codec: Codec::new(Small, Plain),
            sequencers: (0..node_ids)
                .map(|node_id| (sequencer(node_id), BlockBudget::new()))
                .collect(),
            now_ns: Small::SPEC.unix_ms(100) * NS_PER_MS,
            issued: HashSet::new(),
        }
    }

    fn tick(&self) -> u64 {
        Small::SPEC
            .tick_at(core::time::Duration::from_nanos(self.now_ns))
            .unwrap()
    }

    /// An id of a block, or else of a sequencer's next one.
    fn next(&mut self, block: &mut SmallBlock, of: usize, is_valid: bool) -> Option<Id> {
        let left = block.left();
        let id = block.take(self.now_ns, || is_valid);
        assert!(is_valid || id.is_none(), "it was handed out all the same");
        assert!(id.is_some() || block.left() == 0, "{left} were not dropped");
        let (sequencer, budget) = &self.sequencers[of];
        let id = id.or_else(|| {
            block
                .refill(sequencer, budget, &self.codec, self.now_ns)
                .ok()
        })?;
        assert_eq!(self.codec.inspect(id).tick, self.tick(), "of another tick");
        assert!(self.issued.insert(id), "{id:?} twice");
        Some(id)
    }
}

fn block() -> SmallBlock {
    Block::new([0; LARGEST])
}

#[test]
fn block_starts_at_one_id_a_tick_and_doubles() {
    let mut world = World::new(1);
    let mut block = block();
    for _ in 0..3 {
        let mut sizes = Vec::new();
        while sizes.len() < 11 {
            let left = block.left();
            world.next(&mut block, 0, true).unwrap();
            if block.left() + 1 != left {
                sizes.push(block.left() + 1);
            }
        }
        // The last ones are bounded by what the tick has left.
        assert_eq!(sizes[..9], [1, 2, 4, 8, 16, 32, 64, 128, 256]);
        assert!(sizes[9..].is_sorted_by(|a, b| a >= b), "{sizes:?}");
        world.now_ns += TICK_MS * NS_PER_MS;
    }
}

#[test]
fn stopped_threads_cost_a_sixteenth_of_a_tick() {
    let mut world = World::new(1);
    let mut one = block();
    let issued = (0..10_000)
        .filter(|_| world.next(&mut one, 0, true).is_some())
        .count();
    assert_eq!(issued, 8_192);

    world.now_ns += TICK_MS * NS_PER_MS;
    let mut blocks: Vec<SmallBlock> = (0..1_000).map(|_| block()).collect();
    let mut left = 8_192;
    // Each takes so many that most have some left.
    'tick: for turn in 0.. {
        let n = turn % blocks.len();
        for _ in 0..=n % 7 {
            if world.next(&mut blocks[n], 0, true).is_none() {
                break 'tick;
            }
            left -= 1;
        }
    }
    let held: usize = blocks.iter().map(Block::left).sum();
    assert!(held <= LIMIT, "{held} are held");
    assert_eq!(left, held, "some are lost");
}

#[test]
fn encrypted_blocks_keep_the_order_of_plain_ones() {
    let cipher = randflake_core::Sparx64::new(&[7; 16]);
    let codec = Codec::new(Small, cipher);
    let sequencer = Sequencer::new(Lease::new(Small, 5, 100, 400).unwrap()).unwrap();
    let sequencer: Sequencer<Small, AtomicU64> = sequencer;
    let budget = BlockBudget::<AtomicU64>::new();
    let now_ns = Small::SPEC.unix_ms(100) * NS_PER_MS;
    let mut block = block();
    for sequence in 0..8_192 {
        let id = block
            .take(now_ns, || true)
            .unwrap_or_else(|| block.refill(&sequencer, &budget, &codec, now_ns).unwrap());
        let parts = codec.inspect(id);
        assert_eq!(
            (parts.tick, parts.node_id, parts.sequence),
            (100, 5, sequence)
        );
    }
    assert_eq!(block.handed_out(), 8_192);
}

#[test]
fn block_takes_nothing_outside_of_the_lease() {
    let mut world = World::new(1);
    let mut block = block();
    world.now_ns -= 1;
    assert_eq!(world.next(&mut block, 0, true), None, "before the lease");
    world.now_ns = 0;
    assert_eq!(world.next(&mut block, 0, true), None, "before the epoch");
    world.now_ns = Small::SPEC.unix_ms(400) * NS_PER_MS;
    assert_eq!(world.next(&mut block, 0, true), None, "after the lease");
    world.now_ns -= 1;
    assert!(world.next(&mut block, 0, true).is_some());
    world.sequencers[0].0.close();
    assert_eq!(world.next(&mut block, 0, true), None);
}

#[derive(Clone, Copy, Debug)]
enum Step {
    /// So many ids for a thread, from one of two sequencers.
    Issue {
        thread: usize,
        of: usize,
        count: usize,
    },
    /// The thread's block may not be handed out any more.
    Invalidate {
        thread: usize,
        of: usize,
    },
    End {
        thread: usize,
    },
    /// In milliseconds, ahead or back.
    Clock(i64),
}

fn step() -> impl Strategy<Value = Step> {
    let thread = || 0..5_usize;
    prop_oneof![
        12 => (thread(), 0..2_usize, 0..700_usize)
            .prop_map(|(thread, of, count)| Step::Issue { thread, of, count }),
        1 => (thread(), 0..2_usize).prop_map(|(thread, of)| Step::Invalidate { thread, of }),
        1 => thread().prop_map(|thread| Step::End { thread }),
        2 => (0..1_500_i64).prop_map(Step::Clock),
        1 => (-1_500..0_i64).prop_map(Step::Clock),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 200, ..ProptestConfig::default() })]

    #[test]
    fn histories_repeat_no_id_and_mix_no_ticks(
        steps in proptest::collection::vec(step(), 1..150)
    ) {
        let mut world = World::new(2);
        let mut blocks: [SmallBlock; 5] = core::array::from_fn(|_| block());
        for step in steps {
            match step {
                Step::Issue { thread, of, count } => {
                    for _ in 0..count {
                        world.next(&mut blocks[thread], of, true);
                    }
                }
                Step::Invalidate { thread, of } => {
                    world.next(&mut blocks[thread], of, false);
                }
                Step::End { thread } => blocks[thread] = block(),
                Step::Clock(ms) => {
                    let ns = ms * NS_PER_MS.cast_signed();
                    let first = Small::SPEC.unix_ms(100) * NS_PER_MS;
                    world.now_ns = world.now_ns.saturating_add_signed(ns).max(first);
                }
            }
        }
    }
}

mod long {
    //! The longest blocks that a word of 32 bits counts, over a flash whose writes fail.

    use core::sync::atomic::AtomicU32;

    use randflake_core::{
        Blocks, FlashHorizonError, HorizonLog, HorizonStore, Lease, LeaseError, LogFlash,
        Randflake, Sequencer,
    };

    const PAGE: usize = 64;

    /// Three pages, of which so many writes fail.
    struct Flash {
        bytes: [u8; 3 * PAGE],
        failing: u32,
    }

    impl LogFlash for Flash {
        type Error = &'static str;

        fn page_bytes(&self) -> u32 {
            u32::try_from(PAGE).unwrap()
        }

        fn capacity(&self) -> u32 {
            u32::try_from(self.bytes.len()).unwrap()
        }

        fn read(&mut self, at: u32, slot: &mut [u8]) -> Result<(), Self::Error> {
            slot.copy_from_slice(&self.bytes[at as usize..][..slot.len()]);
            Ok(())
        }

        fn write(&mut self, at: u32, slot: &[u8]) -> Result<(), Self::Error> {
            if let Some(left) = self.failing.checked_sub(1) {
                self.failing = left;
                return Err("failed");
            }
            self.bytes[at as usize..][..slot.len()].copy_from_slice(slot);
            Ok(())
        }

        fn erase(&mut self, page: u32) -> Result<(), Self::Error> {
            self.bytes[page as usize..][..PAGE].fill(0xff);
            Ok(())
        }
    }

    /// The log with its flash.
    struct Device {
        flash: Flash,
        log: HorizonLog<8>,
    }

    impl HorizonStore for Device {
        type Error = FlashHorizonError<&'static str>;

        fn unix_s(&self) -> u32 {
            self.log.unix_s()
        }

        fn raise(&mut self, to: u32) -> Result<(), Self::Error> {
            self.log.raise(&mut self.flash, to)
        }
    }

    /// The block that a device begins after so many failed writes, each of which makes it 4 s
    /// longer.
    fn block_after(failures: u32, seconds: u32) -> Lease<Randflake> {
        let grant = Lease::new(Randflake, 42, 1_001, 900_000).unwrap();
        let mut flash = Flash {
            bytes: [0xff; 3 * PAGE],
            failing: 0,
        };
        let log = HorizonLog::open(&mut flash).unwrap();
        let mut blocks = Blocks::new(grant, Device { flash, log }).with_block_s(seconds);
        blocks.provision().unwrap();
        // The next boot.
        let device = blocks.store_mut();
        device.log = HorizonLog::open(&mut device.flash).unwrap();
        device.flash.failing = failures;
        loop {
            if let Ok(block) = blocks.begin(None) {
                return block;
            }
        }
    }

    #[test]
    fn longest_block_fits_32_bits_after_failed_writes() {
        let counted = |block: Lease<Randflake>| Sequencer::<_, AtomicU32>::new(block).map(drop);
        for failures in [0, 1, 16] {
            let block = block_after(failures, 32_700);
            assert!(
                block.ticks() > u64::from(failures * 4) + 32_696,
                "{block:?}"
            );
            assert_eq!(counted(block), Ok(()));
        }
        // All that a word counts leaves no room for what a store adds.
        let block = block_after(16, 32_767);
        let refused = counted(block).unwrap_err();
        assert!(matches!(refused, LeaseError::TooLong { .. }), "{refused}");
    }
}
