//! The `i64` in each format, as a database's `bigint` column has it.
//!
//! JavaScript rounds numbers over 2^53: what browsers read takes text, or
//! [`as_decimal_string`](super::as_decimal_string).

use core::fmt::Display;

use serde_core::de::Error;
use serde_core::{Deserialize, Deserializer, Serialize, Serializer};

use crate::Id;

/// Writes an [`Id`] or a [`Typed`](crate::Typed) id.
///
/// # Errors
///
/// Those of the serializer.
pub fn serialize<T, S>(id: &T, serializer: S) -> Result<S::Ok, S::Error>
where
    T: Copy + Into<Id>,
    S: Serializer,
{
    let id: Id = (*id).into();
    id.to_i64().serialize(serializer)
}

/// Reads an [`Id`] or a [`Typed`](crate::Typed) id.
///
/// # Errors
///
/// Those of the deserializer, as for what is not an `i64`.
pub fn deserialize<'de, T, D>(deserializer: D) -> Result<T, D::Error>
where
    T: TryFrom<Id, Error: Display>,
    D: Deserializer<'de>,
{
    let bits = i64::deserialize(deserializer)?;
    T::try_from(Id::from_i64(bits)).map_err(D::Error::custom)
}

/// The same form for an `Option<Id>`; with `#[serde(default)]` the field may be absent.
pub mod option {
    use core::fmt::Display;

    use serde_core::de::Error;
    use serde_core::{Deserialize, Deserializer, Serialize, Serializer};

    use crate::Id;

    /// Writes the `i64`, or what the format has for `None`.
    ///
    /// # Errors
    ///
    /// Those of the serializer.
    pub fn serialize<T, S>(id: &Option<T>, serializer: S) -> Result<S::Ok, S::Error>
    where
        T: Copy + Into<Id>,
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
    pub fn deserialize<'de, T, D>(deserializer: D) -> Result<Option<T>, D::Error>
    where
        T: TryFrom<Id, Error: Display>,
        D: Deserializer<'de>,
    {
        let bits = Option::<i64>::deserialize(deserializer)?;
        bits.map(|bits| T::try_from(Id::from_i64(bits)))
            .transpose()
            .map_err(D::Error::custom)
    }
}
