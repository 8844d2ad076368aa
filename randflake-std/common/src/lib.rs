#![doc = include_str!("../README.md")]
#![expect(
    clippy::missing_errors_doc,
    clippy::must_use_candidate,
    reason = "it is for two programs, and errors are the messages that they print"
)]
// Where standard error is a full disk they panic: `failure::say` does not.
#![deny(clippy::print_stderr)]

pub mod date;
pub mod explain;
pub mod failure;
pub mod form;
pub mod layout;
mod lease_document;
pub mod limits;
pub mod number;
pub mod settings;
mod snapshot;

/// Leases, as the command line and the server answer them.
pub mod leases {
    pub use crate::lease_document::{GrantEntry, LeaseDocument, Lost};
    pub use crate::snapshot::{LeaseRow, Snapshot, device_id};
}
