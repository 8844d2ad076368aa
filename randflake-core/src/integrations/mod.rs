//! Implementations of traits of other crates for ids: a feature for each crate, a file for each
//! form that ids have there.

mod bytes;
mod columns;
mod random;
mod schemas;
#[cfg(feature = "serde")]
pub mod serde;
#[cfg(any(feature = "diesel-sqlite", feature = "rusqlite"))]
pub mod sqlite;
mod text;
