#![doc = include_str!("../README.md")]
#![cfg_attr(docsrs, feature(doc_cfg))]

pub mod backoff;
mod clock;
pub mod date;
mod fork_guard;
mod generation;
mod handle;
pub mod lease;
mod look_schedule;
pub mod observability;
pub mod private_file;
#[doc(hidden)] // For the model and the tests of this project.
pub mod rules;
mod secret;
pub mod segment;
#[doc(hidden)] // For the tests of this project.
pub mod store;
pub mod tagged;
mod vocabulary;
mod wiped_stack;

pub use clock::{ExactSystemClock, SystemClock};

pub use generation::Generation;
pub use handle::{
    BuildError, Builder, DEFAULT_TTL, Handle, Health, LeaseStatus, Losses, MAX_TOLERANCE_MS,
    NodeIdCount,
};
#[cfg(feature = "serde")]
pub use randflake_core::serde;
#[cfg(any(feature = "diesel-sqlite", feature = "rusqlite"))]
pub use randflake_core::sqlite;
pub use randflake_core::{
    self, AnyLayout, Baidu, Border, BorderError, Cipher, Discord, Feistel53, GenerateError, Id,
    Id53, Id53Error, Instagram, KeyNumber, KeyNumberError, Kind, Layout, LayoutSpec, Lease,
    Mastodon, Milliflake, Parts, Permutation, Plain, Randflake, Randflake53, Snowflake, Sonyflake,
    Sparx64, StoredRaw, TagError, TagKey, TaggedUuid, TaggedUuidError, Typed, TypedIdError,
    typed_id,
};
pub use secret::{Secret, SecretError};

// The examples of the guides are run as tests.
#[cfg(doctest)]
#[doc = include_str!("../../docs/migration.md")]
mod migration_guide {}

#[cfg(doctest)]
#[doc = include_str!("../../docs/testing.md")]
mod testing_guide {}

#[cfg(all(doctest, feature = "sqlite"))]
#[doc = include_str!("../../README.md")]
mod readme {}

#[cfg(all(doctest, feature = "tokio"))]
#[doc = include_str!("../../docs/server.md")]
mod server_guide {}
