//! How long an acquire and a renewal take when 0, 50, 99, 99.9 and 100 % of 131,072 node ids are
//! leased: the median and the 99th percentile of many, which a mean would hide.
//!
//! Most of it is waiting for the disk. The baseline is as many waits without a database.

#![expect(clippy::unwrap_used, reason = "a benchmark fails by panicking")]
#![expect(
    clippy::print_stdout,
    reason = "a benchmark reports on its standard output"
)]

use core::time::Duration;
use std::env;
use std::fs::File;
use std::io::{Seek, Write};
use std::time::Instant;

use randflake_std::Randflake;
use randflake_std::lease::{
    AcquireRequest, Acquired, Grant, LeaseStore, Namespace, SqliteStore, StoreError, Token,
};

const TTL: u64 = 300;
/// How often an operation waits for the disk.
const SYNCS: usize = 5;

fn acquire(store: &mut SqliteStore, count: u32) -> Result<Acquired, StoreError> {
    store.acquire(&AcquireRequest {
        token: Token::random().unwrap(),
        holder: "bench",
        count,
        ttl: TTL,
    })
}

/// Releases what nothing was issued from.
fn release(store: &mut SqliteStore, grants: &[Grant]) {
    let unused = |grant: &Grant| Grant {
        end: grant.start,
        ..*grant
    };
    let unused: Vec<_> = grants.iter().map(unused).collect();
    store.release(&unused).unwrap();
}

/// Leases many node ids, in transactions that are not too long.
fn fill(store: &mut SqliteStore, mut missing: u32) {
    while missing > 0 {
        let count = missing.min(16_384);
        acquire(store, count).unwrap();
        missing -= count;
    }
}

fn report(name: &str, mut times: Vec<Duration>) {
    times.sort_unstable();
    let at = |per_mille: usize| times[times.len() * per_mille / 1_000].as_secs_f64() * 1e3;
    let (p50, p99, max) = (at(500), at(990), times[times.len() - 1].as_secs_f64() * 1e3);
    println!("{name:24} {p50:10.3} {p99:10.3} {max:10.3}");
}

fn timed<T>(times: &mut Vec<Duration>, work: impl FnOnce() -> T) -> T {
    let begin = Instant::now();
    let outcome = work();
    times.push(begin.elapsed());
    outcome
}

fn main() {
    // Without `--bench` it is run as a test.
    let samples = if env::args().any(|arg| arg == "--bench") {
        2_000
    } else {
        10
    };
    let folder = tempfile::TempDir::new().unwrap();
    let namespace = Namespace::of::<Randflake>("bench").unwrap();
    let all = u32::try_from(namespace.node_ids()).unwrap();
    println!("{:24} {:>10} {:>10} {:>10}", "ms", "p50", "p99", "max");

    let mut file = File::create(folder.path().join("baseline")).unwrap();
    let mut baseline = Vec::new();
    for _ in 0..samples {
        timed(&mut baseline, || {
            for _ in 0..SYNCS {
                file.rewind()
                    .and_then(|()| file.write_all(&[1; 4_096]))
                    .unwrap();
                file.sync_data().unwrap();
            }
        });
    }
    report("baseline", baseline);

    for per_mille in [0, 500, 990, 999] {
        let path = folder.path().join(format!("{per_mille}.db"));
        let mut store = SqliteStore::open(path, &namespace).unwrap();
        fill(
            &mut store,
            u32::try_from(u64::from(all) * per_mille / 1_000).unwrap(),
        );
        let (mut acquires, mut renewals) = (Vec::new(), Vec::new());
        for _ in 0..samples {
            let grants = timed(&mut acquires, || acquire(&mut store, 1))
                .unwrap()
                .grants;
            timed(&mut renewals, || store.renew(&grants, TTL)).unwrap();
            release(&mut store, &grants);
        }
        let percent = f64::from(u16::try_from(per_mille).unwrap()) / 10.0;
        report(&format!("acquire/{percent} %"), acquires);
        report(&format!("renew/{percent} %"), renewals);
    }

    let mut store = SqliteStore::open(folder.path().join("full.db"), &namespace).unwrap();
    fill(&mut store, all);
    let mut refusals = Vec::new();
    for _ in 0..samples {
        let refused = timed(&mut refusals, || acquire(&mut store, 1));
        assert!(matches!(refused, Err(StoreError::Exhausted { .. })));
    }
    report("refused/100 %", refusals);
}
