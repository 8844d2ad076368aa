//! The tables, and which of them a file has.

use std::path::Path;

use rusqlite::Connection;

use super::failure::{Failure, unusable};

/// In the database's header, where `file` and other tools look: "rflk".
const APPLICATION_ID: i32 = i32::from_be_bytes(*b"rflk");
pub(super) const VERSION: i32 = 1;

/// - `store` has one row: what is known of the database itself.
/// - `lease` has a row for each node id that was ever leased. Node ids come into use in order, so
///   those from the namespace's `unused` on are free and have no row.
/// - `counter` has a row for each namespace whose numbers were ever reserved; `vouched` is the number of
///   the store's `breaks` up to which somebody vouches for it.
/// - Times are in the namespace's ticks, or in milliseconds of Unix time where their name says so.
const TABLES: &str = "
    CREATE TABLE store (
        only_row INTEGER PRIMARY KEY CHECK (only_row = 1),
        id INTEGER NOT NULL,
        writes INTEGER NOT NULL,
        inode INTEGER,
        born_ns INTEGER,
        path TEXT NOT NULL,
        fence_until_ms INTEGER NOT NULL,
        breaks INTEGER NOT NULL
    ) STRICT;
    CREATE TABLE namespace (
        id INTEGER PRIMARY KEY,
        name TEXT NOT NULL UNIQUE,
        node_ids INTEGER NOT NULL,
        epoch_unix_ms INTEGER NOT NULL,
        tick_ms INTEGER NOT NULL,
        max_ttl_ms INTEGER NOT NULL,
        fence_tick INTEGER NOT NULL,
        unused INTEGER NOT NULL
    ) STRICT;
    CREATE TABLE lease (
        namespace INTEGER NOT NULL,
        node_id INTEGER NOT NULL,
        start_tick INTEGER NOT NULL,
        end_tick INTEGER NOT NULL,
        fencing_token INTEGER NOT NULL,
        token BLOB NOT NULL,
        held INTEGER NOT NULL,
        holder TEXT NOT NULL,
        PRIMARY KEY (namespace, node_id)
    ) STRICT, WITHOUT ROWID;
    CREATE INDEX lease_by_end ON lease (namespace, end_tick);
    CREATE INDEX lease_by_token ON lease (namespace, token);
    CREATE TABLE counter (
        namespace INTEGER PRIMARY KEY,
        next INTEGER NOT NULL,
        vouched INTEGER NOT NULL
    ) STRICT;
";

/// Whether the file has our tables already. It is not changed.
pub(super) fn are_there(connection: &Connection, path: &Path) -> Result<bool, Failure> {
    let pragma = |name| connection.pragma_query_value(None, name, |row| row.get(0));
    let application_id: i32 = pragma("application_id")?;
    let version: i32 = pragma("user_version")?;
    let tables: i64 =
        connection.query_row("SELECT count(*) FROM sqlite_schema", [], |row| row.get(0))?;
    match (application_id, version) {
        (APPLICATION_ID, VERSION) => Ok(true),
        (APPLICATION_ID | 0, 0) if tables == 0 => Ok(false),
        (APPLICATION_ID, _) if version > VERSION => {
            let why = format!(
                "a newer randflake made this lease store (version {version}; this one knows \
                 {VERSION}): update this one"
            );
            Err(unusable(path, &why).into())
        }
        _ => Err(unusable(path, &"this is another program's database").into()),
    }
}

/// Creates the tables, in a transaction.
pub(super) fn create(connection: &Connection) -> Result<(), Failure> {
    connection.execute_batch(TABLES)?;
    connection.pragma_update(None, "application_id", APPLICATION_ID)?;
    connection.pragma_update(None, "user_version", VERSION)?;
    Ok(())
}
