//! All tests of the library on engines' servers, as one program: an engine is started once for the tests that share it,
//! and most of them wait.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]
#![cfg(unix)]

mod addresses;
mod contract_etcd;
mod contract_mysql;
mod contract_postgres;
mod contract_redis;
mod encryption;
#[path = "../found/mod.rs"]
mod found;
mod hostile;
mod idle;
mod lasting;
mod length;
mod looks;
mod postgresql;
mod segment_faults;
mod servers;
#[path = "../watched/mod.rs"]
mod watched;
