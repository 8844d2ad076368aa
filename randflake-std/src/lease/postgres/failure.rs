//! What can go wrong with a server, sorted by whether another try may succeed.

use core::error::Error;

use tokio::time::error::Elapsed;
use tokio_postgres::error::SqlState;

use super::tls;
use crate::lease::{EngineError, EngineErrorKind, StoreError};

/// Why an operation failed; where it was is not said yet.
#[derive(Debug)]
pub(super) struct Failure(pub(super) EngineError);

/// By a pooler that lets statements of one connection meet several sessions.
pub(super) const POOLER: &str = "a connection pooler in transaction mode gives each statement another session, but \
    the store needs one of its own: let it pool sessions (PgBouncer: pool_mode=session), or connect to the server \
    itself";

/// Of a statement that was prepared in another session.
const OF_A_POOLER: [SqlState; 2] = [
    SqlState::INVALID_SQL_STATEMENT_NAME,
    SqlState::DUPLICATE_PSTATEMENT,
];

/// Trying again cannot help.
const LASTING: [SqlState; 6] = [
    SqlState::INVALID_PASSWORD,
    SqlState::INVALID_AUTHORIZATION_SPECIFICATION,
    SqlState::INVALID_CATALOG_NAME,
    SqlState::INSUFFICIENT_PRIVILEGE,
    SqlState::FEATURE_NOT_SUPPORTED,
    SqlState::SYNTAX_ERROR,
];

impl Failure {
    pub(super) fn unusable(sentence: impl Into<String>) -> Self {
        Self(EngineError::unusable(sentence))
    }

    /// Whether another connection might do better, at once.
    pub(super) fn may_pass(&self) -> bool {
        self.0.kind() == EngineErrorKind::Unavailable
    }

    pub(super) fn damaged(how: &str) -> Self {
        Self::unusable(format!("the schema randflake was damaged: {how}"))
    }

    pub(super) fn emptied() -> Self {
        Self::damaged("store is empty")
    }
}

impl From<EngineError> for Failure {
    fn from(error: EngineError) -> Self {
        Self(error)
    }
}

/// Of the runtime, and of the files that the URL names.
impl From<StoreError> for Failure {
    fn from(error: StoreError) -> Self {
        match error {
            StoreError::Unavailable(source) => Self(EngineError::unavailable(source)),
            lasting => Self::unusable(lasting.to_string()),
        }
    }
}

impl From<Elapsed> for Failure {
    fn from(_: Elapsed) -> Self {
        Self(EngineError::unavailable("no answer in time"))
    }
}

impl From<tokio_postgres::Error> for Failure {
    fn from(error: tokio_postgres::Error) -> Self {
        let is_one_of = |codes: &[SqlState]| error.code().is_some_and(|code| codes.contains(code));
        let lasting = if is_one_of(&OF_A_POOLER) {
            Some(POOLER.to_owned())
        } else {
            tls::refusal(&error).or_else(|| is_one_of(&LASTING).then(|| told(&error)))
        };
        let kind = match lasting {
            Some(sentence) => EngineError::unusable(sentence),
            None => EngineError::unavailable(told(&error)),
        };
        Self(kind.because(error))
    }
}

/// What the server says, or else what the client says and why.
fn told(error: &tokio_postgres::Error) -> String {
    match (error.as_db_error(), error.source()) {
        (Some(told), _) => told.message().to_owned(),
        (None, Some(cause)) => format!("{error}: {cause}"),
        (None, None) => error.to_string(),
    }
}
