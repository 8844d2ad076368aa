//! Operations on a store.

use core::time::Duration;
use std::thread;
use std::time::Instant;

use randflake_std::lease::{
    AcquireRequest, Acquired, Grant, LeaseStore, NodeIds, StoreError, Token,
};

/// As many as are leased with one operation to fill a namespace.
const AT_ONCE: u32 = 8_192;

pub(crate) fn ask(
    store: &mut dyn LeaseStore,
    count: u32,
    ttl: u64,
) -> Result<Acquired, StoreError> {
    store.acquire(&AcquireRequest {
        token: Token::random().unwrap(),
        holder: "bench",
        nodes: NodeIds::Any(count),
        ttl,
    })
}

/// Waits for the fence of a new server.
pub(crate) fn acquire(store: &mut dyn LeaseStore, count: u32, ttl: u64) -> Vec<Grant> {
    loop {
        match ask(store, count, ttl) {
            Err(StoreError::Quarantined { retry_in }) => thread::sleep(retry_in),
            outcome => return outcome.unwrap().grants,
        }
    }
}

/// Releases what nothing was issued from.
pub(crate) fn release(store: &mut dyn LeaseStore, grants: &[Grant]) {
    let unused = |grant: &Grant| Grant {
        end: grant.start,
        ..*grant
    };
    let unused: Vec<_> = grants.iter().map(unused).collect();
    for unused in unused.chunks(AT_ONCE as usize) {
        store.release(unused).unwrap();
    }
}

pub(crate) fn fill(store: &mut dyn LeaseStore, mut missing: u32, ttl: u64) -> Vec<Grant> {
    let mut grants = Vec::new();
    while missing > 0 {
        let count = missing.min(AT_ONCE);
        grants.extend(acquire(store, count, ttl));
        missing -= count;
    }
    grants
}

/// The time until a full namespace says so.
pub(crate) fn refusal(store: &mut dyn LeaseStore, ttl: u64) -> Duration {
    // A store may have to connect anew after an operation that was allowed to take longer.
    store.now().unwrap();
    let begin = Instant::now();
    let refused = ask(store, 1, ttl);
    let time = begin.elapsed();
    assert!(matches!(refused, Err(StoreError::Exhausted { .. })));
    time
}
