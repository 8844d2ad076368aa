//! What can go wrong with a server, sorted by whether another try may succeed.

use mysql_async::{Error as SqlError, IoError};

use crate::lease::EngineError;
use crate::lease::database::Failure;
use crate::lease::encryption;

/// Errors of the server, by its manual.
pub(super) const NO_SUCH_TABLE: u16 = 1146;
const DATABASE_DENIED: u16 = 1044;
const ACCESS_DENIED: u16 = 1045;
const NO_SUCH_DATABASE: u16 = 1049;
const DUPLICATE: u16 = 1062;
const SYNTAX: u16 = 1064;
const TABLE_DENIED: u16 = 1142;
const COLUMN_DENIED: u16 = 1143;
const DEADLOCK: u16 = 1213;
const PRIVILEGE_DENIED: u16 = 1227;
/// What is not as expected ends a transaction by it.
const SUBQUERY_ROWS: u16 = 1242;

/// Trying again cannot help.
const LASTING: [u16; 7] = [
    DATABASE_DENIED,
    ACCESS_DENIED,
    NO_SUCH_DATABASE,
    SYNTAX,
    TABLE_DENIED,
    COLUMN_DENIED,
    PRIVILEGE_DENIED,
];

impl From<SqlError> for Failure {
    fn from(error: SqlError) -> Self {
        failure(error, "")
    }
}

/// Of the connection's beginning.
pub(super) fn of_login(error: SqlError, is_encrypted: bool) -> Failure {
    // Which is all that `MariaDB` says to who does not encrypt and should.
    let hint = if is_one_of(&error, &[ACCESS_DENIED]) && !is_encrypted {
        ": if the server takes encrypted connections only, take sslmode=verify-full"
    } else {
        ""
    };
    failure(error, hint)
}

fn failure(error: SqlError, hint: &str) -> Failure {
    let kind = if let Some(refusal) = encryption::refusal(&error) {
        EngineError::unusable(refusal)
    } else if is_one_of(&error, &LASTING) {
        EngineError::unusable(told(&error) + hint)
    } else {
        EngineError::unavailable(told(&error))
    };
    Failure::of_the_connection(kind.because(error))
}

/// Whether nothing was written, because others were faster or the tables are gone.
pub(super) fn is_stale(error: &SqlError) -> bool {
    is_one_of(error, &[DUPLICATE, DEADLOCK, SUBQUERY_ROWS, NO_SUCH_TABLE])
}

/// Whether the server told one of these.
pub(super) fn is_one_of(error: &SqlError, codes: &[u16]) -> bool {
    matches!(error, SqlError::Server(told) if codes.contains(&told.code))
}

/// Without the client's words around it.
fn told(error: &SqlError) -> String {
    match error {
        SqlError::Server(told) => told.message.clone(),
        SqlError::Io(IoError::Io(error)) => error.to_string(),
        SqlError::Driver(error) => error.to_string(),
        error => error.to_string(),
    }
}
