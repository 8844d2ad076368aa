//! Ids in texts, schemas and bytes, by each crate that there is a feature for.

mod async_graphql;
mod borsh;
mod bytemuck;
mod kinds;
mod random;
mod schemars;
mod serde;
mod stored_raw;
mod utoipa;
mod uuid;
