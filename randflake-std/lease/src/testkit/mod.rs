//! The contract of engines, as tests that anybody can run on an engine of his own.
//!
//! Implement [`Backend`](leases::Backend) for a store that starts empty, and call
//! [`lease_contract!`](crate::lease_contract) in a test program; for counters, implement
//! [`Counters`](counters::Counters) too, and call [`counter_contract!`](crate::counter_contract).
//! Each promise is one test, which fails by a panic. Random histories are checked by the
//! [`Referee`](referee::Referee): no tick of a node id is granted twice.

#![expect(
    missing_docs,
    clippy::missing_errors_doc,
    clippy::missing_panics_doc,
    clippy::must_use_candidate,
    clippy::panic,
    clippy::unwrap_used,
    reason = "each function is a test, named by the promise that it checks"
)]

pub mod counters;
pub mod flaws;
pub mod leases;
pub mod referee;
pub mod server;
