//! Ids in texts, schemas and bytes, by each crate that there is a feature for.

mod bytes;
mod kinds;
mod number;
mod random;
#[cfg(unix)]
mod redis;
mod schemas;
mod serde;
