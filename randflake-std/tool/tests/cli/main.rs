//! The command line tool as its users meet it: the real binary, with a home of its own for each test.

#![expect(
    clippy::unwrap_used,
    clippy::panic,
    reason = "a test fails by panicking"
)]

#[path = "../aged_store/mod.rs"]
mod aged_store;
mod check;
mod docs;
mod line;
mod processes;
mod provision;
mod signals;
mod stores;
mod streams;
mod terminal;
mod user;
mod vectors;
