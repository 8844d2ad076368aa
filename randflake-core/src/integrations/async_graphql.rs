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
            // For 64 bits a number as well: a client that holds it as a float has rounded it before
            // it is sent.
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
