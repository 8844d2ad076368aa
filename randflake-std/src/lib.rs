#![doc = include_str!("../README.md")]

mod clock;
mod date;
mod error;
mod fork_guard;
mod generation;
mod handle;
mod holder;
pub mod lease;
pub mod ledger;
pub mod observability;
#[doc(hidden)] // For the command line tool.
pub mod private_file;
#[cfg(feature = "private-ip")]
mod private_ip;
mod secret;
pub mod segment;

pub use clock::{ExactSystemClock, SystemClock};
pub use error::GenerateError;
pub use generation::Generation;
pub use handle::{
    BuildError, Builder, DEFAULT_TTL, Handle, Health, LeaseStatus, MAX_TOLERANCE_MS, NodeIdCount,
};
#[cfg(feature = "private-ip")]
pub use private_ip::private_ip_node_id;
pub use randflake_core::{
    self, AnyLayout, AnyPermutation, Baidu, Custom, Discord, Encrypted, Id, Instagram, Layout,
    Lease, Mastodon, Parts, Plain, Randflake, Snowflake, Sonyflake,
};
pub use secret::{Secret, SecretError};

/// Its examples are run as tests.
#[cfg(doctest)]
#[doc = include_str!("../../docs/migration.md")]
mod migration_guide {}
