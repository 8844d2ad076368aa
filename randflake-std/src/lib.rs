#![doc = include_str!("../README.md")]
#![cfg_attr(docsrs, feature(doc_cfg))]

mod generation;
mod handle;
pub mod lease;
mod look_schedule;
#[cfg(test)]
mod looked_at;
pub mod observability;
pub mod segment;
pub mod tagged;
mod url;

pub use randflake_lease::{ExactSystemClock, Losses, Secret, SecretError, SystemClock};
pub use randflake_lease::{backoff, date, private_file, unstable};

pub use generation::Generation;
pub use handle::{
    BuildError, Builder, DEFAULT_TTL, Handle, Health, LeaseStatus, MAX_TOLERANCE_MS, NodeIdCount,
};
#[cfg(feature = "serde")]
pub use randflake_core::serde;
#[cfg(any(feature = "diesel-sqlite", feature = "rusqlite"))]
pub use randflake_core::sqlite;
pub use randflake_core::{
    self, Any, Any53, AnyLayout, Baidu, Bits53, Bits64, Cipher, Discord, Feistel53, GenerateError,
    Id, Id53, IdError, Instagram, KeyNumber, KeyNumberError, Kind, Layout, LayoutSpec, Lease,
    Mastodon, Milliflake, Parts, Permutation, Plain, Randflake, Randflake53, Snowflake, Sonyflake,
    Sparx64, StoredPlain, StoredRaw, TagError, TagKey, TaggedUuid, TaggedUuidError, Width,
    typed_id,
};

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
