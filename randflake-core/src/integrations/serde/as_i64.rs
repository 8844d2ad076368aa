//! The `i64` in each format, as a database's `bigint` column has it.
//!
//! JavaScript rounds numbers over 2^53: what browsers read takes text, or
//! [`as_decimal_string`](super::as_decimal_string).

use core::fmt::Display;

use serde_core::{Deserialize, Deserializer, Serialize, Serializer};

use super::from_i64;
use crate::{Id, Kind};

/// Writes an [`Id`] or a [`StoredRaw`](crate::StoredRaw) id.
///
/// # Errors
///
/// Those of the serializer.
pub fn serialize<K, T, S>(id: &T, serializer: S) -> Result<S::Ok, S::Error>
where
    T: Copy + Into<Id<K>>,
    S: Serializer,
{
    (*id).into().to_i64().serialize(serializer)
}

/// Reads an [`Id`] or a [`StoredRaw`](crate::StoredRaw) id.
///
/// # Errors
///
/// Those of the deserializer, as for what is not an `i64`.
pub fn deserialize<'de, K, T, D>(deserializer: D) -> Result<T, D::Error>
where
    K: Kind,
    T: TryFrom<Id<K>, Error: Display>,
    D: Deserializer<'de>,
{
    from_i64(i64::deserialize(deserializer)?)
}

/// The same form for an `Option<Id>`; with `#[serde(default)]` the field may be absent.
pub mod option {
    use core::fmt::Display;

    use serde_core::{Deserialize, Deserializer, Serialize, Serializer};

    use super::super::from_i64;
    use crate::{Id, Kind};

    /// Writes the `i64`, or what the format has for `None`.
    ///
    /// # Errors
    ///
    /// Those of the serializer.
    pub fn serialize<K, T, S>(id: &Option<T>, serializer: S) -> Result<S::Ok, S::Error>
    where
        T: Copy + Into<Id<K>>,
        S: Serializer,
    {
        let bits = id.map(|id| id.into().to_i64());
        bits.serialize(serializer)
    }

    /// Reads an `i64`, or what the format has for `None`.
    ///
    /// # Errors
    ///
    /// Those of the deserializer, as for what is not an `i64`.
    pub fn deserialize<'de, K, T, D>(deserializer: D) -> Result<Option<T>, D::Error>
    where
        K: Kind,
        T: TryFrom<Id<K>, Error: Display>,
        D: Deserializer<'de>,
    {
        let bits = Option::<i64>::deserialize(deserializer)?;
        bits.map(from_i64).transpose()
    }
}
