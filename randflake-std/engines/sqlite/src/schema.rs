//! The tables, and which of them a file has.

use rusqlite::Connection;

use crate::failure::Failure;
use randflake_lease::EngineError;
use randflake_lease::unstable::engine::newer;

/// In the database's header, where `file` and other tools look: "rflk".
const APPLICATION_ID: i32 = i32::from_be_bytes(*b"rflk");
pub(crate) const VERSION: i32 = 1;

/// - `store` has one row: what is known of the database itself. `breaks` counts how often it may have forgotten
///   something, `known_end_ms` is the latest end of a lease that was known outside of it when it did. `made_ms` is when it
///   was made, and `search_from` the random number by which free node ids are searched.
/// - `record` has all else: the texts of each namespace by their keys. A kind is 0 for the namespace's record, 1 for its
///   counter, 2 for a node id, 4 for a hint to a free node id, and 5 for an earlier lease. Kind 6, of
///   no namespace, is the claim of a secret by its check value. A device is of kind 7, or of 8 if its
///   number is 2^63 or more.
const TABLES: &str = "
    CREATE TABLE store (
        only_row INTEGER PRIMARY KEY CHECK (only_row = 1),
        id INTEGER NOT NULL,
        writes INTEGER NOT NULL,
        inode INTEGER,
        born_ns INTEGER,
        path TEXT NOT NULL,
        known_end_ms INTEGER NOT NULL,
        breaks INTEGER NOT NULL,
        made_ms INTEGER NOT NULL,
        search_from INTEGER NOT NULL
    ) STRICT;
    CREATE TABLE record (
        namespace TEXT NOT NULL,
        kind INTEGER NOT NULL,
        number INTEGER NOT NULL,
        value TEXT NOT NULL,
        PRIMARY KEY (namespace, kind, number)
    ) STRICT, WITHOUT ROWID;
";

/// Whether the file has our tables already. It is not changed.
pub(crate) fn are_there(connection: &Connection) -> Result<bool, Failure> {
    let pragma = |name| connection.pragma_query_value(None, name, |row| row.get(0));
    let application_id: i32 = pragma("application_id")?;
    let version: i32 = pragma("user_version")?;
    match (application_id, version) {
        (APPLICATION_ID, VERSION) => Ok(true),
        // A new file. A creation that was not committed leaves one like it.
        (APPLICATION_ID | 0, 0) if has_no_tables(connection)? => Ok(false),
        (APPLICATION_ID, VERSION..) => Err(EngineError::failed_precondition(newer(
            i64::from(version).unsigned_abs(),
            i64::from(VERSION).unsigned_abs(),
        ))
        .into()),
        _ => Err(EngineError::failed_precondition("this is another program's database").into()),
    }
}

fn has_no_tables(connection: &Connection) -> rusqlite::Result<bool> {
    let sql = "SELECT NOT EXISTS (SELECT * FROM sqlite_schema)";
    connection.query_row(sql, [], |row| row.get(0))
}

/// Creates the tables, in a transaction.
pub(crate) fn create(connection: &Connection) -> rusqlite::Result<()> {
    connection.execute_batch(TABLES)?;
    // Both numbers are in the header, which the transaction covers: they come with the tables.
    connection.pragma_update(None, "application_id", APPLICATION_ID)?;
    connection.pragma_update(None, "user_version", VERSION)?;
    Ok(())
}
