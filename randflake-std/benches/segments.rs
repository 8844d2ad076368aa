//! Cost of a number of a segment, plain and encrypted, one at a time and in bulk.
//!
//! The baseline is one atomic counter, which knows neither segments nor forks.

#![expect(clippy::expect_used, reason = "a benchmark fails by panicking")]

use core::hint::black_box;
use core::sync::atomic::{AtomicU64, Ordering};
use std::sync::Arc;

use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use randflake_std::lease::{MemoryStore, Namespace};
use randflake_std::segment::{Segments, SegmentsBuilder};
use randflake_std::{ExactSystemClock, Id, Randflake, Secret};

/// So long that one is enough.
fn builder() -> SegmentsBuilder {
    let namespace = Namespace::new("bench", Randflake).expect("a good name");
    let store = MemoryStore::new(namespace, Arc::new(ExactSystemClock));
    Segments::builder(store).lengths(u32::MAX..=u32::MAX)
}

fn segments(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("segments");
    let plain = builder().build().expect("a segment");
    let encrypted = builder()
        .encrypted(&Secret::from_bytes([7; 16]))
        .build()
        .expect("a segment");
    group.bench_function("next/plain", |b| b.iter(|| plain.next()));
    group.bench_function("next/encrypted", |b| b.iter(|| encrypted.next()));
    group.bench_function("next/baseline", |b| {
        let counter = AtomicU64::new(1);
        b.iter(|| black_box(&counter).fetch_add(1, Ordering::Relaxed));
    });
    let mut buffer = vec![Id::from_u64(0); 1_024];
    group.throughput(Throughput::Elements(1_024));
    group.bench_function("fill/encrypted/1024", |b| {
        b.iter(|| encrypted.fill(black_box(&mut buffer)));
    });
    group.finish();
}

criterion_group!(benches, segments);
criterion_main!(benches);
