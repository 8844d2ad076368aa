//! Implementations of traits of other crates for ids: one file and one feature for each crate.

#[cfg(feature = "arbitrary")]
mod arbitrary;
#[cfg(feature = "async-graphql")]
mod async_graphql;
#[cfg(feature = "borsh")]
mod borsh;
#[cfg(feature = "bytemuck")]
mod bytemuck;
#[cfg(feature = "defmt")]
mod defmt;
#[cfg(feature = "diesel")]
mod diesel;
#[cfg(feature = "postgres-types")]
mod postgres_types;
#[cfg(feature = "proptest")]
mod proptest;
#[cfg(feature = "redis")]
mod redis;
#[cfg(feature = "rusqlite")]
mod rusqlite;
#[cfg(any(feature = "schemars", feature = "utoipa"))]
mod schema;
#[cfg(feature = "schemars")]
mod schemars;
#[cfg(feature = "sea-orm")]
mod sea_orm;
#[cfg(feature = "serde")]
pub mod serde;
#[cfg(any(feature = "diesel-sqlite", feature = "rusqlite"))]
pub mod sqlite;
#[cfg(feature = "sqlx")]
mod sqlx;
#[cfg(feature = "utoipa")]
mod utoipa;
#[cfg(feature = "uuid")]
mod uuid;
