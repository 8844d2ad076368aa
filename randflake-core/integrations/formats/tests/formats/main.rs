//! Ids in texts, schemas and bytes, by each crate that there is a feature for.

mod async_graphql;
mod borsh;
mod bytemuck;
mod kinds;
mod number;
mod random;
#[cfg(unix)]
mod redis;
mod schemars;
mod serde;
#[cfg(unix)]
mod stored_raw;
mod tagged;
mod utoipa;
mod uuid;
