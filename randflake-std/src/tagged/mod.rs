//! Tagged UUIDs: ids that only a holder of a key can have made, as UUIDs of version 8.
//!
//! **Start here:** [`TagSecrets::open`] reads a directory of numbered secrets;
//! [`TaggedHandle::builder`] issues UUIDs under them, and [`TagSecrets::check`] reads UUIDs.
//!
//! # The directory
//!
//! It has the secrets of one namespace: `1.key` to `63.key`, each as
//! [`Secret::from_file`](crate::Secret::from_file) reads it. A key is retired by removing its file:
//! from then on UUIDs of its number are refused.
//!
//! # Rotation
//!
//! 1. Put the next key's file into the directory of every reader, then of every holder.
//! 2. Call [`Administration::next_key`](crate::lease::Administration::next_key) once. Every handle
//!    goes on to the new key when its lease is to be renewed: within the namespace's longest TTL.
//! 3. Remove the old file when no UUID of it is to be accepted any more.
//!
//! A handle whose directory has no such file issues under its old key until its lease ends, and
//! then nothing until the file is there.
//!
//! UUIDs are unique over all keys. The ids in them are so under one key only: so never store the 64
//! bits alone.

mod builder;
mod error;
mod follower;
mod handle;
mod secrets;

pub use builder::TaggedBuilder;
pub use error::{TagCheckError, TagSecretsError, TaggedBuildError};
pub use handle::TaggedHandle;
pub use secrets::TagSecrets;
