//! All tests of the library that need neither an engine's server nor a process of their own, as one
//! program: most of them wait, so they run side by side.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

mod blocks;
mod contract_static;
mod devices;
mod elastic;
#[path = "../failing_calls/mod.rs"]
mod failing_calls;
#[cfg_attr(
    not(feature = "tokio"),
    expect(dead_code, reason = "tasks use more of it than threads")
)]
mod fixtures;
mod generation;
#[cfg(all(feature = "sqlite", unix))]
mod gone_files;
mod handle;
mod id_kinds;
mod recheck;
mod rotation;
mod segments;
mod tagged;
#[cfg(feature = "tokio")]
mod tasks;
mod urls;
#[cfg(feature = "sqlite")]
mod waits;
#[path = "../watched/mod.rs"]
mod watched;
