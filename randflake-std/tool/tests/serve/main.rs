//! `randflake serve`, with unmodified clients of Redis and with bytes that none of them sends.

#![cfg(unix)]
#![expect(
    clippy::unwrap_used,
    clippy::panic,
    reason = "a test fails by panicking"
)]

#[path = "../aged_store/mod.rs"]
mod aged_store;
mod clients;
mod connections;
#[cfg(target_os = "linux")]
mod flood;
mod incidents;
mod lifecycle;
mod server;
mod tls;
