//! The `OpenAPI` schema of an id: a string, as the feature `serde` writes it.

extern crate alloc;

use alloc::borrow::Cow;

use utoipa::openapi::RefOr;
use utoipa::openapi::schema::{ObjectBuilder, Schema, Type};
use utoipa::{PartialSchema, ToSchema};

use super::schema::{DESCRIPTION, example, lengths, pattern};
use super::{IdForm, for_all_ids};

for_all_ids! {
    impl[] PartialSchema {
        fn schema() -> RefOr<Schema> {
            let (min, max) = lengths::<Self>();
            ObjectBuilder::new()
                .schema_type(Type::String)
                .description(Some(DESCRIPTION))
                .pattern(Some(pattern::<Self>()))
                .min_length(Some(min))
                .max_length(Some(max))
                .examples([example::<Self>()])
                .into()
        }
    }

    impl[] ToSchema {
        fn name() -> Cow<'static, str> {
            Self::NAME.into()
        }
    }
}
