//! An extension that SQLite loads: SQL functions over the ids of a namespace.
//!
//! Its environment says which: `RANDFLAKE_LAYOUT` is the layout, `randflake` unless it is set; `RANDFLAKE_KEY_FILE` is the
//! file of the secret of encrypted ids, which only its owner may read. `docs/sql/sqlite.md` shows its use.

// A panic would go through SQLite. Not in the manifest, which holds for tests too.
#![warn(clippy::expect_used, clippy::panic, clippy::unwrap_used)]

mod settings;

use std::ffi::{c_char, c_int};

use randflake_core::sqlite::register_on_rusqlite;
use randflake_std::lease::KeyCheck;
use rusqlite::functions::FunctionFlags;
use rusqlite::{Connection, Error, Result, ffi};

use settings::Settings;

/// What SQLite calls when it has loaded the extension.
///
/// # Safety
///
/// SQLite's contract: a connection that is open, the place of a message, and its table of functions.
#[unsafe(no_mangle)]
#[expect(
    unsafe_code,
    reason = "SQLite finds it by its name, and passes pointers"
)]
pub unsafe extern "C" fn sqlite3_extension_init(
    connection: *mut ffi::sqlite3,
    message: *mut *mut c_char,
    functions: *mut ffi::sqlite3_api_routines,
) -> c_int {
    // SAFETY: they are SQLite's own, and valid while this runs.
    unsafe { Connection::extension_init2(connection, message, functions, init) }
}

/// Adds the functions to the connection that loads the extension. Returns `false`: it is not there for later ones.
#[expect(clippy::needless_pass_by_value, reason = "rusqlite's signature")]
fn init(connection: Connection) -> Result<bool> {
    let settings = Settings::from_environment().map_err(refusal)?;
    let check = KeyCheck::of(&settings.cipher).value();
    let check = check.map(|check| format!("{check:08x}"));
    register_on_rusqlite(&connection, settings.layout, settings.cipher)?;
    connection.create_scalar_function("key_check", 0, FunctionFlags::SQLITE_UTF8, move |_| {
        Ok(check.clone())
    })?;
    Ok(false)
}

/// The message with which SQLite fails to load the extension.
fn refusal(problem: String) -> Error {
    Error::UserFunctionError(problem.into())
}
