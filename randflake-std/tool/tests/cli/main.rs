//! The command line tool as its users meet it: the real binary, with a home of its own for each
//! test.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

#[path = "../aged_store/mod.rs"]
mod aged_store;
mod devices;
#[cfg(target_os = "linux")]
mod processes;
mod stores;
mod streams;
mod terminal;
#[expect(dead_code, reason = "other tests do more with the tool")]
mod user;
mod vectors;
