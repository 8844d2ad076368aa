//! The JSON schema of an id: a string, as the feature `serde` writes it.

extern crate alloc;

use alloc::borrow::Cow;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};

use super::schema::{DESCRIPTION, example, lengths, pattern};
use super::{IdForm, for_all_ids};

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
