//! Cost of an id when several threads want ids of one handle. The time is that by the clock on the
//! wall, by the number of all threads' ids: with a processor for each thread it falls as they grow
//! in number, and with more threads than processors it should not rise.
//!
//! The cases take turns, and one thread alone is what the others are compared with.

#![expect(clippy::expect_used, reason = "a benchmark fails by panicking")]
#![expect(
    clippy::print_stdout,
    reason = "a benchmark reports on its standard output"
)]

mod support;

use core::hint::{black_box, spin_loop};
use core::sync::atomic::{AtomicUsize, Ordering};
use core::time::Duration;
use std::env;
use std::thread;
use std::time::Instant;

use randflake_std::Handle;
use support::{IDS_PER_TICK, handle};

const THREADS: [usize; 4] = [1, 2, 4, 16];
const NODE_IDS: u32 = 16;
/// Half of what one tick has: blocks are not all used.
const IDS: u64 = NODE_IDS as u64 * IDS_PER_TICK / 2;

/// From the first to the last call of all threads, each with ids of its own.
fn measure(ids: &Handle, threads: usize) -> Duration {
    let ready = AtomicUsize::new(0);
    let work = || {
        let ids = ids.clone();
        ready.fetch_add(1, Ordering::AcqRel);
        while ready.load(Ordering::Acquire) < threads {
            // With more threads than processors one that is waited for may be without.
            spin_loop();
            thread::yield_now();
        }
        let start = Instant::now();
        for _ in 0..IDS / threads as u64 {
            black_box(ids.generate().expect("the tick has ids"));
        }
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

fn main() {
    // Without `--bench` it is run as a test.
    let rounds = if env::args().any(|arg| arg == "--bench") {
        31
    } else {
        1
    };
    let mut ns = THREADS.map(|_| Vec::new());
    for _ in 0..rounds {
        for (threads, ns) in THREADS.into_iter().zip(&mut ns) {
            let took = measure(&handle(NODE_IDS), threads);
            ns.push(took.as_secs_f64() * 1e9 / as_float(IDS));
        }
    }
    println!("threads  ns per id: median  fastest  slowest of {rounds}  median by one thread's");
    let mut alone = None;
    for (threads, mut ns) in THREADS.into_iter().zip(ns) {
        ns.sort_by(f64::total_cmp);
        let (median, fastest, slowest) = (ns[ns.len() / 2], ns[0], ns[ns.len() - 1]);
        let part = median / *alone.get_or_insert(median);
        println!("{threads:7}  {median:17.2}  {fastest:7.2}  {slowest:7.2}        {part:22.2}");
    }
}

#[expect(clippy::cast_precision_loss, reason = "far fewer than 2^52")]
fn as_float(count: u64) -> f64 {
    count as f64
}
