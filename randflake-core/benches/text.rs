//! Time of one id to text and back.
//!
//! The baseline writes and reads the same number the standard library's way, in hexadecimal.

use core::fmt::Write as _;
use core::hint::black_box;

use criterion::{Criterion, criterion_group, criterion_main};
use randflake_core::Id;

/// 13 digits, as all but one in 16 of the encrypted ids have.
const LONG: Id = Id::from_u64(0x9E37_79B9_7F4A_7C15);
const SHORT: Id = Id::from_u64(0x1234_5678);

fn encode(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("encode");
    for (case, id) in [("13_digits", LONG), ("6_digits", SHORT)] {
        group.bench_function(format!("as_str/{case}"), |b| {
            b.iter(|| {
                black_box(black_box(id).to_text().as_str());
            });
        });
        group.bench_function(format!("as_bytes/{case}"), |b| {
            b.iter(|| {
                black_box(black_box(id).to_text().as_bytes());
            });
        });
    }
    group.bench_function("baseline/hex", |b| {
        let mut text = String::with_capacity(16);
        b.iter(|| {
            text.clear();
            write!(text, "{:x}", black_box(LONG.to_u64()))
        });
    });
    group.finish();
}

fn decode(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("decode");
    for (case, id) in [("13_digits", LONG), ("6_digits", SHORT)] {
        let text = id.to_text();
        group.bench_function(format!("from_text/{case}"), |b| {
            b.iter(|| Id::from_text(black_box(text.as_bytes())));
        });
    }
    group.bench_function("baseline/hex", |b| {
        b.iter(|| u64::from_str_radix(black_box("9e3779b97f4a7c15"), 16));
    });
    group.finish();
}

criterion_group!(benches, encode, decode);
criterion_main!(benches);
