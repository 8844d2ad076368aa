//! Time per id under a fixed clock: with each word, of 53 bits, without the cipher, one at a
//! time or many, and from a pool.
//!
//! The baselines are the cipher alone and the word's exchange alone.

#![expect(clippy::expect_used, reason = "the setting is known to be valid")]

use core::hint::black_box;
use core::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use core::time::Duration;

use criterion::{
    BatchSize, BenchmarkGroup, Criterion, criterion_group, criterion_main, measurement::WallTime,
};
use randflake_core::internal::first_ready_within;
use randflake_core::{
    AtomicWord, Clock, Codec, Feistel53, Generator, Id, Layout, Lease, LocalWord, Permutation,
    Plain, Randflake, Randflake53, Sequencer, Snowflake, Sparx64,
};

struct FixedClock(Duration);

impl Clock for FixedClock {
    fn now(&self) -> Option<Duration> {
        Some(black_box(self.0))
    }
}

/// Ids of one tick that are never used up within a sample.
const IDS: u32 = 4_096;
const TICK: u64 = 1_000;

fn clock<L: Layout>() -> FixedClock {
    FixedClock(Duration::from_millis(L::SPEC.unix_ms(TICK)))
}

fn sequencer<L: Layout, W: AtomicWord>(node_id: u32) -> Sequencer<L, W> {
    let lease =
        Lease::new(L::default(), node_id, TICK, TICK + 60).expect("the lease is of the layout");
    Sequencer::new(lease).expect("the lease is short")
}

/// Times `IDS` ids of a fresh generator.
fn bench<G>(
    group: &mut BenchmarkGroup<'_, WallTime>,
    name: &str,
    fresh: impl Fn() -> G,
    generate: impl Fn(&G),
) {
    group.bench_function(name, |b| {
        let fill = |generator: G| (0..IDS).for_each(|_| generate(&generator));
        b.iter_batched(&fresh, fill, BatchSize::SmallInput);
    });
}

fn bench_generator<L: Layout, W: AtomicWord>(
    group: &mut BenchmarkGroup<'_, WallTime>,
    name: &str,
    permutation: impl Fn() -> L::Permutation,
) {
    let fresh = || {
        let lease =
            Lease::new(L::default(), 42, TICK, TICK + 60).expect("the lease is of the layout");
        Generator::<L, W, _>::new(lease, clock::<L>(), permutation()).expect("the lease is short")
    };
    bench(group, name, fresh, |generator| {
        black_box(generator.generate().expect("the tick has ids"));
    });
}

/// All ids at once, whose blocks are encrypted together.
fn bench_fill<L: Layout>(
    group: &mut BenchmarkGroup<'_, WallTime>,
    name: &str,
    permutation: impl Fn() -> L::Permutation,
) {
    let fresh = || {
        let lease =
            Lease::new(L::default(), 42, TICK, TICK + 60).expect("the lease is of the layout");
        Generator::<L, AtomicU64, _>::new(lease, clock::<L>(), permutation())
            .expect("the lease is short")
    };
    group.bench_function(name, |b| {
        let fill = |generator: Generator<L, AtomicU64, _>| {
            let mut ids = [Id::from_u64(0); 256];
            for _ in 0..IDS / 256 {
                let filled = generator.fill(black_box(&mut ids));
                assert_eq!(filled, Ok(256), "the tick has ids");
            }
        };
        b.iter_batched(&fresh, fill, BatchSize::SmallInput);
    });
}

fn generate(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("generate");
    group.throughput(criterion::Throughput::Elements(IDS.into()));
    let cipher = || Sparx64::new(&[7; 16]);
    bench_generator::<Randflake, AtomicU64>(&mut group, "randflake/atomic_u64", cipher);
    bench_generator::<Randflake, AtomicU32>(&mut group, "randflake/atomic_u32", cipher);
    bench_generator::<Randflake, LocalWord<u64>>(&mut group, "randflake/local_u64", cipher);
    let numbers = || Feistel53::new(cipher());
    bench_generator::<Randflake53, AtomicU64>(&mut group, "randflake53/atomic_u64", numbers);
    bench_fill::<Randflake>(&mut group, "fill/randflake", cipher);
    bench_fill::<Randflake53>(&mut group, "fill/randflake53", numbers);
    bench_generator::<Snowflake, AtomicU64>(&mut group, "snowflake/atomic_u64", || Plain);
    bench_generator::<Snowflake, LocalWord<u64>>(&mut group, "snowflake/local_u64", || Plain);
    let pool = || {
        let members = [1, 2, 3, 4].map(sequencer::<Randflake, AtomicU64>);
        let codec = Codec::new(Randflake, cipher());
        (members, AtomicU64::new(0), clock::<Randflake>(), codec)
    };
    bench(
        &mut group,
        "pool_of_4/atomic_u64",
        pool,
        |(members, cursor, clock, codec)| {
            let take = |member: &Sequencer<_, _>, ticks| member.take(&*clock, ticks);
            let raw = first_ready_within(members, cursor, 0, take);
            black_box(codec.id(raw.expect("the tick has ids")));
        },
    );
    bench(&mut group, "baseline/cipher", cipher, |cipher| {
        black_box(cipher.permute(black_box(1)));
    });
    bench(
        &mut group,
        "baseline/exchange",
        || AtomicU64::new(0),
        |word| {
            let value = word.load(Ordering::Acquire);
            let _ = black_box(word.compare_exchange(
                value,
                value + 1,
                Ordering::AcqRel,
                Ordering::Relaxed,
            ));
        },
    );
    group.finish();
}

criterion_group!(benches, generate);
criterion_main!(benches);
