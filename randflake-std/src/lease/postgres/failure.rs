//! What can go wrong with a server, sorted into what its callers can do about it.

use core::error::Error;
use core::fmt::{self, Display, Formatter};

use tokio_postgres::error::SqlState;

use super::tls;
use crate::lease::StoreError;

/// Why an operation failed.
#[derive(Debug)]
pub(super) enum Failure {
    /// The server or the connection to it failed.
    Sql(tokio_postgres::Error),
    /// The server did not answer in time.
    TimeOut,
    /// Another session answered than the one that was opened.
    Pooler,
    /// The store is not the one that the session was opened for.
    OtherStore,
    /// The store refuses.
    Store(StoreError),
}

impl From<tokio_postgres::Error> for Failure {
    fn from(error: tokio_postgres::Error) -> Self {
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
        match self {
            Self::Sql(error) => !is_lasting(error),
            Self::OtherStore => true,
            Self::TimeOut | Self::Pooler | Self::Store(_) => false,
        }
    }

    /// The error as a caller of the store sees it.
    pub(super) fn at(self, place: &str) -> StoreError {
        match self {
            Self::Store(error) => error,
            Self::Pooler => StoreError::Unusable(pooler(place)),
            Self::OtherStore => StoreError::unavailable(format!(
                "PostgreSQL at {place}: the schema randflake was replaced meanwhile"
            )),
            Self::Sql(error) if is_of_a_pooler(&error) => StoreError::Unusable(pooler(place)),
            Self::Sql(error) => match tls::refusal(&error) {
                Some(why) => StoreError::Unusable(format!("PostgreSQL at {place}: {why}")),
                None if is_lasting(&error) => {
                    StoreError::Unusable(AtPlace::new(place, error).to_string())
                }
                None => StoreError::unavailable(AtPlace::new(place, error)),
            },
            Self::TimeOut => {
                StoreError::unavailable(format!("PostgreSQL at {place}: no answer in time"))
            }
        }
    }
}

fn pooler(place: &str) -> String {
    format!(
        "PostgreSQL at {place}: a connection pooler in transaction mode gives each statement another session, \
         but the store needs one of its own: let it pool sessions (PgBouncer: pool_mode=session), or connect \
         to the server itself"
    )
}

/// Of a statement that was prepared in another session.
fn is_of_a_pooler(error: &tokio_postgres::Error) -> bool {
    error.code().is_some_and(|code| {
        [
            SqlState::INVALID_SQL_STATEMENT_NAME,
            SqlState::DUPLICATE_PSTATEMENT,
        ]
        .contains(code)
    })
}

/// Whether trying again cannot help.
fn is_lasting(error: &tokio_postgres::Error) -> bool {
    const LASTING: [SqlState; 6] = [
        SqlState::INVALID_PASSWORD,
        SqlState::INVALID_AUTHORIZATION_SPECIFICATION,
        SqlState::INVALID_CATALOG_NAME,
        SqlState::INSUFFICIENT_PRIVILEGE,
        SqlState::FEATURE_NOT_SUPPORTED,
        SqlState::SYNTAX_ERROR,
    ];
    error.code().is_some_and(|code| LASTING.contains(code))
}

#[derive(Debug)]
struct AtPlace {
    place: String,
    source: tokio_postgres::Error,
}

impl AtPlace {
    fn new(place: &str, source: tokio_postgres::Error) -> Self {
        let place = place.to_owned();
        Self { place, source }
    }
}

impl Display for AtPlace {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        write!(f, "PostgreSQL at {}: ", self.place)?;
        if let Some(told) = self.source.as_db_error() {
            return f.write_str(told.message());
        }
        write!(f, "{}", self.source)?;
        match self.source.source() {
            Some(cause) => write!(f, ": {cause}"),
            None => Ok(()),
        }
    }
}

impl Error for AtPlace {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        Some(&self.source)
    }
}
