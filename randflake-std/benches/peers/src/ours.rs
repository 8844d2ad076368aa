//! The measured generators of this project.

use std::cell::Cell;
use std::sync::Arc;
use std::sync::atomic::AtomicU64;
use std::time::Duration;

use randflake_core::internal::{Block, BlockBudget};
use randflake_core::{
    AtomicWord, Clock, Codec, Generator, Id, Layout, LayoutSpec, Lease, Permutation, Randflake,
    Sequencer,
};
use randflake_std::lease::{MemoryStore, Namespace};
use randflake_std::{Builder, ExactSystemClock, Handle};
use sparx64::{Backend, Sparx64};

pub(crate) const WHO: &str = "randflake";
pub(crate) const KEY: [u8; 16] = *b"sixteen byte key";
/// What [`Randflake`] has in a tick for a node id.
pub(crate) const IDS_PER_TICK: u64 = 131_072;

/// A clock that costs a load.
pub(crate) struct FixedClock(Cell<Duration>);

impl FixedClock {
    pub(crate) fn now() -> Self {
        Self(Cell::new(ExactSystemClock.now().unwrap_or_default()))
    }
}

impl Clock for FixedClock {
    #[inline]
    fn now(&self) -> Option<Duration> {
        Some(self.0.get())
    }
}

/// A clock that shows another second whenever it is read.
pub(crate) struct SteppedClock(Cell<Duration>);

impl SteppedClock {
    pub(crate) fn now() -> Self {
        Self(FixedClock::now().0)
    }
}

impl Clock for SteppedClock {
    #[inline]
    fn now(&self) -> Option<Duration> {
        let now = self.0.get() + Duration::from_secs(1);
        self.0.set(now);
        Some(now)
    }
}

/// A block of a tick's ids, and all that it takes to refill it.
pub(crate) struct FirstOfTick {
    block: Block<[u64; 256]>,
    sequencer: Sequencer<Randflake, AtomicU64>,
    budget: BlockBudget<AtomicU64>,
    codec: Codec<Randflake>,
    clock: SteppedClock,
}

impl FirstOfTick {
    pub(crate) fn new() -> Self {
        Self {
            block: Block::new([0; 256]),
            sequencer: Sequencer::new(lease(&ExactSystemClock)).expect("the word is wide enough"),
            budget: BlockBudget::new(),
            codec: Codec::new(Randflake, cipher()),
            clock: SteppedClock::now(),
        }
    }

    /// As a handle does it, where no id of a tick is the second one.
    #[inline]
    pub(crate) fn generate(&mut self) -> Id {
        let now = self.clock.now().unwrap_or_default();
        let now_ns = now.as_secs() * 1_000_000_000 + u64::from(now.subsec_nanos());
        if let Some(id) = self.block.take(now_ns, || true) {
            return id;
        }
        let Self {
            block,
            sequencer,
            budget,
            codec,
            ..
        } = self;
        block
            .refill(sequencer, budget, codec, now_ns)
            .expect("the tick is new")
    }
}

pub(crate) fn cipher() -> Sparx64 {
    Sparx64::new(&KEY)
}

/// A lease from a clock's now on, of a thousand seconds at least.
pub(crate) fn lease<L: Layout>(clock: &impl Clock) -> Lease<L> {
    let now = clock.now().unwrap_or_default();
    let start = L::SPEC.tick_at(now).expect("it is after the epoch");
    Lease::new(L::default(), 42, start, start + 1_000_000).expect("the lease is of the layout")
}

/// A generator that stays within the clock's tick.
pub(crate) fn strict<L: Layout, W: AtomicWord, C: Clock>(
    clock: C,
    permutation: L::Permutation,
) -> Generator<L, W, C> {
    Generator::new(lease(&clock), clock, permutation).expect("the word is wide enough")
}

/// A generator that borrows from the future rather than be exhausted: the way to an id is the same.
pub(crate) fn generator<L: Layout, W: AtomicWord, C: Clock>(
    clock: C,
    permutation: L::Permutation,
) -> Generator<L, W, C, L::Permutation, u32> {
    strict(clock, permutation).with_tolerance(u32::MAX)
}

pub(crate) fn randflake<C: Clock>(clock: C) -> Generator<Randflake, AtomicU64, C, Sparx64, u32> {
    generator(clock, cipher())
}

/// A handle whose leases have just begun, so that it has a tick's ids for each node id.
pub(crate) fn handle<L: Layout>(permutation: L::Permutation, node_ids: u32) -> Handle<L> {
    let namespace = Namespace::new("bench", L::default()).expect("the name is valid");
    let store = MemoryStore::new(namespace, Arc::new(ExactSystemClock));
    let builder = Builder::new(L::default(), permutation, store).node_ids(node_ids);
    builder.build().expect("the store is empty")
}

/// The Randflake layout with a backend of the cipher that is not the machine's best.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Forced;

/// The cipher with one of its backends.
#[derive(Debug)]
pub(crate) struct WithBackend {
    cipher: Sparx64,
    backend: Backend,
}

impl WithBackend {
    pub(crate) fn new(backend: Backend) -> Self {
        Self {
            cipher: cipher(),
            backend,
        }
    }
}

impl Permutation for WithBackend {
    #[inline]
    fn permute(&self, raw: u64) -> u64 {
        self.cipher.encrypt_u64(raw)
    }

    #[inline]
    fn permute_all(&self, ids: &mut [u64]) {
        self.cipher.encrypt_blocks_with(self.backend, ids);
    }

    #[inline]
    fn invert(&self, public: u64) -> u64 {
        self.cipher.decrypt_u64(public)
    }
}

impl Layout for Forced {
    type Permutation = WithBackend;
    const SPEC: LayoutSpec = Randflake::SPEC;
}
