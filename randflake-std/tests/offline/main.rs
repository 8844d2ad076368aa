//! All tests of the library that need neither an engine's server nor a process of their own, as one
//! program: most of them wait, so they run side by side.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

mod blocks;
mod contract_memory;
#[cfg(feature = "sqlite")]
mod contract_sqlite;
mod contract_static;
mod copies;
mod devices;
mod elastic;
#[path = "../found/mod.rs"]
mod found;
#[cfg_attr(
    not(feature = "tokio"),
    expect(dead_code, reason = "tasks use more of it than threads")
)]
mod gate;
mod generation;
mod handle;
mod id_kinds;
mod layouts;
#[cfg(feature = "sqlite")]
#[path = "../engines/length.rs"]
mod length;
mod recheck;
mod record_texts;
mod rotation;
mod rules;
mod segments;
mod shown_early;
#[cfg(feature = "sqlite")]
mod sqlite;
mod tagged;
#[cfg(feature = "tokio")]
mod tasks;
mod upgrades;
mod urls;
#[cfg(feature = "sqlite")]
mod waits;
#[path = "../watched/mod.rs"]
mod watched;
