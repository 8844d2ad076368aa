//! The JSON schema of an id: a string, or a number of 53 bits, as the feature `serde` writes it.

extern crate alloc;

use alloc::borrow::Cow;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};

use super::schema::{DESCRIPTION, DESCRIPTION_53, EXAMPLE_53, example, lengths, pattern};
use super::{IdForm, for_all_ids};
use crate::{Id53, Kind};

for_all_ids! {
    impl[] JsonSchema {
        fn inline_schema() -> bool {
            true
        }

        fn schema_name() -> Cow<'static, str> {
            Self::NAME.into()
        }

        fn json_schema(_: &mut SchemaGenerator) -> Schema {
            let (min, max) = lengths::<Self>();
            json_schema!({
                "type": "string",
                "description": DESCRIPTION,
                "pattern": pattern::<Self>(),
                "minLength": min,
                "maxLength": max,
                "examples": [example::<Self>()],
            })
        }
    }
}

impl<K: Kind> JsonSchema for Id53<K> {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> Cow<'static, str> {
        Self::NAME.into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "type": "integer",
            "description": DESCRIPTION_53,
            "minimum": 0,
            "maximum": Self::MAX,
            "examples": [EXAMPLE_53],
        })
    }
}
