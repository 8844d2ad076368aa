//! What can go wrong with a server.

use core::error::Error as _;

use tokio_postgres::Error;
use tokio_postgres::error::SqlState;

use crate::store::engines::database::{DatabaseFailure, Sort, pooled};

/// Errors of a statement that was prepared, or a setting that was made, in another session.
const OF_A_POOLER: [SqlState; 3] = [
    SqlState::INVALID_SQL_STATEMENT_NAME,
    SqlState::DUPLICATE_PSTATEMENT,
    SqlState::UNDEFINED_OBJECT,
];

/// What errors of the server mean that do not pass.
const SORTS: [(SqlState, Sort); 11] = [
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
    // No tables: at the start they are to be made; a write was not done.
    (SqlState::UNDEFINED_TABLE, Sort::Overtaken),
    (SqlState::INVALID_SCHEMA_NAME, Sort::Overtaken),
];

impl From<Error> for DatabaseFailure {
    fn from(error: Error) -> Self {
        // A session that is the store's own has all that the store has prepared and set.
        if error.code().is_some_and(|code| OF_A_POOLER.contains(code)) {
            return Self::of_the_connection(pooled().because(error));
        }
        let sort = SORTS.iter().find(|(code, _)| error.code() == Some(code));
        // The client's own words around the server's message repeat that it is an error of the database.
        let message = match (error.as_db_error(), error.source()) {
            (Some(reply), _) => reply.message().to_owned(),
            (None, Some(cause)) => format!("{error}: {cause}"),
            (None, None) => error.to_string(),
        };
        Self::of_client(
            error,
            sort.map_or(Sort::Passing, |(_, sort)| *sort),
            message,
        )
    }
}
