//! Time of one block, beside the crate `sparx`.
//!
//! `latency` feeds each block's result into the next call; `throughput` leaves calls independent,
//! so that the processor overlaps them.

use core::hint::black_box;

use criterion::{
    BenchmarkGroup, Criterion, criterion_group, criterion_main, measurement::WallTime,
};
use sparx::sparx64 as baseline;
use sparx64::Sparx64;

const KEY: [u8; 16] = *b"sixteen byte key";

fn bench(group: &mut BenchmarkGroup<'_, WallTime>, name: &str, f: impl Fn(u64) -> u64) {
    let mut chained = 0;
    group.bench_function(format!("{name}/latency"), |b| {
        b.iter(|| {
            chained = f(chained);
            chained
        });
    });
    group.bench_function(format!("{name}/throughput"), |b| b.iter(|| f(black_box(1))));
}

fn encrypt(c: &mut Criterion) {
    let mut group = c.benchmark_group("encrypt");
    let cipher = black_box(Sparx64::new(&KEY));
    bench(&mut group, "sparx64", |block| cipher.encrypt_u64(block));
    let schedule = black_box(baseline::key_schedule_encrypt(&KEY));
    bench(&mut group, "sparx", |block| {
        let mut block = block.to_le_bytes();
        baseline::encrypt_block(&mut block, &schedule);
        u64::from_le_bytes(block)
    });
}

fn decrypt(c: &mut Criterion) {
    let mut group = c.benchmark_group("decrypt");
    let cipher = black_box(Sparx64::new(&KEY));
    bench(&mut group, "sparx64", |block| cipher.decrypt_u64(block));
    let schedule = black_box(baseline::key_schedule_decrypt(&KEY));
    bench(&mut group, "sparx", |block| {
        let mut block = block.to_le_bytes();
        baseline::decrypt_block(&mut block, &schedule);
        u64::from_le_bytes(block)
    });
}

fn new(c: &mut Criterion) {
    let mut group = c.benchmark_group("new");
    group.bench_function("sparx64", |b| b.iter(|| Sparx64::new(black_box(&KEY))));
    group.bench_function("sparx", |b| {
        b.iter(|| baseline::key_schedule_encrypt(black_box(&KEY)));
    });
}

criterion_group!(benches, encrypt, decrypt, new);
criterion_main!(benches);
