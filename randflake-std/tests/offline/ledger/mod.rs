//! The ledger over an engine that is watched: how it finds free node ids, and what it asks for.

#![expect(
    clippy::unwrap_used,
    clippy::panic,
    reason = "a test fails by panicking"
)]

mod batches;
mod claims;
mod deferred;
mod diagnosis;
mod drift;
mod drops;
mod engine;
mod hints;
mod lists;
mod losses;
mod occupancy;
mod operations;
mod past;
mod pruned;
mod rounding;
mod search;
mod unread;
mod within;
mod world;
mod writes;
