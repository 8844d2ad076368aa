//! Ids as text, for logs of firmware and for Redis.

#[cfg(feature = "defmt")]
mod defmt {
    //! `defmt::Format` of ids and leases; errors derive it.

    use defmt::{Format, Formatter, write};

    use crate::{Id, Kind, Lease};

    /// Formats an id as its text.
    impl<K: Kind> Format for Id<K> {
        fn format(&self, f: Formatter<'_>) {
            // Without `core::fmt`, which is large.
            let digits = self.untyped().to_text();
            match K::PREFIX {
                "" => write!(f, "{=str}", digits.as_str()),
                prefix => write!(f, "{=str}_{=str}", prefix, digits.as_str()),
            }
        }
    }

    impl<L> Format for Lease<L> {
        fn format(&self, f: Formatter<'_>) {
            let (node_id, start, end) = self.parts();
            write!(
                f,
                "node id {=u32}, ticks {=u64} to {=u64}",
                node_id, start, end
            );
        }
    }
}

#[cfg(feature = "redis")]
mod redis {
    //! Ids in Redis, as text, or as a number of 53 bits.

    extern crate alloc;

    use alloc::format;
    use core::fmt::Display;
    use core::str;

    use redis::{FromRedisValue, ParsingError, RedisWrite, ToRedisArgs, ToSingleRedisArg, Value};

    use crate::{Id, Kind, StoredPlain, StoredRaw};

    /// The text form or the number, in keys and in values.
    impl<K: Kind> ToRedisArgs for Id<K> {
        fn write_redis_args<W: RedisWrite + ?Sized>(&self, out: &mut W) {
            if Self::IS_NUMBER {
                out.write_arg_fmt(self.to_u64());
            } else {
                out.write_arg_fmt(self);
            }
        }
    }

    impl<K: Kind> ToSingleRedisArg for Id<K> {}

    /// Reads the text form only: what Redis counts itself, as by `INCR`, is a number and no id. Ids
    /// of 53 bits are numbers: an integer, as `randflake serve` answers `INCR`, or its digits.
    impl<K: Kind> FromRedisValue for Id<K> {
        fn from_redis_value(value: Value) -> Result<Self, ParsingError> {
            Self::from_redis_value_ref(&value)
        }

        fn from_redis_value_ref(value: &Value) -> Result<Self, ParsingError> {
            if Self::IS_NUMBER {
                let id = Id::from_i64(i64::from_redis_value_ref(value)?);
                return id.try_typed().map_err(refused);
            }
            // All forms of a text in both versions of the protocol; an integer is none, so a
            // counter is not taken for an id.
            let text = match value {
                Value::BulkString(bytes) => str::from_utf8(bytes)?,
                Value::SimpleString(text) | Value::VerbatimString { text, .. } => text,
                other => {
                    return Err(
                        format!("{other:?} is not an id's text, as {}", Self::EXAMPLE).into(),
                    );
                }
            };
            text.parse()
                .map_err(|error| format!("{text:?} is not an id: {error}").into())
        }
    }

    impl<K: StoredPlain> ToRedisArgs for StoredRaw<K> {
        fn write_redis_args<W: RedisWrite + ?Sized>(&self, out: &mut W) {
            self.id().write_redis_args(out);
        }
    }

    impl<K: StoredPlain> ToSingleRedisArg for StoredRaw<K> {}

    impl<K: StoredPlain> FromRedisValue for StoredRaw<K> {
        fn from_redis_value(value: Value) -> Result<Self, ParsingError> {
            Self::from_redis_value_ref(&value)
        }

        fn from_redis_value_ref(value: &Value) -> Result<Self, ParsingError> {
            Self::new(Id::from_redis_value_ref(value)?).map_err(refused)
        }
    }

    fn refused(error: impl Display) -> ParsingError {
        format!("{error}").into()
    }
}
