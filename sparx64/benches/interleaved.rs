//! All cases in turn, many times over, and the median of each, as CSV.
//!
//! Criterion measures one case after the other; on a machine whose speed wanders, cases are only
//! comparable if they wander together. These are the figures of record: see `benches/record/`.
#![expect(clippy::print_stdout, reason = "the figures are the output")]

use core::hint::black_box;
use std::env;
use std::time::Instant;

use sparx::sparx64 as baseline;
use sparx64::{Backend, Sparx64};

const KEY: [u8; 16] = *b"sixteen byte key";
const PASSES: usize = 501;
/// Blocks in one measurement, whatever the length of the slices.
const BLOCKS: u32 = 4096;
const LENGTHS: [u32; 4] = [8, 64, 256, 1024];

struct Case<'a> {
    name: String,
    /// What one measurement runs, and how many blocks or cycles that is.
    run: Box<dyn FnMut() + 'a>,
    units: u32,
}

impl<'a> Case<'a> {
    fn new(name: String, units: u32, run: impl FnMut() + 'a) -> Self {
        let run = Box::new(run);
        Self { name, run, units }
    }

    /// Each result is the next input.
    fn latency(name: &str, f: impl Fn(u64) -> u64 + 'a) -> Self {
        Self::new(format!("{name}/latency"), BLOCKS, move || {
            black_box((0..BLOCKS).fold(0, |block, _| f(block)));
        })
    }

    /// Inputs do not wait for results.
    fn throughput(name: &str, f: impl Fn(u64) -> u64 + 'a) -> Self {
        Self::new(format!("{name}/throughput"), BLOCKS, move || {
            for _ in 0..BLOCKS {
                black_box(f(black_box(1)));
            }
        })
    }

    fn slices(name: &str, length: u32, f: impl Fn(&mut [u64]) + 'a) -> Self {
        let mut blocks: Vec<u64> = (0..u64::from(length)).collect();
        let name = format!("{name}/{length}");
        Self::new(name, BLOCKS, move || {
            for _ in 0..BLOCKS / length {
                f(black_box(&mut blocks));
            }
        })
    }
}

/// The crate `sparx` takes words in little-endian order: its time is taken without swapping them.
fn other(block: u64, f: impl Fn(&mut [u8; 8])) -> u64 {
    let mut bytes = block.to_le_bytes();
    f(&mut bytes);
    u64::from_le_bytes(bytes)
}

fn main() {
    let cipher = black_box(&Sparx64::new(&KEY)).clone();
    let (cipher, schedule) = (&cipher, &black_box(baseline::key_schedule_encrypt(&KEY)));
    let mut cases = vec![
        // A chain of multiplications, 3 cycles each on most processors, tells the clock.
        Case::new("clock/cycle".into(), 3 * BLOCKS, || {
            black_box((0..BLOCKS).fold(black_box(3_u64), |x, _| x.wrapping_mul(x)));
        }),
        Case::latency("encrypt/single", |block| cipher.encrypt_u64(block)),
        Case::throughput("encrypt/single", |block| cipher.encrypt_u64(block)),
        Case::latency("encrypt/sparx", |block| {
            other(block, |bytes| baseline::encrypt_block(bytes, schedule))
        }),
        Case::throughput("encrypt/sparx", |block| {
            other(block, |bytes| baseline::encrypt_block(bytes, schedule))
        }),
        Case::latency("decrypt/single", |block| cipher.decrypt_u64(block)),
        Case::throughput("decrypt/single", |block| cipher.decrypt_u64(block)),
        Case::latency("decrypt/sparx", |block| {
            other(block, |bytes| baseline::decrypt_block(bytes, schedule))
        }),
        Case::throughput("decrypt/sparx", |block| {
            other(block, |bytes| baseline::decrypt_block(bytes, schedule))
        }),
    ];
    for backend in Backend::available() {
        for length in LENGTHS {
            cases.push(Case::slices(
                &format!("encrypt/{backend}"),
                length,
                move |blocks| {
                    cipher.encrypt_blocks_with(backend, blocks);
                },
            ));
            cases.push(Case::slices(
                &format!("decrypt/{backend}"),
                length,
                move |blocks| {
                    cipher.decrypt_blocks_with(backend, blocks);
                },
            ));
        }
    }

    // Without `--bench` it is run as a test.
    let is_bench = env::args().any(|argument| argument == "--bench");
    let passes = if is_bench { PASSES } else { 1 };
    let mut times: Vec<Vec<f64>> = vec![Vec::new(); cases.len()];
    for _ in 0..passes {
        for (case, times) in cases.iter_mut().zip(&mut times) {
            let start = Instant::now();
            (case.run)();
            times.push(start.elapsed().as_secs_f64() * 1e9);
        }
    }
    println!("case,median_ns,fastest_twentieth_ns");
    for (case, times) in cases.iter().zip(&mut times) {
        times.sort_by(f64::total_cmp);
        let per_unit = |ns: f64| ns / f64::from(case.units);
        let (median, fast) = (per_unit(times[passes / 2]), per_unit(times[passes / 20]));
        println!("{},{median:.3},{fast:.3}", case.name);
    }
}
