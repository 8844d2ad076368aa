//! Tests of `LeaseStore` over an engine in memory: what it reads and writes, and what it concludes.

#![expect(
    clippy::unwrap_used,
    clippy::panic,
    reason = "a test fails by panicking"
)]

#[cfg(feature = "testkit")]
mod contract_memory;
#[cfg(feature = "testkit")]
mod copies;
mod history;
mod losses;
mod operations;
mod record_texts;
mod renewals;
mod rules;
mod search;
mod shown_early;
#[path = "../../../tests/watched/mod.rs"]
mod watched;
mod world;
