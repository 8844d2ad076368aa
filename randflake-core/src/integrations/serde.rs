//! Forms of an id other than text, for `#[serde(with = "...")]`.
//!
//! Without them an id is text in human-readable formats, such as JSON, YAML or a URL, and the `i64`
//! in others, such as CBOR, `MessagePack`, bincode and postcard: 8 bytes, and what the format adds
//! to a number. An [`Id53`](crate::Id53) is a number in all of them. A
//! [`TaggedUuid`](crate::TaggedUuid) is its text with hyphens, or 16 bytes.

// Its test is in `randflake-core/integrations`, where serde's macros are.
#![cfg_attr(not(doctest), doc = include_str!("serde.md"))]

use core::fmt::{self, Display, Formatter};
use core::marker::PhantomData;

use serde_core::de::{Deserialize, Deserializer, Error, Visitor};
use serde_core::ser::{Serialize, Serializer};

use crate::{Id, Kind, StoredPlain, StoredRaw, TaggedUuid};

/// Writes the text form in human-readable formats, or the number if it has 53 bits; else the `i64`.
impl<K: Kind> Serialize for Id<K> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        if !serializer.is_human_readable() {
            as_i64::serialize(self, serializer)
        } else if Self::IS_NUMBER {
            serializer.serialize_u64(self.to_u64())
        } else {
            serializer.collect_str(self)
        }
    }
}

/// Reads the text form, strictly, in human-readable formats, or the number if it has 53 bits; else
/// the `i64`.
impl<'de, K: Kind> Deserialize<'de> for Id<K> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        if !deserializer.is_human_readable() {
            as_i64::deserialize(deserializer)
        } else if Self::IS_NUMBER {
            deserializer.deserialize_u64(NumberVisitor(PhantomData))
        } else {
            // Numbers are refused: a JSON reader that keeps 53 bits may have rounded one on its
            // way.
            deserializer.deserialize_str(TextVisitor(PhantomData))
        }
    }
}

/// Writes the encrypted id.
impl<K: StoredPlain> Serialize for StoredRaw<K> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.id().serialize(serializer)
    }
}

/// Reads the encrypted id.
impl<'de, K: StoredPlain> Deserialize<'de> for StoredRaw<K> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Self::new(Id::deserialize(deserializer)?).map_err(D::Error::custom)
    }
}

/// Makes an id or a [`StoredRaw`] of the `i64` that was read.
fn from_i64<K: Kind, T: TryFrom<Id<K>, Error: Display>, E: Error>(number: i64) -> Result<T, E> {
    let id = Id::from_i64(number).try_typed().map_err(E::custom)?;
    T::try_from(id).map_err(E::custom)
}

struct TextVisitor<K>(PhantomData<fn() -> K>);

impl<K: Kind> Visitor<'_> for TextVisitor<K> {
    type Value = Id<K>;

    fn expecting(&self, f: &mut Formatter<'_>) -> fmt::Result {
        write!(f, "an id's text, as \"{}\"", Id::<K>::EXAMPLE)
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<Id<K>, E> {
        text.parse().map_err(E::custom)
    }
}

struct NumberVisitor<K>(PhantomData<fn() -> K>);

impl<K: Kind> Visitor<'_> for NumberVisitor<K> {
    type Value = Id<K>;

    fn expecting(&self, f: &mut Formatter<'_>) -> fmt::Result {
        // No fraction and no exponent: a writer that has them may have rounded.
        write!(f, "an id, a whole number from 0 to {}", Id::<K>::MAX)
    }

    fn visit_u64<E: Error>(self, number: u64) -> Result<Id<K>, E> {
        Id::of_number(number).map_err(E::custom)
    }

    fn visit_i64<E: Error>(self, number: i64) -> Result<Id<K>, E> {
        Id::from_i64(number).try_typed().map_err(E::custom)
    }
}

/// Writes the text in human-readable formats, else the 16 bytes, as the crate `uuid` does.
impl Serialize for TaggedUuid {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        if serializer.is_human_readable() {
            serializer.collect_str(self)
        } else {
            serializer.serialize_bytes(&self.to_bytes())
        }
    }
}

/// Reads the text, strictly, in human-readable formats, else the 16 bytes. The tag is not checked
/// here.
impl<'de> Deserialize<'de> for TaggedUuid {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        if deserializer.is_human_readable() {
            deserializer.deserialize_str(UuidVisitor)
        } else {
            deserializer.deserialize_bytes(UuidVisitor)
        }
    }
}

struct UuidVisitor;

impl Visitor<'_> for UuidVisitor {
    type Value = TaggedUuid;

    fn expecting(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.write_str("a tagged UUID, as its text with hyphens or as 16 bytes")
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<TaggedUuid, E> {
        text.parse().map_err(E::custom)
    }

    fn visit_bytes<E: Error>(self, bytes: &[u8]) -> Result<TaggedUuid, E> {
        let bytes: [u8; 16] = bytes
            .try_into()
            .map_err(|_| E::invalid_length(bytes.len(), &self))?;
        TaggedUuid::from_bytes(bytes).map_err(E::custom)
    }
}

pub mod as_decimal_string {
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
        /// Those of the deserializer, and one for a string that is not an `i64` in decimal, or not
        /// its shortest form.
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
}

pub mod as_i64 {
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
}
