//! A look into a database between operations: without the lock file, and for a moment only.
//!
//! SQLite's locks belong to the process: closing any other descriptor of the file would end those
//! of a transaction that another thread is in. So the file is never read but through SQLite.

use core::time::Duration;
use std::path::Path;

use rusqlite::{Connection, ErrorCode, OpenFlags};

use super::continuity::Stored;
use crate::failure::Failure;

/// What the database says of itself; `None` while another process commits, or if one was killed in
/// a commit, which the next operation undoes.
pub(crate) fn stored(path: &Path) -> Result<Option<Stored>, Failure> {
    match connect(path).and_then(|connection| Stored::read(&connection)) {
        Ok(stored) => Ok(Some(stored)),
        Err(error) if may_pass(&error) => Ok(None),
        Err(error) => Err(error.into()),
    }
}

/// Whether SQLite knows a file as one of its own, or as one that is empty or not there.
pub(crate) fn is_database(path: &Path) -> bool {
    let version = connect(path).and_then(|connection| {
        connection.pragma_query_value(None, "schema_version", |row| row.get::<_, i64>(0))
    });
    let code = version.err().and_then(|error| error.sqlite_error_code());
    code != Some(ErrorCode::NotADatabase)
}

fn connect(path: &Path) -> rusqlite::Result<Connection> {
    let flags = OpenFlags::SQLITE_OPEN_READ_ONLY
        | OpenFlags::SQLITE_OPEN_NO_MUTEX
        | OpenFlags::SQLITE_OPEN_NOFOLLOW;
    let connection = Connection::open_with_flags(path, flags)?;
    connection.busy_timeout(Duration::ZERO)?;
    Ok(connection)
}

fn may_pass(error: &rusqlite::Error) -> bool {
    matches!(
        error.sqlite_error_code(),
        // What was left of a commit cannot be undone by who only reads.
        Some(
            ErrorCode::DatabaseBusy
                | ErrorCode::DatabaseLocked
                | ErrorCode::ReadOnly
                | ErrorCode::CannotOpen
        )
    )
}
