//! All tests of the library that need neither an engine's server nor a process of their own, as one
//! program: most of them wait, so they run side by side.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

mod blocks;
#[cfg(feature = "sqlite")]
mod contract_sqlite;
mod contract_static;
mod devices;
mod elastic;
#[cfg_attr(
    not(feature = "tokio"),
    expect(dead_code, reason = "tasks use more of it than threads")
)]
mod fixtures;
#[path = "../found/mod.rs"]
mod found;
mod generation;
mod handle;
mod id_kinds;
#[cfg(feature = "sqlite")]
mod length;
mod recheck;
mod rotation;
mod segments;
#[cfg(feature = "sqlite")]
mod sqlite;
mod tagged;
#[cfg(feature = "tokio")]
mod tasks;
mod urls;
#[cfg(feature = "sqlite")]
mod waits;
#[path = "../watched/mod.rs"]
mod watched;
