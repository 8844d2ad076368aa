//! Operations on a store.

use core::time::Duration;
use std::time::Instant;

use randflake_std::lease::{
    AcquireRequest, Acquisition, Grant, LeaseStore, NodeIds, StoreError, Token,
};

pub(crate) fn ask(store: &mut LeaseStore, count: u32, ttl: u64) -> Result<Acquisition, StoreError> {
    store.acquire(&AcquireRequest {
        token: Token::random().unwrap(),
        holder: "bench",
        nodes: NodeIds::Any(count),
        ttl,
    })
}

pub(crate) fn acquire(store: &mut LeaseStore, count: u32, ttl: u64) -> Vec<Grant> {
    ask(store, count, ttl).unwrap().grants
}

/// Releases what nothing was issued from.
pub(crate) fn release(store: &mut LeaseStore, grants: &[Grant]) {
    let unused = |grant: &Grant| Grant {
        end: grant.start,
        ..*grant
    };
    let unused: Vec<_> = grants.iter().map(unused).collect();
    store.release(&unused).unwrap();
}

/// Leases all node ids of a namespace, `most` with each operation.
pub(crate) fn fill(store: &mut LeaseStore, most: u32, ttl: u64) -> Vec<Grant> {
    let mut missing = u32::try_from(store.namespace().node_ids()).unwrap();
    let mut grants = Vec::new();
    while missing > 0 {
        let count = missing.min(most);
        grants.extend(acquire(store, count, ttl));
        missing -= count;
    }
    grants
}

/// The time until a full namespace says so; `None` if it is not full.
pub(crate) fn refusal(store: &mut LeaseStore, ttl: u64) -> Option<Duration> {
    // A store may have to connect anew after an operation that was allowed to take longer.
    store.now().unwrap();
    let begin = Instant::now();
    let refused = ask(store, 1, ttl);
    let time = begin.elapsed();
    match refused {
        Err(StoreError::Exhausted { .. }) => Some(time),
        answer => {
            answer.unwrap();
            None
        }
    }
}
