//! A tagged UUID: its text for people, else its 16 bytes.

use core::fmt::{self, Formatter};

use serde_core::de::{Deserialize, Deserializer, Error, Visitor};
use serde_core::ser::{Serialize, Serializer};

use crate::TaggedUuid;

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

/// Reads the text, strictly, in human-readable formats, else the 16 bytes. The tag is not checked here.
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
