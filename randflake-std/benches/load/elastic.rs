//! A load that comes and goes: how many calls are refused until a handle has as many node ids as it
//! takes, how long that takes, and how many it holds over time.

use core::fmt::Write;
use core::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use core::time::Duration;
use std::thread;
use std::time::Instant;

use randflake_std::lease::{Namespace, SqliteStore};
use randflake_std::{Handle, Randflake};

use crate::support::cipher;

const THREADS: u64 = 2;
/// Node ids are given back after one to two of these.
const TTL: Duration = Duration::from_secs(5);
/// How often a thread catches up with what it is to call.
const STEP: Duration = Duration::from_micros(500);
/// A machine that is too slow leaves calls out that are later than this.
const LATEST: Duration = Duration::from_millis(20);

/// What the threads count.
#[derive(Debug, Default)]
struct Counts {
    calls: AtomicU64,
    refused: AtomicU64,
    left_out: AtomicU64,
    /// When the last call was refused, in microseconds from the beginning.
    last_refusal: AtomicU64,
}

/// Calls at a rate, once for each id that is due.
fn call(ids: &Handle, per_second: u64, counts: &Counts, is_over: &AtomicBool) {
    let started = Instant::now();
    let due =
        |time: Duration| u64::try_from(time.as_nanos() * u128::from(per_second) / 1_000_000_000);
    let mut done = 0;
    while !is_over.load(Ordering::Relaxed) {
        let now = started.elapsed();
        let late = due(now.saturating_sub(LATEST))
            .unwrap()
            .saturating_sub(done);
        counts.left_out.fetch_add(late, Ordering::Relaxed);
        done += late;
        let calls = due(now).unwrap().saturating_sub(done);
        let refused = (0..calls).filter(|_| ids.generate().is_err()).count() as u64;
        done += calls;
        counts.calls.fetch_add(calls, Ordering::Relaxed);
        if refused > 0 {
            counts.refused.fetch_add(refused, Ordering::Relaxed);
            let micros = u64::try_from(started.elapsed().as_micros()).unwrap();
            counts.last_refusal.fetch_max(micros, Ordering::Relaxed);
        }
        thread::sleep((now + STEP).saturating_sub(started.elapsed()));
    }
}

/// One rate for some time.
fn phase(ids: &Handle, per_second: u64, time: Duration) {
    let (counts, is_over) = (Counts::default(), AtomicBool::new(false));
    let held = thread::scope(|scope| {
        for _ in 0..THREADS {
            scope.spawn(|| call(ids, per_second / THREADS, &counts, &is_over));
        }
        let held = changes(ids, time);
        is_over.store(true, Ordering::Relaxed);
        held
    });
    let [calls, refused, left_out, last] = [
        &counts.calls,
        &counts.refused,
        &counts.left_out,
        &counts.last_refusal,
    ]
    .map(|count| count.load(Ordering::Relaxed));
    println!(
        "      {per_second:9} ids/s for {time:?}: {calls} calls, {refused} refused, the last after {:?}; left out {left_out}; node ids: {held}",
        Duration::from_micros(last),
    );
}

/// How many node ids there are at first, and whenever that changes.
fn changes(ids: &Handle, time: Duration) -> String {
    let started = Instant::now();
    let mut last = ids.lease().leases.len();
    let mut text = format!("{last}");
    while started.elapsed() < time {
        thread::sleep(Duration::from_millis(1));
        let held = ids.lease().leases.len();
        if held != last {
            last = held;
            write!(text, ", {held} after {} ms", started.elapsed().as_millis()).unwrap();
        }
    }
    text
}

/// From little to much and back, with ids up to some seconds ahead of the clock.
pub(crate) fn run(tolerance: u32, seconds: [u64; 3]) {
    let folder = tempfile::tempdir().unwrap();
    let namespace = Namespace::new("bench", Randflake).unwrap();
    let store = SqliteStore::open(folder.path().join("leases.db"), &namespace).unwrap();
    let builder = randflake_std::Builder::new(Randflake, cipher(), store)
        .node_ids(1..=64)
        .ttl(TTL)
        .tolerance(tolerance);
    let ids = builder.build().unwrap();
    println!(
        "elastic  1 to 64 node ids on SQLite, TTL {TTL:?}, tolerance {tolerance} s, {THREADS} threads"
    );
    for (per_second, seconds) in [10_000, 2_000_000, 10_000].into_iter().zip(seconds) {
        phase(&ids, per_second, Duration::from_secs(seconds));
    }
    ids.close().unwrap();
}
