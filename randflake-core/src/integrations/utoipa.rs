//! The `OpenAPI` schema of an id: a string, or a number of 53 bits, as the feature `serde` writes
//! it.

extern crate alloc;

use alloc::borrow::Cow;
use alloc::string::ToString as _;

use utoipa::openapi::RefOr;
use utoipa::openapi::schema::{KnownFormat, ObjectBuilder, Schema, SchemaFormat, Type};
use utoipa::{PartialSchema, ToSchema};

use super::schema::{DESCRIPTION, DESCRIPTION_53, lengths, pattern};
use crate::{Id, Kind, StoredPlain, StoredRaw};

impl<K: Kind> PartialSchema for Id<K> {
    fn schema() -> RefOr<Schema> {
        let schema = ObjectBuilder::new();
        if Self::IS_NUMBER {
            return schema
                .schema_type(Type::Integer)
                .format(Some(SchemaFormat::KnownFormat(KnownFormat::Int64)))
                .description(Some(DESCRIPTION_53))
                .minimum(Some(0))
                .maximum(Some(Self::MAX))
                .examples([Self::EXAMPLE.to_u64()])
                .into();
        }
        let (min, max) = lengths::<K>();
        schema
            .schema_type(Type::String)
            .description(Some(DESCRIPTION))
            .pattern(Some(pattern::<K>()))
            .min_length(Some(min))
            .max_length(Some(max))
            .examples([Self::EXAMPLE.to_string()])
            .into()
    }
}

impl<K: Kind> ToSchema for Id<K> {
    fn name() -> Cow<'static, str> {
        K::NAME.into()
    }
}

impl<K: StoredPlain> PartialSchema for StoredRaw<K> {
    fn schema() -> RefOr<Schema> {
        Id::<K>::schema()
    }
}

impl<K: StoredPlain> ToSchema for StoredRaw<K> {
    fn name() -> Cow<'static, str> {
        Id::<K>::name()
    }
}
