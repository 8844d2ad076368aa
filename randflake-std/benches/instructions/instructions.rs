//! How many instructions 1,024 ids take, or as many texts: counted under valgrind, so the same on a
//! busy machine. See `cargo xtask bench instructions`.

use std::cell::Cell;
use std::hint::black_box;
use std::sync::Arc;
use std::sync::atomic::AtomicU64;
use std::time::Duration;

use gungraun::{library_benchmark, library_benchmark_group, main};
use randflake_core::{
    AtomicWord, Clock, Codec, Generator, Id, Layout, LayoutSpec, Lease, LocalWord, Permutation,
    Plain, Randflake, Snowflake, Text};
use randflake_std::lease::{MemoryStore, Namespace};
use randflake_std::{Builder, ExactSystemClock, Handle};
use sparx64::{Backend, Sparx64};

/// What fits a tick of every layout.
const IDS: usize = 1_024;

fn cipher() -> Sparx64 {
    Sparx64::new(b"sixteen byte key")
}

/// The cipher with the instructions that every x86-64 processor has: what is counted does not depend
/// on the machine.
#[derive(Debug)]
struct Baseline(Sparx64);

impl Permutation for Baseline {
    fn permute(&self, raw: u64) -> u64 {
        self.0.encrypt_u64(raw)
    }

    fn permute_all(&self, ids: &mut [u64]) {
        let backend = Backend::available().find(|backend| backend.name() == "sse2");
        self.0
            .encrypt_blocks_with(backend.unwrap_or(Backend::best()), ids);
    }

    fn invert(&self, public: u64) -> u64 {
        self.0.decrypt_u64(public)
    }
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct OnBaseline;

impl Layout for OnBaseline {
    type Permutation = Baseline;
    const SPEC: LayoutSpec = Randflake::SPEC;
}

const TICK: u64 = 1_000;

struct FixedClock(Cell<Duration>);

impl Clock for FixedClock {
    fn now(&self) -> Option<Duration> {
        Some(self.0.get())
    }
}

type Fixed<L, W> = Generator<L, W, FixedClock>;

fn generator<L: Layout, W: AtomicWord>(permutation: L::Permutation) -> Fixed<L, W> {
    let lease = Lease::new(L::default(), 42, TICK, TICK + 60).expect("the lease is of the layout");
    let now = Duration::from_millis(L::SPEC.unix_ms(TICK));
    let clock = FixedClock(Cell::new(now));
    Generator::new(lease, clock, permutation).expect("the word is wide enough")
}

fn handle() -> Handle<OnBaseline> {
    let namespace = Namespace::new("bench", OnBaseline).expect("the name is valid");
    let store = MemoryStore::new(namespace, Arc::new(ExactSystemClock));
    let builder = Builder::new(OnBaseline, Baseline(cipher()), store);
    builder.build().expect("the store is empty")
}

/// One whose blocks have grown to 256 ids, of which the first was just issued.
fn begun() -> Handle<OnBaseline> {
    let ids = handle();
    (0..256).for_each(|_| _ = black_box(ids.generate()));
    ids
}

fn texts() -> Vec<Text> {
    ids().into_iter().map(Id::to_text).collect()
}

fn ids() -> Vec<Id> {
    let mut ids: Vec<u64> = (0..1_024).collect();
    cipher().encrypt_blocks(&mut ids);
    ids.into_iter().map(Id::from_u64).collect()
}

#[library_benchmark]
#[bench::once(generator(cipher()))]
fn generate(ids: Fixed<Randflake, AtomicU64>) -> impl Sized {
    let known = black_box(&ids);
    (0..IDS).for_each(|_| _ = black_box(known.generate()));
    ids
}

#[library_benchmark]
#[bench::once(generator(Plain))]
fn generate_snowflake(ids: Fixed<Snowflake, LocalWord<u64>>) -> impl Sized {
    let known = black_box(&ids);
    (0..IDS).for_each(|_| _ = black_box(known.generate()));
    ids
}

#[library_benchmark]
#[bench::once(begun())]
fn handle_generate(ids: Handle<OnBaseline>) -> impl Sized {
    let known = black_box(&ids);
    (0..IDS).for_each(|_| _ = black_box(known.generate()));
    ids
}

#[library_benchmark]
#[bench::once(handle(), vec![Id::from_u64(0); IDS])]
fn handle_fill(ids: Handle<OnBaseline>, mut buffer: Vec<Id>) -> impl Sized {
    _ = black_box(ids.fill(black_box(&mut buffer)));
    (ids, buffer)
}

#[library_benchmark]
#[bench::once(generator(Baseline(cipher())), vec![Id::from_u64(0); IDS])]
fn fill(ids: Fixed<OnBaseline, AtomicU64>, mut buffer: Vec<Id>) -> impl Sized {
    _ = black_box(ids.fill(black_box(&mut buffer)));
    (ids, buffer)
}

#[library_benchmark]
#[bench::once(cipher())]
fn encrypt(cipher: Sparx64) -> impl Sized {
    (0..IDS).for_each(|_| _ = black_box(cipher.encrypt_u64(black_box(1))));
    cipher
}

#[library_benchmark]
#[bench::once(Codec::new(Randflake, cipher()), ids())]
fn inspect(codec: Codec<Randflake>, ids: Vec<Id>) -> impl Sized {
    ids.iter().for_each(|&id| _ = black_box(codec.inspect(id)));
    (codec, ids)
}

#[library_benchmark]
#[bench::once(ids())]
fn text_encode(ids: Vec<Id>) -> impl Sized {
    ids.iter()
        .for_each(|id| _ = black_box(id.to_text().as_str()));
    ids
}

#[library_benchmark]
#[bench::once(texts())]
fn text_decode(texts: Vec<Text>) -> impl Sized {
    texts
        .iter()
        .for_each(|text| _ = black_box(Id::from_text(text.as_bytes())));
    texts
}

library_benchmark_group!(
    name = ids;
    benchmarks = generate, generate_snowflake, handle_generate, handle_fill, fill,
        encrypt, inspect, text_encode, text_decode
);

main!(library_benchmark_groups = ids);
