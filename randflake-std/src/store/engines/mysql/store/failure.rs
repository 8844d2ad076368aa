//! What can go wrong with a server.

use mysql_async::{Error, IoError};

use crate::store::engines::database::{DatabaseFailure, Sort};

const ACCESS_DENIED: u16 = 1045;

/// What errors of the server mean that do not pass, by their numbers in its manual.
const SORTS: [(u16, Sort); 12] = [
    (1044, Sort::Lasting), // access to the database denied
    (ACCESS_DENIED, Sort::Lasting),
    (1049, Sort::Lasting),   // no such database
    (1054, Sort::Lasting),   // no such column: tables from before the first release
    (1064, Sort::Lasting),   // syntax
    (1142, Sort::Lasting),   // command denied for a table
    (1143, Sort::Lasting),   // command denied for a column
    (1227, Sort::Lasting),   // a privilege is missing
    (1062, Sort::Overtaken), // duplicate key
    (1146, Sort::Overtaken), // no such table
    (1213, Sort::Overtaken), // deadlock
    (1242, Sort::Overtaken), // two rows: what is not as expected ends a write by it
];

impl From<Error> for DatabaseFailure {
    fn from(error: Error) -> Self {
        failure_of(error, "")
    }
}

/// Failure of a login, with a hint where encryption may be what is missing.
pub(super) fn of_login(error: Error, is_encrypted: bool) -> DatabaseFailure {
    // Which is all that `MariaDB` says to who does not encrypt and should.
    if code(&error) == Some(ACCESS_DENIED) && !is_encrypted {
        let hint = ": if the server takes encrypted connections only, take sslmode=verify-full";
        return failure_of(error, hint);
    }
    failure_of(error, "")
}

fn failure_of(error: Error, hint: &str) -> DatabaseFailure {
    // All numbers that are not listed may pass: a try costs less than a store that gives up.
    let sort = SORTS.iter().find(|(known, _)| code(&error) == Some(*known));
    let message = match &error {
        Error::Server(error) => format!("{}{hint}", error.message),
        Error::Io(IoError::Io(error)) => error.to_string(),
        Error::Driver(error) => error.to_string(),
        error => error.to_string(),
    };
    DatabaseFailure::of_client(
        error,
        sort.map_or(Sort::Passing, |(_, sort)| *sort),
        message,
    )
}

fn code(error: &Error) -> Option<u16> {
    match error {
        Error::Server(error) => Some(error.code),
        _ => None,
    }
}
