//! The JSON schema of an id: a string, or a number of 53 bits, as the feature `serde` writes it.

extern crate alloc;

use alloc::borrow::Cow;
use alloc::string::ToString as _;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};

use super::schema::{DESCRIPTION, DESCRIPTION_53, lengths, pattern};
use crate::{Id, Kind, StoredPlain, StoredRaw};

impl<K: Kind> JsonSchema for Id<K> {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> Cow<'static, str> {
        K::NAME.into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        if Self::IS_NUMBER {
            return json_schema!({
                "type": "integer",
                "description": DESCRIPTION_53,
                "minimum": 0,
                "maximum": Self::MAX,
                "examples": [Self::EXAMPLE.to_u64()],
            });
        }
        let (min, max) = lengths::<K>();
        json_schema!({
            "type": "string",
            "description": DESCRIPTION,
            "pattern": pattern::<K>(),
            "minLength": min,
            "maxLength": max,
            "examples": [Self::EXAMPLE.to_string()],
        })
    }
}

impl<K: StoredPlain> JsonSchema for StoredRaw<K> {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> Cow<'static, str> {
        Id::<K>::schema_name()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        Id::<K>::json_schema(generator)
    }
}
