//! `randflake serve --http`, as its clients see it.

#![cfg(unix)]
#![expect(
    clippy::unwrap_used,
    clippy::panic,
    reason = "a test fails by panicking"
)]

mod abuse;
#[path = "../aged_store/mod.rs"]
mod aged_store;
mod client;
mod connections;
mod description;
mod explain;
mod exported;
mod ids;
mod leases;
#[cfg(target_os = "linux")]
mod log_lines;
mod metrics;
mod numbers;
mod rights;
mod server;
mod shares;
mod slow;
mod tickets;
