//! The command line tool as its users meet it: the real binary, with a home of its own for each test.

#![expect(
    clippy::unwrap_used,
    clippy::panic,
    reason = "a test fails by panicking"
)]

#[path = "../aged_store/mod.rs"]
mod aged_store;
mod check;
mod device;
mod docs;
mod explain;
mod generate;
mod grants;
mod histogram;
mod hostile;
mod keys;
mod leases;
mod line;
mod namespaces;
mod numbers;
mod provision;
mod rounded;
mod segments;
#[cfg(unix)]
mod signals;
mod streams;
mod tables;
#[cfg(unix)]
mod terminal;
mod tickets;
mod times;
mod user;
mod vectors;
mod waits;
