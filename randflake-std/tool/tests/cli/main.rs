//! The command line tool as its users meet it: the real binary, with a home of its own for each test.

#![expect(
    clippy::unwrap_used,
    clippy::panic,
    reason = "a test fails by panicking"
)]

#[path = "../aged_store/mod.rs"]
mod aged_store;
mod check;
mod counter_terms;
mod device;
mod docs;
mod doctor;
mod explain;
mod failures;
mod forms;
#[cfg(target_os = "linux")]
mod full_log;
mod generate;
mod grants;
mod histogram;
mod hostile;
mod ids;
mod keys;
mod layouts;
mod leases;
mod line;
mod max_ttl;
mod mistakes;
mod namespaces;
mod numbers;
mod provision;
mod rounded;
mod secrets;
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
mod uuids;
mod vectors;
mod waits;
