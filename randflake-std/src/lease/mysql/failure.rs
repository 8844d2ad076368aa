//! What can go wrong with a server, sorted into what its callers can do about it.

use core::error::Error;
use core::fmt::{self, Display, Formatter};

use mysql::Opts;

use super::tls;
use crate::lease::StoreError;

/// Why an operation failed.
#[derive(Debug)]
pub(super) enum Failure {
    /// The server or the connection to it failed.
    Sql(mysql::Error),
    /// The store refuses.
    Store(StoreError),
}

impl From<mysql::Error> for Failure {
    fn from(error: mysql::Error) -> Self {
        Self::Sql(error)
    }
}

impl From<StoreError> for Failure {
    fn from(error: StoreError) -> Self {
        Self::Store(error)
    }
}

impl Failure {
    /// Whether another connection might do better, at once: not after a time limit has passed.
    pub(super) fn is_of_the_connection(&self) -> bool {
        match self {
            Self::Sql(mysql::Error::IoError(error)) => !matches!(
                error.kind(),
                std::io::ErrorKind::TimedOut | std::io::ErrorKind::WouldBlock
            ),
            Self::Sql(error) => !is_lasting(error),
            Self::Store(_) => false,
        }
    }

    /// The error as a caller of the store sees it.
    pub(super) fn at(self, place: &str, options: &Opts) -> StoreError {
        match self {
            Self::Store(error) => error,
            Self::Sql(error) => match tls::refusal(&error) {
                Some(why) => StoreError::Unusable(format!("MySQL at {place}: {why}")),
                None if is_lasting(&error) => {
                    let hint = if is_denied(&error) && options.get_ssl_opts().is_none() {
                        ": if the server takes encrypted connections only, take sslmode=verify-full"
                    } else {
                        ""
                    };
                    StoreError::Unusable(format!("{}{hint}", AtPlace::new(place, error)))
                }
                None => StoreError::unavailable(AtPlace::new(place, error)),
            },
        }
    }
}

/// Which is all that `MariaDB` says to who does not encrypt and should.
fn is_denied(error: &mysql::Error) -> bool {
    let denied = mysql::ServerError::ER_ACCESS_DENIED_ERROR as u16;
    matches!(error, mysql::Error::MySqlError(told) if told.code == denied)
}

/// Whether trying again cannot help.
fn is_lasting(error: &mysql::Error) -> bool {
    use mysql::ServerError::{
        ER_ACCESS_DENIED_ERROR, ER_BAD_DB_ERROR, ER_DBACCESS_DENIED_ERROR, ER_PARSE_ERROR,
        ER_PROCACCESS_DENIED_ERROR, ER_TABLEACCESS_DENIED_ERROR,
    };
    const LASTING: [u16; 6] = [
        ER_ACCESS_DENIED_ERROR as u16,
        ER_BAD_DB_ERROR as u16,
        ER_DBACCESS_DENIED_ERROR as u16,
        ER_PARSE_ERROR as u16,
        ER_PROCACCESS_DENIED_ERROR as u16,
        ER_TABLEACCESS_DENIED_ERROR as u16,
    ];
    matches!(error, mysql::Error::MySqlError(told) if LASTING.contains(&told.code))
}

#[derive(Debug)]
struct AtPlace {
    place: String,
    source: mysql::Error,
}

impl AtPlace {
    fn new(place: &str, source: mysql::Error) -> Self {
        let place = place.to_owned();
        Self { place, source }
    }
}

impl Display for AtPlace {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        write!(f, "MySQL at {}: ", self.place)?;
        match &self.source {
            mysql::Error::MySqlError(told) => f.write_str(&told.message),
            mysql::Error::IoError(error) => write!(f, "{error}"),
            mysql::Error::DriverError(error) => write!(f, "{error}"),
            error => write!(f, "{error}"),
        }
    }
}

impl Error for AtPlace {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        Some(&self.source)
    }
}
