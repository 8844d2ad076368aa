//! What can go wrong with a server, sorted by whether another try may succeed.

use core::error::Error;

use tokio_postgres::error::SqlState;

use crate::lease::EngineError;
use crate::lease::database::{Failure, pooled};
use crate::lease::encryption;

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

impl From<tokio_postgres::Error> for Failure {
    fn from(error: tokio_postgres::Error) -> Self {
        let is_one_of = |codes: &[SqlState]| error.code().is_some_and(|code| codes.contains(code));
        let kind = if is_one_of(&OF_A_POOLER) {
            pooled()
        } else if let Some(refusal) = encryption::refusal(&error) {
            EngineError::unusable(refusal)
        } else if is_one_of(&LASTING) {
            EngineError::unusable(told(&error))
        } else {
            EngineError::unavailable(told(&error))
        };
        Self::of_the_connection(kind.because(error))
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

pub(super) fn emptied() -> EngineError {
    EngineError::unusable("the schema randflake was damaged: store is empty")
}
