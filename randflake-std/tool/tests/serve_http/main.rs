//! `randflake serve --http`, as its clients see it.

#![cfg(unix)]
#![expect(
    clippy::unwrap_used,
    clippy::panic,
    reason = "a test fails by panicking"
)]

#[path = "../aged_store/mod.rs"]
mod aged_store;
mod connections;
mod description;
mod leases;
#[cfg(target_os = "linux")]
mod log_lines;
mod server;
