//! What can go wrong with a server, sorted into what its callers can do about it.

use mysql_async::{Error as SqlError, IoError};

use super::tls;
use crate::lease::{EngineError, StoreError};

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

/// Why an operation failed.
#[derive(Debug)]
pub(super) enum Failure {
    /// The server or the connection to it failed.
    Sql(SqlError),
    /// The server did not answer in time.
    TimeOut,
    /// Other connections of the server answer than the one that was prepared.
    Pooled,
    /// The store refuses.
    Refused(EngineError),
}

impl From<SqlError> for Failure {
    fn from(error: SqlError) -> Self {
        Self::Sql(error)
    }
}

impl From<EngineError> for Failure {
    fn from(error: EngineError) -> Self {
        Self::Refused(error)
    }
}

impl From<StoreError> for Failure {
    fn from(error: StoreError) -> Self {
        Self::Refused(match error {
            StoreError::Unavailable(source) => EngineError::unavailable(source),
            error => EngineError::unusable(error.to_string()),
        })
    }
}

impl Failure {
    /// Whether another connection might do better, at once.
    pub(super) fn is_of_the_connection(&self) -> bool {
        matches!(self, Self::Sql(error) if !is_lasting(error))
    }

    /// Whether nothing was written, because others were faster or the tables are gone.
    pub(super) fn is_stale(&self) -> bool {
        self.is_one_of(&[DUPLICATE, DEADLOCK, SUBQUERY_ROWS, NO_SUCH_TABLE])
    }

    /// Whether the server told one of these.
    pub(super) fn is_one_of(&self, codes: &[u16]) -> bool {
        matches!(self, Self::Sql(error) if is_one_of(error, codes))
    }

    /// The error as a caller of the store sees it.
    pub(super) fn at(self, place: &str, is_encrypted: bool) -> EngineError {
        match self {
            Self::Refused(error) => error,
            Self::Sql(error) => {
                let refusal = tls::refusal(&error);
                let is_lasting = refusal.is_some() || is_lasting(&error);
                // Which is all that `MariaDB` says to who does not encrypt and should.
                let hint = if is_one_of(&error, &[ACCESS_DENIED]) && !is_encrypted {
                    ": if the server takes encrypted connections only, take sslmode=verify-full"
                } else {
                    ""
                };
                let told = refusal.unwrap_or_else(|| told(&error));
                let sentence = format!("{place}: {told}{hint}");
                if is_lasting {
                    EngineError::unusable(sentence).because(error)
                } else {
                    EngineError::unavailable(sentence).because(error)
                }
            }
            Self::Pooled => EngineError::unusable(format!(
                "{place}: statements of one connection reach several sessions of the server, as behind a pooler in \
                 transaction mode: connect to the server itself, or let the pooler pool by session"
            )),
            Self::TimeOut => EngineError::unavailable(format!("{place}: no answer in time")),
        }
    }
}

fn is_one_of(error: &SqlError, codes: &[u16]) -> bool {
    matches!(error, SqlError::Server(told) if codes.contains(&told.code))
}

/// Whether trying again cannot help.
fn is_lasting(error: &SqlError) -> bool {
    const LASTING: [u16; 7] = [
        DATABASE_DENIED,
        ACCESS_DENIED,
        NO_SUCH_DATABASE,
        SYNTAX,
        TABLE_DENIED,
        COLUMN_DENIED,
        PRIVILEGE_DENIED,
    ];
    is_one_of(error, &LASTING)
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
