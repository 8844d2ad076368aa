//! Does a handle keep its rate on the real clock, and how does waiting for the next tick end?
//!
//! `rate`: of the ids that `k` node ids have in some whole seconds, the part that one thread gets
//! that waits when there are none; the fewest and the most ids of a node id in a second, which are
//! as many when it is fair; and the part of the time that the process was at work. `wait`: how long
//! after the beginning of a second its first id is had, by the exact clock, wherever in the second
//! before the waiting began; and the processor time that a wait takes. `elastic`: a handle of 1 to
//! 64 node ids under 10,000 ids a second, 2,000,000, and 10,000 again.

#![expect(clippy::unwrap_used, reason = "a benchmark fails by panicking")]
#![expect(clippy::expect_used, reason = "as above, in what all benchmarks share")]
#![expect(
    clippy::print_stdout,
    reason = "a benchmark reports on its standard output"
)]

mod elastic;
#[path = "../support/mod.rs"]
mod support;

use core::time::Duration;
use std::collections::BTreeMap;
use std::env;
use std::thread;
use std::time::{SystemTime, UNIX_EPOCH};

use randflake_std::{Handle, Id};
use support::{IDS_PER_TICK, handle};

/// No wait for a tick is as long.
const LIMIT: Duration = Duration::from_secs(2);

fn now() -> Duration {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap()
}

/// What the process has had of the processors, kernel and all.
#[cfg(unix)]
fn processor_time() -> Duration {
    let time = rustix::time::clock_gettime(rustix::time::ClockId::ProcessCPUTime);
    Duration::new(
        u64::try_from(time.tv_sec).unwrap(),
        u32::try_from(time.tv_nsec).unwrap(),
    )
}

#[cfg(not(unix))]
fn processor_time() -> Duration {
    Duration::ZERO
}

/// The second in which an id was issued, and its node id.
fn origin(ids: &Handle, id: Id) -> (u64, u32) {
    (ids.codec().unix_ms(id) / 1_000, ids.inspect(id).node_id)
}

fn rate(node_ids: u32, seconds: u64) {
    let ids = handle(node_ids);
    // Written once before the time begins, so that no page is missing then.
    let possible = u64::from(node_ids) * IDS_PER_TICK * (seconds + 2);
    let mut issued = vec![Id::from_u64(1); usize::try_from(possible).unwrap()];
    issued.clear();
    let begin = now().as_secs() + 1;
    thread::sleep(Duration::from_secs(begin).saturating_sub(now()));
    let worked = processor_time();
    while now().as_secs() < begin + seconds {
        for _ in 0..128 {
            issued.push(ids.generate_wait(LIMIT).unwrap());
        }
    }
    let worked = processor_time().saturating_sub(worked).as_secs_f64()
        / f64::from(u32::try_from(seconds).unwrap());
    let whole = begin..begin + seconds;
    let mut counts = BTreeMap::<_, u64>::new();
    for &id in &issued {
        let origin = origin(&ids, id);
        if whole.contains(&origin.0) {
            *counts.entry(origin).or_default() += 1;
        }
    }
    let count: u64 = counts.values().sum();
    let part = 100.0 * as_float(count) / as_float(u64::from(node_ids) * IDS_PER_TICK * seconds);
    let (fewest, most) = (
        counts.values().min().unwrap(),
        counts.values().max().unwrap(),
    );
    println!(
        "rate  {node_ids:2} node ids  {:9} ids/s  {part:7.3} %  {fewest} to {most} of a node id and second  at work {:.1} %",
        count / seconds,
        100.0 * worked,
    );
}

fn wait(samples: u32) {
    let ids = handle(1);
    let mut buffer = vec![Id::from_u64(0); 1_024];
    let (mut late, mut worked) = (Vec::new(), Vec::new());
    for sample in 0..samples {
        // Until there are no more.
        while ids.fill(&mut buffer).is_ok() {}
        // Most waits begin in the last milliseconds, where a clock of some milliseconds' steps
        // tells.
        let before = match sample % 4 {
            0 => Duration::from_millis(700),
            part => Duration::from_micros(u64::from(part) * 1_700 + u64::from(sample) * 37),
        };
        let next = Duration::from_secs(now().as_secs() + 1);
        thread::sleep(next.saturating_sub(now() + before));
        let begin = processor_time();
        let id = ids.generate_wait(LIMIT).unwrap();
        let end = now();
        worked.push(processor_time().saturating_sub(begin));
        late.push(end.saturating_sub(Duration::from_secs(origin(&ids, id).0)));
    }
    for (what, mut times) in [("late", late), ("at work", worked)] {
        times.sort_unstable();
        let (p50, p90) = (times[times.len() / 2], times[times.len() * 9 / 10]);
        let max = times[times.len() - 1];
        println!("wait  {what:8} p50 {p50:?}  p90 {p90:?}  max {max:?}  of {samples}");
    }
}

#[expect(clippy::cast_precision_loss, reason = "far fewer than 2^52")]
fn as_float(count: u64) -> f64 {
    count as f64
}

fn main() {
    // Without `--bench` it is run as a test.
    let (seconds, samples, phases, node_ids) = if env::args().any(|arg| arg == "--bench") {
        (5, 40, [3, 10, 12], &[1, 4, 16][..])
    } else {
        (1, 1, [1, 1, 1], &[1][..])
    };
    for node_ids in node_ids {
        rate(*node_ids, seconds);
    }
    wait(samples);
    for tolerance in [0, 2] {
        elastic::run(tolerance, phases);
    }
}
