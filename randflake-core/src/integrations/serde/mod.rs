//! Forms of an id other than text, for `#[serde(with = "...")]`.
//!
//! Without them an id is text where the format is for people, as JSON, YAML or a URL, and otherwise the `i64`, as in
//! CBOR, `MessagePack`, bincode and postcard: 8 bytes, and what the format adds to a number.
//!
//! ```
//! # #[derive(serde::Serialize, serde::Deserialize)]
//! struct Event {
//!     id: randflake_core::Id,
//!     #[serde(with = "randflake_core::serde::as_decimal_string")]
//!     user: randflake_core::Id,
//!     #[serde(default, with = "randflake_core::serde::as_i64::option")]
//!     cause: Option<randflake_core::Id>,
//! }
//!
//! let json = r#"{"id":"3vgoe12ccb8gh","user":"-7","cause":31}"#;
//! let event: Event = serde_json::from_str(json)?;
//! assert_eq!((event.user.to_i64(), event.cause), (-7, Some(randflake_core::Id::from_i64(31))));
//! assert_eq!(serde_json::to_string(&event)?, json);
//! # Ok::<(), serde_json::Error>(())
//! ```

use core::fmt::{self, Formatter};
use core::marker::PhantomData;

use serde_core::de::{Deserialize, Deserializer, Error, Visitor};
use serde_core::ser::{Serialize, Serializer};

use super::example::Example;
use super::{Form, for_all_ids};

pub mod as_decimal_string;
pub mod as_i64;

for_all_ids! {
    /// The text form where the format is for people, else the `i64`.
    impl[] Serialize {
        fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
            if serializer.is_human_readable() {
                serializer.collect_str(self)
            } else {
                as_i64::serialize(self, serializer)
            }
        }
    }

    /// From the text form, strictly, where the format is for people, else from the `i64`.
    impl['de,] Deserialize<'de> {
        fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
            if deserializer.is_human_readable() {
                deserializer.deserialize_str(Text(PhantomData))
            } else {
                as_i64::deserialize(deserializer)
            }
        }
    }
}

/// Reads the text form of a `T`.
struct Text<T>(PhantomData<T>);

impl<T: Form> Visitor<'_> for Text<T> {
    type Value = T;

    fn expecting(&self, f: &mut Formatter<'_>) -> fmt::Result {
        write!(f, "an id's text, as \"{}\"", Example::<T>::NEW)
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<T, E> {
        text.parse().map_err(E::custom)
    }
}
