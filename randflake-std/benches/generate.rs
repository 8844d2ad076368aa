//! Cost of a handle's ids: one at a time, the first of a tick, with a generation number, and in
//! bulk.
//!
//! The baselines are the cipher alone.

#![expect(clippy::expect_used, reason = "a benchmark fails by panicking")]

mod support;

use core::hint::black_box;
use core::time::Duration;
use std::time::Instant;

use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use randflake_std::Id;
use support::{IDS_PER_TICK, cipher, handle, handle_of_generation};

const LENGTH: u64 = 1_024;

/// The time of `count` calls, with fresh ids as often as one tick's are used up.
fn time<G>(
    count: u64,
    chunk: u64,
    fresh: impl Fn() -> G,
    mut call: impl FnMut(&mut G),
) -> Duration {
    let mut total = Duration::ZERO;
    let mut left = count;
    while left > 0 {
        let mut ids = fresh();
        let ids = black_box(&mut ids);
        let start = Instant::now();
        (0..left.min(chunk)).for_each(|_| call(ids));
        total += start.elapsed();
        left = left.saturating_sub(chunk);
    }
    total
}

fn one(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("generate");
    for node_ids in [1, 16] {
        group.bench_function(format!("handle_of_{node_ids}"), |b| {
            b.iter_custom(|count| {
                time(
                    count,
                    // Some of a tick's ids may be in blocks of which the rest is dropped.
                    u64::from(node_ids) * IDS_PER_TICK / 16 * 15,
                    || handle(node_ids),
                    |ids| {
                        black_box(ids.generate().expect("the tick has ids"));
                    },
                )
            });
        });
    }
    group.bench_function("handle_with_a_generation", |b| {
        b.iter_custom(|count| {
            time(
                count,
                15 * IDS_PER_TICK,
                || handle_of_generation(16),
                |ids| {
                    black_box(ids.generate().expect("the tick has ids"));
                },
            )
        });
    });
    group.bench_function("baseline/cipher", |b| {
        let cipher = cipher();
        b.iter(|| cipher.encrypt_u64(black_box(1)));
    });
    group.finish();
}

fn many(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("fill");
    group.throughput(Throughput::Elements(LENGTH));
    group.bench_function("handle/1024", |b| {
        let mut buffer = vec![Id::from_u64(0); 1_024];
        b.iter_custom(|count| {
            time(
                count,
                16 * IDS_PER_TICK / LENGTH,
                || handle(16),
                |ids| {
                    let filled = ids.fill(black_box(&mut buffer));
                    assert_eq!(filled, Ok(1_024));
                },
            )
        });
    });
    group.bench_function("baseline/cipher", |b| {
        let cipher = cipher();
        let mut buffer = vec![1_u64; 1_024];
        b.iter(|| cipher.encrypt_blocks(black_box(&mut buffer[..])));
    });
    group.finish();
}

criterion_group!(benches, one, many);
criterion_main!(benches);
