//! Keys and stores in files: whose they are, and what becomes of them on file systems that are cut off, full, copied,
//! restored and mounted in pieces.
//!
//! Needs root, Linux and `mkfs.ext4`: `cargo xtask engines`.

#![cfg(target_os = "linux")]
#![expect(
    clippy::unwrap_used,
    clippy::panic,
    reason = "a test fails by panicking"
)]

mod copies;
mod cuts;
mod full;
mod mounts;
mod owners;
mod tickets;

use core::time::Duration;
use std::thread;

use randflake_std::Randflake;
use randflake_std::lease::{
    AcquireRequest, Grant, LeaseStore, Namespace, NodeIds, QuarantineCause, StoreError, Token,
};

const TTL: u64 = 60;

fn namespace(name: &str) -> Namespace {
    let namespace = Namespace::new(name, Randflake).unwrap();
    namespace.with_max_ttl(Duration::from_secs(2 * TTL))
}

fn acquire(store: &mut LeaseStore) -> Result<Grant, StoreError> {
    acquire_for(store, TTL)
}

fn acquire_for(store: &mut LeaseStore, ttl: u64) -> Result<Grant, StoreError> {
    let request = AcquireRequest {
        token: Token::random().unwrap(),
        holder: "holder",
        nodes: NodeIds::Any(1),
        ttl,
    };
    loop {
        match store.acquire(&request) {
            Err(StoreError::Quarantined {
                retry_in,
                quarantine,
            }) if quarantine.cause == QuarantineCause::Young => thread::sleep(retry_in),
            acquired => return Ok(acquired?.grants[0]),
        }
    }
}

/// The sentence of a refusal that trying again cannot help.
fn failed_precondition<T: core::fmt::Debug>(outcome: Result<T, StoreError>) -> String {
    match outcome {
        Err(StoreError::FailedPrecondition(error)) => error.to_string(),
        other => panic!("{other:?}"),
    }
}
