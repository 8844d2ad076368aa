//! The ids in other crates' traits: one file and one feature for each crate.

use crate::{Id, Kind, StoredRaw, Typed};

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
#[cfg(feature = "postgres-types")]
mod postgres_types;
#[cfg(feature = "rusqlite")]
mod rusqlite;
#[cfg(feature = "sea-orm")]
mod sea_orm;
#[cfg(feature = "sqlx")]
mod sqlx;
#[cfg(feature = "sqlx-postgres")]
mod sqlx_postgres;

/// Implements a trait for [`Id`](crate::Id) and for [`Typed<K>`](crate::Typed), with one body.
///
/// Both have `from_i64`, `to_i64`, `from_u64`, `to_u64`, `Display` and `FromStr`; what differs in their text is in
/// [`Form`]. The parameters of the impl stand in brackets, each with a comma; bounds may follow in a
/// second pair.
///
/// ```ignore
/// for_ids! {
///     impl['de,] Deserialize<'de> {
///         fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> { ... }
///     }
///     impl[DB: Database,] Type<DB> where [i64: Type<DB>] { ... }
/// }
/// ```
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

/// What schemas and errors say of an id type's text.
pub(crate) trait Form {
    /// The name of the type.
    const NAME: &'static str;
    /// What precedes the digits, without `_`.
    const PREFIX: &'static str;
}

impl Form for Id {
    const NAME: &'static str = "Id";
    const PREFIX: &'static str = "";
}

impl<K: Kind> Form for Typed<K> {
    const NAME: &'static str = K::NAME;
    const PREFIX: &'static str = K::PREFIX;
}

impl<K: Kind> Form for StoredRaw<K> {
    const NAME: &'static str = K::NAME;
    const PREFIX: &'static str = K::PREFIX;
}
