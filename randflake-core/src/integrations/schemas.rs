//! Schemas of ids: GraphQL, JSON Schema and `OpenAPI`.

#[cfg(feature = "async-graphql")]
mod async_graphql {
    //! `async-graphql`: a scalar for each kind of id, as text, or as a number of 53 bits.

    extern crate alloc;

    use alloc::borrow::Cow;
    use alloc::string::ToString;

    use async_graphql::{
        Description, InputValueError, InputValueResult, Scalar, ScalarType, TypeName, Value,
    };

    use crate::{Id, Kind, StoredPlain, StoredRaw};

    #[Scalar(name_type, use_type_description)]
    impl<K: Kind> ScalarType for Id<K> {
        fn parse(value: Value) -> InputValueResult<Self> {
            match &value {
                Value::String(text) if !Self::IS_NUMBER => Ok(text.parse()?),
                // No fraction and no exponent: a writer that has them may have rounded.
                Value::Number(number) if Self::IS_NUMBER => match number.as_u64() {
                    Some(number) => Ok(Self::of_number(number)?),
                    None => Err(InputValueError::expected_type(value)),
                },
                // For 64 bits a number as well: a client that holds it as a float has rounded it
                // before it is sent.
                _ => Err(InputValueError::expected_type(value)),
            }
        }

        fn is_valid(value: &Value) -> bool {
            match value {
                Value::String(_) => !Self::IS_NUMBER,
                Value::Number(number) => Self::IS_NUMBER && number.is_u64(),
                _ => false,
            }
        }

        fn to_value(&self) -> Value {
            if Self::IS_NUMBER {
                Value::Number(self.to_u64().into())
            } else {
                Value::String(self.to_string())
            }
        }
    }

    impl<K: Kind> TypeName for Id<K> {
        fn type_name() -> Cow<'static, str> {
            K::NAME.into()
        }
    }

    impl<K: Kind> Description for Id<K> {
        fn description() -> &'static str {
            if Self::IS_NUMBER {
                "A 53-bit id: a number that JavaScript and JSON hold exactly."
            } else {
                "A 64-bit id as text: base32hex digits, after the prefix of its kind if that has one."
            }
        }
    }

    #[Scalar(name_type, use_type_description)]
    impl<K: StoredPlain> ScalarType for StoredRaw<K> {
        fn parse(value: Value) -> InputValueResult<Self> {
            let id = Id::parse(value).map_err(InputValueError::propagate)?;
            Ok(Self::new(id)?)
        }

        fn is_valid(value: &Value) -> bool {
            Id::<K>::is_valid(value)
        }

        fn to_value(&self) -> Value {
            self.id().to_value()
        }
    }

    impl<K: Kind> TypeName for StoredRaw<K> {
        fn type_name() -> Cow<'static, str> {
            Id::<K>::type_name()
        }
    }

    impl<K: Kind> Description for StoredRaw<K> {
        fn description() -> &'static str {
            Id::<K>::description()
        }
    }
}

#[cfg(any(feature = "schemars", feature = "utoipa"))]
mod shared {
    //! Descriptions, pattern and lengths, for schemas.

    extern crate alloc;

    use alloc::format;
    use alloc::string::String;

    use crate::{Kind, text};

    /// Description of the text form, for readers of a schema.
    pub(super) const DESCRIPTION: &str = "A 64-bit id: base32hex digits without a leading zero, after the prefix of its kind if that has one.";

    /// Description of a number, for readers of a schema.
    pub(super) const DESCRIPTION_53: &str =
        "A 53-bit id: a number that JavaScript and JSON hold exactly.";

    /// A regular expression of ECMA 262, as JSON Schema has them, that matches each text of an id
    /// and nothing else.
    pub(super) fn pattern<K: Kind>() -> String {
        let prefix = prefix::<K>();
        // 13 digits have 65 bits, so the first of them ends at `f`. A leading zero would be a
        // second text of an id.
        format!("^{prefix}(0|[1-9a-v][0-9a-v]{{0,11}}|[1-9a-f][0-9a-v]{{12}})$")
    }

    /// Shortest and longest text in characters.
    pub(super) fn lengths<K: Kind>() -> (usize, usize) {
        let prefix = prefix::<K>().len();
        (
            prefix.saturating_add(1),
            prefix.saturating_add(text::MAX_LEN),
        )
    }

    fn prefix<K: Kind>() -> String {
        match K::PREFIX {
            "" => String::new(),
            prefix => format!("{prefix}_"),
        }
    }
}

#[cfg(feature = "schemars")]
mod schemars {
    //! The JSON schema of an id: a string, or a number of 53 bits, as the feature `serde` writes
    //! it.

    extern crate alloc;

    use alloc::borrow::Cow;
    use alloc::string::ToString as _;

    use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};

    use super::shared::{DESCRIPTION, DESCRIPTION_53, lengths, pattern};
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
}

#[cfg(feature = "utoipa")]
mod utoipa {
    //! The `OpenAPI` schema of an id: a string, or a number of 53 bits, as the feature `serde`
    //! writes it.

    extern crate alloc;

    use alloc::borrow::Cow;
    use alloc::string::ToString as _;

    use utoipa::openapi::RefOr;
    use utoipa::openapi::schema::{KnownFormat, ObjectBuilder, Schema, SchemaFormat, Type};
    use utoipa::{PartialSchema, ToSchema};

    use super::shared::{DESCRIPTION, DESCRIPTION_53, lengths, pattern};
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
}
