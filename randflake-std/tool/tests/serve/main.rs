//! `randflake serve`, with unmodified clients of Redis and with bytes that none of them sends.

#![cfg(unix)]
#![expect(
    clippy::unwrap_used,
    clippy::panic,
    reason = "a test fails by panicking"
)]

#[path = "../aged_store/mod.rs"]
mod aged_store;
mod client;
mod clients;
mod crowd;
mod emptied;
mod encrypted;
mod ending;
#[cfg(target_os = "linux")]
mod flood;
mod grants;
mod incidents;
mod manager;
mod noted;
mod numbers;
mod protocol;
mod reach;
mod rights;
mod server;
mod tls;
mod tokens;
mod transactions;
mod weights;
