//! Stores in files, on file systems of their own whose power is cut.
//!
//! Needs root, Linux and `mkfs.ext4`: `cargo xtask volumes`.

#![cfg(target_os = "linux")]
#![expect(
    clippy::unwrap_used,
    clippy::expect_used,
    reason = "a test fails by panicking"
)]

mod cuts;
#[path = "../disk/mod.rs"]
mod disk;

use randflake_std::Randflake;
use randflake_std::lease::{AcquireRequest, Grant, LeaseStore, Namespace, StoreError, Token};

const TTL: u64 = 60;

fn namespace(name: &str) -> Namespace {
    Namespace::of::<Randflake>(name).unwrap()
}

fn acquire(store: &mut impl LeaseStore) -> Result<Grant, StoreError> {
    let acquired = store.acquire(&AcquireRequest {
        token: Token::random().unwrap(),
        holder: "holder",
        count: 1,
        ttl: TTL,
    })?;
    Ok(acquired.grants[0])
}
