//! The `i64` in decimal, as a string: what public APIs with Snowflake ids send, as JavaScript
//! rounds large numbers.
//!
//! It is read strictly: each id has exactly one such string.

use core::fmt::{self, Display, Formatter};

use serde_core::de::{Error, Visitor};
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
    Decimal((*id).into().to_i64()).serialize(serializer)
}

/// Reads an [`Id`] or a [`StoredRaw`](crate::StoredRaw) id.
///
/// # Errors
///
/// Those of the deserializer, and one for a string that is not an `i64` in decimal, or not its
/// shortest form.
pub fn deserialize<'de, K, T, D>(deserializer: D) -> Result<T, D::Error>
where
    K: Kind,
    T: TryFrom<Id<K>, Error: Display>,
    D: Deserializer<'de>,
{
    from_i64(Decimal::deserialize(deserializer)?.0)
}

/// The same form for an `Option<Id>`; with `#[serde(default)]` the field may be absent.
pub mod option {
    use core::fmt::Display;

    use serde_core::{Deserialize, Deserializer, Serialize, Serializer};

    use super::{Decimal, from_i64};
    use crate::{Id, Kind};

    /// Writes the string, or what the format has for `None`.
    ///
    /// # Errors
    ///
    /// Those of the serializer.
    pub fn serialize<K, T, S>(id: &Option<T>, serializer: S) -> Result<S::Ok, S::Error>
    where
        T: Copy + Into<Id<K>>,
        S: Serializer,
    {
        id.map(|id| Decimal(id.into().to_i64()))
            .serialize(serializer)
    }

    /// Reads a string, or what the format has for `None`.
    ///
    /// # Errors
    ///
    /// Those of the deserializer, and one for a string that is not an `i64` in decimal, or not its
    /// shortest form.
    pub fn deserialize<'de, K, T, D>(deserializer: D) -> Result<Option<T>, D::Error>
    where
        K: Kind,
        T: TryFrom<Id<K>, Error: Display>,
        D: Deserializer<'de>,
    {
        let decimal = Option::<Decimal>::deserialize(deserializer)?;
        decimal.map(|decimal| from_i64(decimal.0)).transpose()
    }
}

struct Decimal(i64);

impl Serialize for Decimal {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(&self.0)
    }
}

impl<'de> Deserialize<'de> for Decimal {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct DecimalVisitor;

        impl Visitor<'_> for DecimalVisitor {
            type Value = Decimal;

            fn expecting(&self, f: &mut Formatter<'_>) -> fmt::Result {
                f.write_str("a string with a 64-bit number in decimal, as \"-42\"")
            }

            fn visit_str<E: Error>(self, text: &str) -> Result<Decimal, E> {
                let digits = text.strip_prefix('-').unwrap_or(text);
                let shortest =
                    !digits.starts_with('+') && (text == "0" || !digits.starts_with('0'));
                if !shortest {
                    let why = format_args!(
                        "{text:?} is not the shortest form of a number: no '+' and no leading zero is allowed"
                    );
                    return Err(E::custom(why));
                }
                text.parse().map(Decimal).map_err(|error| {
                    E::custom(format_args!("{text:?} is not a 64-bit number: {error}"))
                })
            }
        }

        deserializer.deserialize_str(DecimalVisitor)
    }
}
