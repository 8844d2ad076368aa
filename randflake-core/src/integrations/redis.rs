//! Ids in Redis, as text.

extern crate alloc;

use alloc::format;
use core::str;

use redis::{FromRedisValue, ParsingError, RedisWrite, ToRedisArgs, ToSingleRedisArg, Value};

use super::example::Example;
use super::{IdForm, for_all_ids};

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
