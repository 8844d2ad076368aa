//! Ids in Redis, as text, or as a number of 53 bits.

extern crate alloc;

use alloc::format;
use core::str;

use redis::{FromRedisValue, ParsingError, RedisWrite, ToRedisArgs, ToSingleRedisArg, Value};

use super::example::Example;
use super::{IdForm, for_all_ids};
use crate::{Id53, Kind};

for_all_ids! {
    /// The text form, in keys and in values.
    impl[] ToRedisArgs {
        fn write_redis_args<W: RedisWrite + ?Sized>(&self, out: &mut W) {
            out.write_arg_fmt(self);
        }
    }

    impl[] ToSingleRedisArg {}

    /// Reads the text form only: what Redis counts itself, as by `INCR`, is a number and no id.
    impl[] FromRedisValue {
        fn from_redis_value(value: Value) -> Result<Self, ParsingError> {
            parse(&value)
        }

        fn from_redis_value_ref(value: &Value) -> Result<Self, ParsingError> {
            parse(value)
        }
    }
}

/// The number, in keys and in values.
impl<K: Kind> ToRedisArgs for Id53<K> {
    fn write_redis_args<W: RedisWrite + ?Sized>(&self, out: &mut W) {
        self.to_u64().write_redis_args(out);
    }
}

impl<K: Kind> ToSingleRedisArg for Id53<K> {}

/// Reads the number: as an integer, as `randflake serve` answers `INCR`, or in digits.
impl<K: Kind> FromRedisValue for Id53<K> {
    fn from_redis_value(value: Value) -> Result<Self, ParsingError> {
        Self::from_redis_value_ref(&value)
    }

    fn from_redis_value_ref(value: &Value) -> Result<Self, ParsingError> {
        let number = i64::from_redis_value_ref(value)?;
        Self::try_from(number).map_err(|error| format!("{error}").into())
    }
}

fn parse<T: IdForm>(value: &Value) -> Result<T, ParsingError> {
    // All forms of a text in both versions of the protocol; an integer is none, so a counter is not taken for an id.
    let text = match value {
        Value::BulkString(bytes) => str::from_utf8(bytes)?,
        Value::SimpleString(text) | Value::VerbatimString { text, .. } => text,
        other => {
            return Err(format!("{other:?} is not an id's text, as {}", Example::<T>::NEW).into());
        }
    };
    text.parse::<T>()
        .map_err(|error| format!("{text:?} is not an id: {error}").into())
}
