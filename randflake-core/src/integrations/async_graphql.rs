//! `async-graphql`: a scalar for each kind of id, as text, or as a number of 53 bits.

extern crate alloc;

use alloc::borrow::Cow;
use alloc::string::ToString;

use async_graphql::{
    Description, InputValueError, InputValueResult, Scalar, ScalarType, TypeName, Value,
};

use super::{IdForm, for_all_ids};
use crate::{Id53, Kind};

for_all_ids! {
    #[Scalar(name_type, use_type_description)]
    impl[] ScalarType {
        fn parse(value: Value) -> InputValueResult<Self> {
            match value {
                Value::String(text) => Ok(text.parse::<Self>()?),
                // A number as well: a client that holds it as a float has rounded it before it is
                // sent.
                other => Err(InputValueError::expected_type(other)),
            }
        }

        fn is_valid(value: &Value) -> bool {
            matches!(value, Value::String(_))
        }

        fn to_value(&self) -> Value {
            Value::String(self.to_string())
        }
    }

    impl[] TypeName {
        fn type_name() -> Cow<'static, str> {
            Self::NAME.into()
        }
    }

    impl[] Description {
        fn description() -> &'static str {
            "A 64-bit id as text: base32hex digits, after the prefix of its kind if that has one."
        }
    }
}

#[Scalar(name_type, use_type_description)]
impl<K: Kind> ScalarType for Id53<K> {
    fn parse(value: Value) -> InputValueResult<Self> {
        match &value {
            // No fraction and no exponent: a writer that has them may have rounded.
            Value::Number(number) => match number.as_u64() {
                Some(number) => Ok(Self::try_from(number)?),
                None => Err(InputValueError::expected_type(value)),
            },
            _ => Err(InputValueError::expected_type(value)),
        }
    }

    fn is_valid(value: &Value) -> bool {
        matches!(value, Value::Number(number) if number.is_u64())
    }

    fn to_value(&self) -> Value {
        Value::Number(self.to_u64().into())
    }
}

impl<K: Kind> TypeName for Id53<K> {
    fn type_name() -> Cow<'static, str> {
        Self::NAME.into()
    }
}

impl<K: Kind> Description for Id53<K> {
    fn description() -> &'static str {
        "A 53-bit id: a number that JavaScript and JSON hold exactly."
    }
}
