//! Tests of `LeaseStore` over an engine in memory: what it reads and writes, and what it concludes.

#![expect(
    clippy::unwrap_used,
    clippy::panic,
    reason = "a test fails by panicking"
)]

mod history;
mod losses;
mod operations;
mod renewals;
mod search;
#[path = "../../../tests/watched/mod.rs"]
mod watched;
mod world;
mod writes;
