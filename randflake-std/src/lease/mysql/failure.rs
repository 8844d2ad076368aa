//! What can go wrong with a server, sorted into what its callers can do about it.

use core::error::Error;
use core::fmt::{self, Display, Formatter};

use mysql_async::{Error as SqlError, IoError};

use super::tls;
use crate::lease::StoreError;

/// Errors of the server, by its manual.
pub(super) const NO_SUCH_TABLE: u16 = 1146;
const DATABASE_DENIED: u16 = 1044;
const ACCESS_DENIED: u16 = 1045;
const NO_SUCH_DATABASE: u16 = 1049;
const SYNTAX: u16 = 1064;
const TABLE_DENIED: u16 = 1142;
const COLUMN_DENIED: u16 = 1143;
const PRIVILEGE_DENIED: u16 = 1227;
const DEADLOCK: u16 = 1213;

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
    Store(StoreError),
}

impl From<SqlError> for Failure {
    fn from(error: SqlError) -> Self {
        Self::Sql(error)
    }
}

impl From<StoreError> for Failure {
    fn from(error: StoreError) -> Self {
        Self::Store(error)
    }
}

impl Failure {
    /// Whether another connection might do better, at once.
    pub(super) fn is_of_the_connection(&self) -> bool {
        matches!(self, Self::Sql(error) if !is_lasting(error))
    }

    /// Whether nothing was written, because others were faster or the tables are gone.
    pub(super) fn is_stale(&self) -> bool {
        matches!(self, Self::Sql(SqlError::Server(told)) if [DEADLOCK, NO_SUCH_TABLE].contains(&told.code))
    }

    /// The error as a caller of the store sees it.
    pub(super) fn at(self, place: &str, is_encrypted: bool) -> StoreError {
        match self {
            Self::Store(error) => error,
            Self::Sql(error) => match tls::refusal(&error) {
                Some(why) => StoreError::Unusable(format!("MySQL at {place}: {why}")),
                None if is_lasting(&error) => {
                    let hint = if is_denied(&error) && !is_encrypted {
                        ": if the server takes encrypted connections only, take sslmode=verify-full"
                    } else {
                        ""
                    };
                    StoreError::Unusable(format!("{}{hint}", AtPlace::new(place, error)))
                }
                None => StoreError::unavailable(AtPlace::new(place, error)),
            },
            Self::Pooled => StoreError::Unusable(format!(
                "MySQL at {place}: statements of one connection reach several sessions of the server, as behind a \
                 pooler in transaction mode: connect to the server itself, or let the pooler pool by session"
            )),
            Self::TimeOut => {
                StoreError::unavailable(format!("MySQL at {place}: no answer in time"))
            }
        }
    }
}

/// Which is all that `MariaDB` says to who does not encrypt and should.
fn is_denied(error: &SqlError) -> bool {
    matches!(error, SqlError::Server(told) if told.code == ACCESS_DENIED)
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
    matches!(error, SqlError::Server(told) if LASTING.contains(&told.code))
}

#[derive(Debug)]
struct AtPlace {
    place: String,
    source: SqlError,
}

impl AtPlace {
    fn new(place: &str, source: SqlError) -> Self {
        let place = place.to_owned();
        Self { place, source }
    }
}

impl Display for AtPlace {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        write!(f, "MySQL at {}: ", self.place)?;
        match &self.source {
            SqlError::Server(told) => f.write_str(&told.message),
            SqlError::Io(IoError::Io(error)) => write!(f, "{error}"),
            SqlError::Driver(error) => write!(f, "{error}"),
            error => write!(f, "{error}"),
        }
    }
}

impl Error for AtPlace {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        Some(&self.source)
    }
}
