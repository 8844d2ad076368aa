//! Functions of connections of `rusqlite`.

use alloc::string::String;
use alloc::sync::Arc;
use alloc::vec::Vec;

use ::rusqlite::functions::{Context, FunctionFlags};
use ::rusqlite::types::{self, ValueRef};
use ::rusqlite::{Connection, Error, Result};

use super::{Argument, Exposure, Function, Value};
use crate::{AnyLayout, Cipher, Codec};

/// Adds the [functions](super) to a connection: for ids of a layout, encrypted with a cipher or
/// plain.
///
/// Functions of these names that the connection has already are replaced.
///
/// # Errors
///
/// Those of [`Connection::create_scalar_function`]: the connection is busy with a statement that
/// calls one of the functions.
///
/// ```
/// use randflake_core::{Randflake, Sparx64, sqlite::register_on_rusqlite};
///
/// let connection = rusqlite::Connection::open_in_memory()?;
/// let cipher = Sparx64::new(&0xdffd6021bb2bd5b0af676290809ec3a5_u128.to_be_bytes());
/// register_on_rusqlite(&connection, Randflake, Some(cipher.into()))?;
///
/// let question = "SELECT id_time(id_from_text('3vgoe12ccb8gh'))";
/// let time: String = connection.query_row(question, [], |row| row.get(0))?;
/// assert_eq!(time, "2024-12-09 01:04:57");
/// # Ok::<(), rusqlite::Error>(())
/// ```
pub fn register_on_rusqlite(
    connection: &Connection,
    layout: impl AnyLayout,
    cipher: Option<Cipher>,
) -> Result<()> {
    let ids = Arc::new(Codec::new(layout.spec(), cipher));
    for function in Function::ALL {
        if !function.is_of(&ids) {
            continue;
        }
        let ids = Arc::clone(&ids);
        let (name, count, exposure) = function.signature();
        connection.create_scalar_function(name, count, flags(exposure), move |context| {
            let arguments = arguments(context);
            let answer = function
                .call(&ids, &arguments)
                .map_err(|problem| Error::UserFunctionError(problem.into()))?;
            Ok(match answer {
                Value::Null => types::Value::Null,
                Value::Integer(number) => types::Value::Integer(number),
                Value::Text(text) => types::Value::Text(text),
            })
        })?;
    }
    Ok(())
}

fn flags(exposure: Exposure) -> FunctionFlags {
    let utf8 = FunctionFlags::SQLITE_UTF8;
    match exposure {
        Exposure::Innocuous => {
            utf8 | FunctionFlags::SQLITE_INNOCUOUS | FunctionFlags::SQLITE_DETERMINISTIC
        }
        // Not deterministic, as another key makes other ids: so SQLite takes neither for an index
        // or a generated column.
        Exposure::Schema => utf8,
        Exposure::Direct => utf8 | FunctionFlags::SQLITE_DIRECTONLY,
    }
}

fn arguments(context: &Context<'_>) -> Vec<Argument> {
    (0..context.len())
        .map(|index| match context.get_raw(index) {
            ValueRef::Null => Argument::Null,
            ValueRef::Integer(number) => Argument::Integer(number),
            ValueRef::Real(_) => Argument::Real,
            // What is not UTF-8 is no digit either.
            ValueRef::Text(text) => Argument::Text(String::from_utf8_lossy(text).into()),
            ValueRef::Blob(_) => Argument::Blob,
        })
        .collect()
}
