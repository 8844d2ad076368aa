//! All tests of the library on engines' servers, as one program: an engine is started once for the tests that share it,
//! and most of them wait.

#![expect(
    clippy::unwrap_used,
    clippy::panic,
    reason = "a test fails by panicking"
)]
#![cfg(unix)]

mod addresses;
#[path = "../contract/mod.rs"]
mod contract;
mod contract_etcd;
mod contract_mysql;
mod contract_postgres;
mod contract_redis;
mod encryption;
mod hostile;
mod idle;
mod lasting;
mod length;
mod looks;
#[path = "../namespaces/mod.rs"]
mod namespaces;
mod postgresql;
#[path = "../segment_contract/mod.rs"]
mod segment_contract;
mod segment_faults;
mod servers;
#[path = "../watched/mod.rs"]
mod watched;

// Their macros name each other by the crate.
use contract::contract;
use segment_contract::segment_contract;
