//! Why an operation failed, and what becomes of its connection.

use tokio::time::error::Elapsed;

use crate::lease::{EngineError, EngineErrorKind};

/// Why an operation failed; where it was is not said yet.
#[derive(Debug)]
pub(in crate::lease) struct Failure {
    error: EngineError,
    origin: Origin,
}

#[derive(Debug, PartialEq, Eq)]
enum Origin {
    /// Another connection might do better, at once.
    Connection,
    /// The server. A late answer would be taken for the next one's.
    Server,
    /// What was found there, over a connection that works.
    Store,
}

impl Failure {
    /// What the server or the client says.
    pub(in crate::lease) fn of_the_connection(error: EngineError) -> Self {
        let origin = match error.kind() {
            EngineErrorKind::Unavailable => Origin::Connection,
            EngineErrorKind::Unusable => Origin::Server,
        };
        Self { error, origin }
    }

    pub(super) fn is_of_the_connection(&self) -> bool {
        self.origin == Origin::Connection
    }

    pub(super) fn is_of_the_store(&self) -> bool {
        self.origin == Origin::Store
    }

    pub(super) fn at(self, place: &str) -> EngineError {
        self.error.at(place)
    }
}

/// Other sessions of the server answer than the one that was set up.
pub(in crate::lease) fn pooled() -> EngineError {
    EngineError::unusable(
        "a connection pooler in transaction mode gives each statement another session, but the store needs one of \
         its own: let it pool sessions (PgBouncer: pool_mode=session), or connect to the server itself",
    )
}

/// The tables are not as they were made.
pub(in crate::lease) fn changed(how: &str) -> EngineError {
    EngineError::unusable(format!(
        "the lease store was changed: {how}, which no randflake has made: remove it"
    ))
}

/// What the store itself refuses leaves the connection as it was.
impl From<EngineError> for Failure {
    fn from(error: EngineError) -> Self {
        let origin = Origin::Store;
        Self { error, origin }
    }
}

impl From<Elapsed> for Failure {
    fn from(_: Elapsed) -> Self {
        Self {
            error: EngineError::unavailable("no answer in time"),
            origin: Origin::Server,
        }
    }
}
