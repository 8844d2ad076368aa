//! The `OpenAPI` schema of an id: a string, or a number of 53 bits, as the feature `serde` writes it.

extern crate alloc;

use alloc::borrow::Cow;

use utoipa::openapi::RefOr;
use utoipa::openapi::schema::{KnownFormat, ObjectBuilder, Schema, SchemaFormat, Type};
use utoipa::{PartialSchema, ToSchema};

use super::schema::{DESCRIPTION, DESCRIPTION_53, EXAMPLE_53, example, lengths, pattern};
use super::{IdForm, for_all_ids};
use crate::{Id53, Kind};

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

impl<K: Kind> PartialSchema for Id53<K> {
    fn schema() -> RefOr<Schema> {
        ObjectBuilder::new()
            .schema_type(Type::Integer)
            .format(Some(SchemaFormat::KnownFormat(KnownFormat::Int64)))
            .description(Some(DESCRIPTION_53))
            .minimum(Some(0))
            .maximum(Some(Self::MAX))
            .examples([EXAMPLE_53])
            .into()
    }
}

impl<K: Kind> ToSchema for Id53<K> {
    fn name() -> Cow<'static, str> {
        Self::NAME.into()
    }
}
