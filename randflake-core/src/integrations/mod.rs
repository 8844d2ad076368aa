//! Implementations of traits of other crates for ids: one file and one feature for each crate.

use core::fmt::Display;
use core::str::FromStr;

use crate::{Border, Id, Id53, Kind, StoredRaw, Typed};

#[cfg(feature = "arbitrary")]
mod arbitrary;
#[cfg(feature = "async-graphql")]
mod async_graphql;
#[cfg(feature = "borsh")]
mod borsh;
#[cfg(feature = "bytemuck")]
mod bytemuck;
#[cfg(any(
    feature = "diesel",
    feature = "postgres-types",
    feature = "rusqlite",
    feature = "sea-orm",
    feature = "sqlx"
))]
mod column;
#[cfg(feature = "defmt")]
mod defmt;
#[cfg(feature = "diesel")]
mod diesel;
#[cfg(any(
    feature = "redis",
    feature = "schemars",
    feature = "serde",
    feature = "utoipa"
))]
mod example;
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
#[cfg(feature = "sqlx")]
mod sqlx_postgres;
#[cfg(feature = "utoipa")]
mod utoipa;
#[cfg(feature = "uuid")]
mod uuid;

/// Implements a trait for [`Id`] and for [`Typed<K>`](Typed), with one body.
///
/// Both have `from_i64`, `to_i64`, `from_u64`, `to_u64`, `Display`, `FromStr` and [`IdForm`]. The parameters of the impl
/// stand in brackets, each with a comma; bounds may follow in a second pair.
///
/// ```text
/// for_ids! {
///     impl['de,] Deserialize<'de> {
///         fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> { ... }
///     }
///     impl[DB: Database,] Type<DB> where [i64: Type<DB>] { ... }
/// }
/// ```
// A macro and not a blanket impl over a trait of ours: the orphan rule forbids that for foreign traits.
macro_rules! for_ids {
    ($($(#[$attribute:meta])* impl[$($parameters:tt)*] $trait:path $(where [$($bounds:tt)*])? { $($body:tt)* })+) => {
        $(
            $(#[$attribute])*
            impl<$($parameters)*> $trait for $crate::Id $(where $($bounds)*)? { $($body)* }

            $(#[$attribute])*
            impl<$($parameters)* K: $crate::Kind> $trait for $crate::Typed<K> $(where $($bounds)*)? { $($body)* }
        )+
    };
}
pub(crate) use for_ids;

/// [`for_ids`] for [`StoredRaw`] too, whose text is that of its encrypted id.
macro_rules! for_all_ids {
    ($($(#[$attribute:meta])* impl[$($parameters:tt)*] $trait:path $(where [$($bounds:tt)*])? { $($body:tt)* })+) => {
        $(
            $crate::integrations::for_ids! {
                $(#[$attribute])* impl[$($parameters)*] $trait $(where [$($bounds)*])? { $($body)* }
            }

            $(#[$attribute])*
            impl<$($parameters)* K: $crate::Border> $trait for $crate::StoredRaw<K> $(where $($bounds)*)? { $($body)* }
        )+
    };
}
pub(crate) use for_all_ids;

/// Name and prefix of an id type, for schemas and errors.
pub(crate) trait IdForm: Display + FromStr<Err: Display> {
    /// Name of the type in a schema.
    const NAME: &'static str;
    /// Prefix of the text form, without `_`; empty for none.
    const PREFIX: &'static str;
}

// An id without a kind has no prefix: its text is the digits alone.
impl IdForm for Id {
    const NAME: &'static str = "Id";
    const PREFIX: &'static str = "";
}

impl<K: Kind> IdForm for Typed<K> {
    const NAME: &'static str = K::NAME;
    const PREFIX: &'static str = K::PREFIX;
}

impl<K: Kind> IdForm for Id53<K> {
    const NAME: &'static str = K::NAME;
    const PREFIX: &'static str = K::PREFIX;
}

impl<K: Border> IdForm for StoredRaw<K> {
    const NAME: &'static str = K::NAME;
    const PREFIX: &'static str = K::PREFIX;
}
