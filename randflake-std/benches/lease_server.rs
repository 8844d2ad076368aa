//! How long an acquire takes on a server when 0, 50, 99, 99.9 and 100 % of 131,072 node ids are leased,
//! and how many renewals 16 clients get answered in a second. `RANDFLAKE_BENCH_STORE` names the store:
//! an empty database or server that nothing else uses.
//!
//! Most of it is waiting for the server's disk. The baseline is to ask for its clock: a round trip.

#![expect(clippy::unwrap_used, reason = "a benchmark fails by panicking")]
#![expect(
    clippy::print_stdout,
    reason = "a benchmark reports on its standard output"
)]

use core::time::Duration;
use std::env;
use std::thread;
use std::time::Instant;

use randflake_std::Randflake;
use randflake_std::lease::{
    AcquireRequest, Acquired, Grant, LeaseStore, Namespace, StoreError, Token, open,
};

const TTL: u64 = 300;
const CLIENTS: u32 = 16;

fn main() {
    // Without `--bench` it is run as a test, and without a server there is nothing to measure.
    let Ok(url) = env::var("RANDFLAKE_BENCH_STORE") else {
        println!("set RANDFLAKE_BENCH_STORE to a store's URL");
        return;
    };
    let samples = if env::args().any(|arg| arg == "--bench") {
        1_000
    } else {
        10
    };
    let namespace = Namespace::of::<Randflake>("bench").unwrap();
    let all = u32::try_from(namespace.node_ids()).unwrap();
    let mut store = open(&url, &namespace).unwrap();
    println!("{:24} {:>10} {:>10} {:>10}", "ms", "p50", "p99", "max");
    let clock = |store: &mut dyn LeaseStore| store.now().map(drop).unwrap();
    report("baseline", timed(samples, || clock(&mut *store)));

    let mut leased = 0;
    for per_mille in [0, 500, 990, 999] {
        let wanted = u32::try_from(u64::from(all) * per_mille / 1_000).unwrap();
        fill(&mut *store, wanted - leased);
        leased = wanted;
        let mut times = Vec::new();
        for _ in 0..samples {
            let begin = Instant::now();
            let grants = acquire(&mut *store, 1).unwrap().grants;
            times.push(begin.elapsed());
            release(&mut *store, &grants);
        }
        report(&format!("acquire/{per_mille} ‰"), times);
    }
    fill(&mut *store, all - leased - CLIENTS);
    println!(
        "{:24} {:10.0}",
        "renewals/s, 16 clients",
        renewals(&url, &namespace, samples)
    );
    fill(&mut *store, CLIENTS);
    let refusals = timed(samples, || {
        let refused = acquire(&mut *store, 1);
        assert!(matches!(refused, Err(StoreError::Exhausted { .. })));
    });
    report("refused/1000 ‰", refusals);
}

/// In a second, by clients that each hold one node id and give it back.
fn renewals(url: &str, namespace: &Namespace, samples: u32) -> f64 {
    let span = Duration::from_millis(u64::from(samples) * 5);
    let renew = |_| {
        let mut store = open(url, namespace).unwrap();
        let grants = acquire(&mut *store, 1).unwrap().grants;
        let (begin, mut count) = (Instant::now(), 0_u32);
        while begin.elapsed() < span {
            store.renew(&grants, TTL).unwrap();
            count += 1;
        }
        release(&mut *store, &grants);
        f64::from(count) / begin.elapsed().as_secs_f64()
    };
    thread::scope(|scope| {
        let clients: Vec<_> = (0..CLIENTS)
            .map(|n| scope.spawn(move || renew(n)))
            .collect();
        clients
            .into_iter()
            .map(|client| client.join().unwrap())
            .sum()
    })
}

fn acquire(store: &mut dyn LeaseStore, count: u32) -> Result<Acquired, StoreError> {
    store.acquire(&AcquireRequest {
        token: Token::random().unwrap(),
        holder: "bench",
        count,
        ttl: TTL,
    })
}

/// Releases what nothing was issued from.
fn release(store: &mut dyn LeaseStore, grants: &[Grant]) {
    let unused = |grant: &Grant| Grant {
        end: grant.start,
        ..*grant
    };
    let unused: Vec<_> = grants.iter().map(unused).collect();
    store.release(&unused).unwrap();
}

/// Leases many node ids, in operations that are not too long.
fn fill(store: &mut dyn LeaseStore, mut missing: u32) {
    while missing > 0 {
        let count = missing.min(8_192);
        acquire(store, count).unwrap();
        missing -= count;
    }
}

fn timed(samples: u32, mut work: impl FnMut()) -> Vec<Duration> {
    let times = (0..samples).map(|_| {
        let begin = Instant::now();
        work();
        begin.elapsed()
    });
    times.collect()
}

fn report(name: &str, mut times: Vec<Duration>) {
    times.sort_unstable();
    let at = |per_mille: usize| times[times.len() * per_mille / 1_000].as_secs_f64() * 1e3;
    let (p50, p99, max) = (at(500), at(990), times[times.len() - 1].as_secs_f64() * 1e3);
    println!("{name:24} {p50:10.3} {p99:10.3} {max:10.3}");
}
