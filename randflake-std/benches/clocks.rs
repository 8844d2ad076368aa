//! Cost of reading the clock, alone and in an id.
//!
//! The baseline is a clock that stands still.

#![expect(clippy::expect_used, reason = "a benchmark fails by panicking")]

use core::cell::Cell;
use core::hint::black_box;
use core::sync::atomic::AtomicU64;
use core::time::Duration;

use criterion::{Criterion, criterion_group, criterion_main};
use randflake_std::randflake_core::{Clock, Generator, Sparx64};
use randflake_std::{ExactSystemClock, Layout, Lease, Plain, Randflake, Snowflake, SystemClock};

struct FixedClock(Cell<Duration>);

impl Clock for FixedClock {
    fn now(&self) -> Option<Duration> {
        Some(self.0.get())
    }
}

fn fixed() -> FixedClock {
    FixedClock(Cell::new(ExactSystemClock.now().unwrap_or_default()))
}

fn now(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("now");
    group.bench_function("coarse", |b| b.iter(|| black_box(&SystemClock).now()));
    group.bench_function("exact", |b| b.iter(|| black_box(&ExactSystemClock).now()));
    let clock = fixed();
    group.bench_function("baseline/fixed", |b| b.iter(|| black_box(&clock).now()));
    group.finish();
}

/// A generator that borrows from the future rather than be exhausted: the way to an id is the same.
fn generator<L: Layout, C: Clock>(
    clock: C,
    permutation: L::Permutation,
) -> Generator<L, AtomicU64, C, L::Permutation, u32> {
    let now = ExactSystemClock.now().unwrap_or_default();
    let start = L::SPEC.tick_at(now).expect("it is after the epoch");
    let lease =
        Lease::new(L::default(), 42, start, start + 1_000_000).expect("the lease is of the layout");
    let generator = Generator::<_, AtomicU64, _, _>::new(lease, clock, permutation);
    generator
        .expect("the word is wide enough")
        .with_tolerance(u32::MAX)
}

fn bench<L: Layout>(
    criterion: &mut Criterion,
    name: &str,
    permutation: impl Fn() -> L::Permutation,
) {
    let mut group = criterion.benchmark_group(name);
    let coarse = generator::<L, _>(SystemClock, permutation());
    group.bench_function("coarse", |b| b.iter(|| black_box(&coarse).generate()));
    let exact = generator::<L, _>(ExactSystemClock, permutation());
    group.bench_function("exact", |b| b.iter(|| black_box(&exact).generate()));
    let still = generator::<L, _>(fixed(), permutation());
    group.bench_function("baseline/fixed", |b| {
        b.iter(|| black_box(&still).generate());
    });
    group.finish();
}

fn generate(criterion: &mut Criterion) {
    bench::<Randflake>(criterion, "generate_randflake", || {
        Sparx64::new(b"sixteen byte key")
    });
    bench::<Snowflake>(criterion, "generate_snowflake", || Plain);
}

criterion_group!(benches, now, generate);
criterion_main!(benches);
