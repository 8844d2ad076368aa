//! What can go wrong with a server.

use core::error::Error as _;

use tokio_postgres::Error;
use tokio_postgres::error::SqlState;

use crate::lease::database::{Failure, Sort};

/// What errors of the server mean that do not pass.
const SORTS: [(SqlState, Sort); 13] = [
    (SqlState::INVALID_SQL_STATEMENT_NAME, Sort::Pooled),
    (SqlState::DUPLICATE_PSTATEMENT, Sort::Pooled),
    (SqlState::INVALID_PASSWORD, Sort::Lasting),
    (SqlState::INVALID_AUTHORIZATION_SPECIFICATION, Sort::Lasting),
    (SqlState::INVALID_CATALOG_NAME, Sort::Lasting),
    (SqlState::INSUFFICIENT_PRIVILEGE, Sort::Lasting),
    (SqlState::FEATURE_NOT_SUPPORTED, Sort::Lasting),
    (SqlState::SYNTAX_ERROR, Sort::Lasting),
    // What is not as expected ends a write by it.
    (SqlState::DIVISION_BY_ZERO, Sort::Overtaken),
    (SqlState::T_R_DEADLOCK_DETECTED, Sort::Overtaken),
    (SqlState::T_R_SERIALIZATION_FAILURE, Sort::Overtaken),
    (SqlState::UNDEFINED_TABLE, Sort::Overtaken),
    (SqlState::INVALID_SCHEMA_NAME, Sort::Overtaken),
];

impl From<Error> for Failure {
    fn from(error: Error) -> Self {
        let sort = SORTS.iter().find(|(code, _)| error.code() == Some(code));
        let message = match (error.as_db_error(), error.source()) {
            (Some(told), _) => told.message().to_owned(),
            (None, Some(cause)) => format!("{error}: {cause}"),
            (None, None) => error.to_string(),
        };
        Self::told(
            error,
            sort.map_or(Sort::Passing, |(_, sort)| *sort),
            message,
        )
    }
}
