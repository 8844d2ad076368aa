//! What does an id cost when several threads want ids of one handle? The time is that by the clock on the
//! wall, by the number of all threads' ids.
//!
//! The baseline is one thread alone.

#![expect(clippy::expect_used, reason = "a benchmark fails by panicking")]

mod support;

use core::hint::{black_box, spin_loop};
use core::sync::atomic::{AtomicUsize, Ordering};
use core::time::Duration;
use std::thread;
use std::time::Instant;

use criterion::{Criterion, criterion_group, criterion_main};
use randflake_std::Handle;
use support::{IDS_PER_TICK, handle};

const NODE_IDS: u32 = 16;

/// From the first to the last call of all threads, each with ids of its own.
fn time_threads<G>(
    threads: usize,
    count: u64,
    prepare: impl Fn() -> G + Sync,
    call: impl Fn(&mut G) + Sync,
) -> Duration {
    let ready = AtomicUsize::new(0);
    let work = || {
        let mut ids = prepare();
        ready.fetch_add(1, Ordering::AcqRel);
        while ready.load(Ordering::Acquire) < threads {
            spin_loop();
        }
        let start = Instant::now();
        (0..count / threads as u64).for_each(|_| call(&mut ids));
        (start, Instant::now())
    };
    thread::scope(|scope| {
        let threads: Vec<_> = (0..threads).map(|_| scope.spawn(work)).collect();
        let spans: Vec<_> = threads
            .into_iter()
            .map(|thread| thread.join().expect("no thread panics"))
            .collect();
        let first = spans.iter().map(|span| span.0).min();
        let last = spans.iter().map(|span| span.1).max();
        last.zip(first)
            .map_or(Duration::ZERO, |(last, first)| last - first)
    })
}

/// As many measurements as it takes, each with half of what one tick has: blocks are not all used.
fn bench(threads: usize, mut count: u64, measure: impl Fn(&Handle, u64) -> Duration) -> Duration {
    let mut total = Duration::ZERO;
    while count > 0 {
        // An odd one is left out, and not missed among so many.
        let part = count.min(u64::from(NODE_IDS) * IDS_PER_TICK / 2);
        total += measure(&handle(NODE_IDS), part.next_multiple_of(threads as u64));
        count -= part;
    }
    total
}

fn threads(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("threads");
    for (name, threads) in [("sixteen", 16), ("two", 2), ("baseline/one", 1)] {
        group.bench_function(name, |b| {
            b.iter_custom(|count| {
                bench(threads, count, |ids, count| {
                    time_threads(
                        threads,
                        count,
                        || ids.clone(),
                        |ids| {
                            black_box(ids.generate().expect("the tick has ids"));
                        },
                    )
                })
            });
        });
    }
    group.finish();
}

criterion_group!(benches, threads);
criterion_main!(benches);
