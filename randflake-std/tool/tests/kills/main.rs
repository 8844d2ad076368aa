//! The tool as a process that is killed over and over, and under wall clocks that are far off.

#![cfg(unix)]
#![expect(
    clippy::unwrap_used,
    clippy::panic,
    reason = "a test fails by panicking"
)]

#[path = "../aged_store/mod.rs"]
mod aged_store;
mod clocks;
mod minute;
