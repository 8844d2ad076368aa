//! Time of a block in a slice, with each backend that the machine has.
//!
//! `single` calls once for each block: what a slice saves. `sparx` is the other crate's only way.

use core::hint::black_box;

use criterion::{
    BenchmarkGroup, BenchmarkId, Criterion, Throughput, criterion_group, criterion_main,
    measurement::WallTime,
};
use sparx::sparx64 as baseline;
use sparx64::{Backend, Sparx64};

const KEY: [u8; 16] = *b"sixteen byte key";

/// A call's fixed cost shows in the small ones; all fit the first-level cache.
const LENGTHS: [usize; 3] = [8, 64, 1024];

fn bench(
    group: &mut BenchmarkGroup<'_, WallTime>,
    name: impl core::fmt::Display,
    mut f: impl FnMut(&mut [u64]),
) {
    for length in LENGTHS {
        let mut blocks: Vec<u64> = (0..).take(length).collect();
        group.throughput(Throughput::Elements(length.try_into().unwrap_or(u64::MAX)));
        group.bench_function(BenchmarkId::new(name.to_string(), length), |b| {
            b.iter(|| f(black_box(&mut blocks)));
        });
    }
}

fn encrypt(c: &mut Criterion) {
    let mut group = c.benchmark_group("encrypt_blocks");
    let cipher = black_box(Sparx64::new(&KEY));
    for backend in Backend::available() {
        bench(&mut group, backend, |blocks| {
            cipher.encrypt_blocks_with(backend, blocks);
        });
    }
    bench(&mut group, "single", |blocks| {
        for block in blocks {
            *block = cipher.encrypt_u64(*block);
        }
    });
    let schedule = black_box(baseline::key_schedule_encrypt(&KEY));
    bench(&mut group, "sparx", |blocks| {
        for block in blocks {
            let mut bytes = block.to_le_bytes();
            baseline::encrypt_block(&mut bytes, &schedule);
            *block = u64::from_le_bytes(bytes);
        }
    });
}

fn decrypt(c: &mut Criterion) {
    let mut group = c.benchmark_group("decrypt_blocks");
    let cipher = black_box(Sparx64::new(&KEY));
    for backend in Backend::available() {
        bench(&mut group, backend, |blocks| {
            cipher.decrypt_blocks_with(backend, blocks);
        });
    }
    bench(&mut group, "single", |blocks| {
        for block in blocks {
            *block = cipher.decrypt_u64(*block);
        }
    });
    let schedule = black_box(baseline::key_schedule_decrypt(&KEY));
    bench(&mut group, "sparx", |blocks| {
        for block in blocks {
            let mut bytes = block.to_le_bytes();
            baseline::decrypt_block(&mut bytes, &schedule);
            *block = u64::from_le_bytes(bytes);
        }
    });
}

criterion_group!(benches, encrypt, decrypt);
criterion_main!(benches);
