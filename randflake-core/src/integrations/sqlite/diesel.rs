//! Functions of connections of `diesel`.

use alloc::string::{String, ToString as _};
use alloc::sync::Arc;

use ::diesel::QueryResult;
use ::diesel::backend::Backend;
use ::diesel::deserialize::{self, FromSql, FromSqlRow};
use ::diesel::serialize::{self, IsNull, Output, ToSql};
use ::diesel::sql_types::{BigInt, Text};
use ::diesel::sqlite::{Sqlite, SqliteConnection, SqliteType};

use super::{Answer, Argument, Function, Ids, Value};
use crate::{AnyLayout, Cipher, Codec};

/// Declares the functions to `diesel`, with the types of arguments and results.
macro_rules! functions {
    ($($(#[$doc:meta])* $function:ident: $name:ident($($argument:ident: $type:ident),+) -> $result:ident, $utils:ident;)+) => {
        /// The functions in `diesel`'s query builder: `orders::raw.eq(decrypt(id))`.
        pub mod dsl {
            use ::diesel::sql_types::{BigInt, Text};

            $(::diesel::define_sql_function! {
                $(#[$doc])*
                fn $name($($argument: $type),+) -> $result;
            })+
        }

        fn register(connection: &mut SqliteConnection, ids: &Arc<Ids>) -> QueryResult<()> {
            $(if Function::$function.is_of(ids) {
                let ids = Arc::clone(ids);
                // By another key the results are others, so that SQLite takes none for an index or
                // a generated column.
                dsl::$utils::register_nondeterministic_impl(connection, move |$($argument: Passed),+| {
                    Returned(Function::$function.call(&ids, &[$($argument.0),+]))
                })?;
            })+
            Ok(())
        }
    };
}

functions! {
    /// The id of a raw id.
    Encrypt: encrypt(raw: BigInt) -> BigInt, encrypt_utils;
    /// The raw id of an id.
    Decrypt: decrypt(id: BigInt) -> BigInt, decrypt_utils;
    /// The text of an id.
    IdToText: id_to_text(id: BigInt) -> Text, id_to_text_utils;
    /// The id of a text.
    IdFromText: id_from_text(text: Text) -> BigInt, id_from_text_utils;
    /// Time of an id, as a date of SQLite in UTC.
    IdTime: id_time(id: BigInt) -> Text, id_time_utils;
    /// Node id of an id.
    IdNode: id_node(id: BigInt) -> BigInt, id_node_utils;
    /// Sequence of an id.
    IdSequence: id_sequence(id: BigInt) -> BigInt, id_sequence_utils;
    /// Time of a raw id, as a date of SQLite in UTC.
    RawTime: raw_time(raw: BigInt) -> Text, raw_time_utils;
    /// Node id of a raw id.
    RawNode: raw_node(raw: BigInt) -> BigInt, raw_node_utils;
    /// Sequence of a raw id.
    RawSequence: raw_sequence(raw: BigInt) -> BigInt, raw_sequence_utils;
    /// The id with these fields.
    Compose: compose(time: Text, node: BigInt, sequence: BigInt) -> BigInt, compose_utils;
    /// The raw id with these fields.
    ComposeRaw: compose_raw(time: Text, node: BigInt, sequence: BigInt) -> BigInt, compose_raw_utils;
    /// The ranges of raw ids of a time range, as JSON: `[[first,last]]`.
    RawRanges: raw_ranges(from: Text, to: Text) -> Text, raw_ranges_utils;
    /// First raw id of a time range.
    RawFirst: raw_first(from: Text, to: Text) -> BigInt, raw_first_utils;
    /// Last raw id of a time range.
    RawLast: raw_last(from: Text, to: Text) -> BigInt, raw_last_utils;
}

/// Adds the [functions](super) to a connection: for ids of a layout, encrypted with a cipher or
/// plain.
///
/// Functions of these names that the connection has already are replaced.
///
/// `diesel` cannot say `SQLITE_DIRECTONLY`. If the program opens databases that others can write,
/// execute `PRAGMA trusted_schema = OFF` on the connection: then views and triggers call none of
/// the functions, `encrypt` included.
///
/// # Errors
///
/// That of SQLite: the connection is busy with a statement that calls one of the functions.
///
/// ```
/// use diesel::prelude::*;
/// use diesel::sqlite::SqliteConnection;
/// use randflake_core::{Randflake, Sparx64};
/// use randflake_core::sqlite::{dsl::id_time, register_on_diesel};
///
/// let mut connection = SqliteConnection::establish(":memory:")?;
/// let cipher = Sparx64::new(&0xdffd6021bb2bd5b0af676290809ec3a5_u128.to_be_bytes());
/// register_on_diesel(&mut connection, Randflake, Some(cipher.into()))?;
///
/// let time: String = diesel::select(id_time(4_594_531_474_933_654_033)).get_result(&mut connection)?;
/// assert_eq!(time, "2024-12-09 01:04:57");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn register_on_diesel(
    connection: &mut SqliteConnection,
    layout: impl AnyLayout,
    cipher: Option<Cipher>,
) -> QueryResult<()> {
    register(connection, &Arc::new(Codec::new(layout.spec(), cipher)))
}

/// An argument of any type: `diesel` itself would convert it to the declared one, and make 0 of a
/// text.
#[derive(Debug, FromSqlRow)]
struct Passed(Argument);

macro_rules! passed_as {
    ($($type:ty),+) => {
        $(impl FromSql<$type, Sqlite> for Passed {
            fn from_sql(mut value: <Sqlite as Backend>::RawValue<'_>) -> deserialize::Result<Self> {
                Ok(Self(match value.value_type() {
                    None => Argument::Null,
                    Some(SqliteType::Text) => Argument::Text(value.read_text().to_string()),
                    Some(SqliteType::Float | SqliteType::Double) => Argument::Real,
                    Some(SqliteType::Binary) => Argument::Blob,
                    Some(_) => Argument::Integer(value.read_long()),
                }))
            }

            fn from_nullable_sql(
                value: Option<<Sqlite as Backend>::RawValue<'_>>,
            ) -> deserialize::Result<Self> {
                match value {
                    Some(value) => <Self as FromSql<$type, Sqlite>>::from_sql(value),
                    None => Ok(Self(Argument::Null)),
                }
            }
        })+
    };
}

passed_as!(BigInt, Text);

#[derive(Debug)]
struct Returned(Answer);

macro_rules! returned_as {
    ($($type:ty),+) => {
        $(impl ToSql<$type, Sqlite> for Returned {
            fn to_sql<'b>(&'b self, out: &mut Output<'b, '_, Sqlite>) -> serialize::Result {
                match &self.0 {
                    Ok(Value::Null) => return Ok(IsNull::Yes),
                    Ok(Value::Integer(number)) => out.set_value(*number),
                    Ok(Value::Text(text)) => out.set_value(text.as_str()),
                    Err(problem) => return Err(String::clone(problem).into()),
                }
                Ok(IsNull::No)
            }
        })+
    };
}

returned_as!(BigInt, Text);
