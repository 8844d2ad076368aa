//! What the database says of itself.

use rusqlite::Connection;

use super::schema;
use randflake_lease::Finding;

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
        schema::VERSION,
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
