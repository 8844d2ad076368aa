//! Tables of the SQLite database, and a diagnosis of it.

use rusqlite::Connection;

use crate::failure::Failure;
use randflake_lease::unstable::engine::newer;
use randflake_lease::{EngineError, Finding};

/// In the database's header, where `file` and other tools look: "rflk".
const APPLICATION_ID: i32 = i32::from_be_bytes(*b"rflk");
pub(crate) const VERSION: i32 = 1;

/// - `store` has one row: what is known of the database itself. `breaks` counts how often it may
///   have forgotten something, `known_end_ms` is the latest end of a lease that was known outside
///   of it when it did. `made_ms` is when it was made, and `search_from` the random number by which
///   free node ids are searched.
/// - `record` has all else: the texts of each namespace by their keys. A kind is 0 for the
///   namespace's record, 1 for its counter, 2 for a node id, 4 for a hint to a free node id, and 5
///   for an earlier lease. Kind 6, of no namespace, is the claim of a secret by its check value. A
///   device is of kind 7, or of 8 if its number is 2^63 or more.
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

/// Findings about the open database, read in a transaction.
pub(crate) fn findings(
    connection: &Connection,
    fingerprint: String,
) -> rusqlite::Result<Vec<Finding>> {
    let server = format!("SQLite {}", rusqlite::version());
    let settings = [
        journal_mode(connection)?,
        synchronous(connection)?,
        quick_check(connection)?,
    ];
    Ok(Finding::of_a_store(
        server,
        VERSION,
        settings,
        fingerprint,
        None,
    ))
}

/// Kind of the journal: each operation sets it, and this is what SQLite says that it is.
fn journal_mode(connection: &Connection) -> rusqlite::Result<Finding> {
    let mode: String = connection.pragma_query_value(None, "journal_mode", |row| row.get(0))?;
    Ok(Finding::fine("journal_mode", mode))
}

/// When SQLite waits for the disk: each operation sets it to 2, which is `FULL`.
fn synchronous(connection: &Connection) -> rusqlite::Result<Finding> {
    let level: i64 = connection.pragma_query_value(None, "synchronous", |row| row.get(0))?;
    Ok(Finding::fine("synchronous", level.to_string()))
}

/// Reads the whole file: some 10 ms when all node ids are leased.
fn quick_check(connection: &Connection) -> rusqlite::Result<Finding> {
    let first: String = connection.query_row("PRAGMA quick_check(1)", [], |row| row.get(0))?;
    Ok(if first == "ok" {
        Finding::fine("quick_check", first)
    } else {
        let sentence = "the database is damaged: end all its users, delete it and keep the file \
                        `.lock` beside it; a new one is quarantined for as long as it must be";
        Finding::wrong("quick_check", first, sentence)
    })
}
