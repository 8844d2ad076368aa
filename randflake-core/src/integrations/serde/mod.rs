//! Forms of an id other than text, for `#[serde(with = "...")]`.
//!
//! Without them an id is text in human-readable formats, such as JSON, YAML or a URL, and the `i64` in others, such
//! as CBOR, `MessagePack`, bincode and postcard: 8 bytes, and what the format adds to a number. An [`Id53`](crate::Id53) is a
//! number in all of them. A [`TaggedUuid`](crate::TaggedUuid) is its text with hyphens, or 16 bytes.

// Its test is in `randflake-core/integrations`, where serde's macros are.
#![cfg_attr(not(doctest), doc = include_str!("fields.md"))]

use core::fmt::{self, Formatter};
use core::marker::PhantomData;

use serde_core::de::{Deserialize, Deserializer, Error, Visitor};
use serde_core::ser::{Serialize, Serializer};

use super::example::Example;
use super::{IdForm, for_all_ids};

pub mod as_decimal_string;
pub mod as_i64;
mod number;
mod tagged;

for_all_ids! {
    /// Writes the text form in human-readable formats, else the `i64`.
    impl[] Serialize {
        fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
            if serializer.is_human_readable() {
                serializer.collect_str(self)
            } else {
                as_i64::serialize(self, serializer)
            }
        }
    }

    /// Reads the text form, strictly, in human-readable formats, else the `i64`.
    impl['de,] Deserialize<'de> {
        fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
            if deserializer.is_human_readable() {
                // Numbers are refused: a JSON reader that keeps 53 bits may have rounded one on its
                // way.
                deserializer.deserialize_str(TextVisitor(PhantomData))
            } else {
                as_i64::deserialize(deserializer)
            }
        }
    }
}

/// Reads the text form of a `T`.
struct TextVisitor<T>(PhantomData<T>);

impl<T: IdForm> Visitor<'_> for TextVisitor<T> {
    type Value = T;

    fn expecting(&self, f: &mut Formatter<'_>) -> fmt::Result {
        write!(f, "an id's text, as \"{}\"", Example::<T>::NEW)
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<T, E> {
        text.parse().map_err(E::custom)
    }
}
