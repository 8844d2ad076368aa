//! Errors of the server and its client, sorted, with what to change.

use core::error::Error as _;

use tokio_postgres::Error;
use tokio_postgres::error::SqlState;

use randflake_sql::{DatabaseFailure, Sort, pooled};

/// Errors of a statement that was prepared in another session.
const OF_A_POOLER: [SqlState; 2] = [
    SqlState::INVALID_SQL_STATEMENT_NAME,
    SqlState::DUPLICATE_PSTATEMENT,
];

/// What errors of the server mean that do not pass.
const SORTS: [(SqlState, Sort); 14] = [
    (SqlState::INVALID_PASSWORD, Sort::Lasting),
    (SqlState::INVALID_AUTHORIZATION_SPECIFICATION, Sort::Lasting),
    (SqlState::INVALID_CATALOG_NAME, Sort::Lasting),
    (SqlState::INSUFFICIENT_PRIVILEGE, Sort::Lasting),
    (SqlState::FEATURE_NOT_SUPPORTED, Sort::Lasting),
    (SqlState::SYNTAX_ERROR, Sort::Lasting),
    (SqlState::UNDEFINED_OBJECT, Sort::Lasting),
    (SqlState::UNDEFINED_FUNCTION, Sort::Lasting),
    (SqlState::UNDEFINED_COLUMN, Sort::Lasting),
    // What is not as expected ends a write by it.
    (SqlState::DIVISION_BY_ZERO, Sort::Overtaken),
    (SqlState::T_R_DEADLOCK_DETECTED, Sort::Overtaken),
    (SqlState::T_R_SERIALIZATION_FAILURE, Sort::Overtaken),
    // No tables: at the start they are to be made; a write was not done.
    (SqlState::UNDEFINED_TABLE, Sort::Overtaken),
    (SqlState::INVALID_SCHEMA_NAME, Sort::Overtaken),
];

/// What an error of the client or its server means.
pub(crate) fn failure(error: Error) -> DatabaseFailure {
    // A session that is the store's own has all that the store has prepared and set.
    if error.code().is_some_and(|code| OF_A_POOLER.contains(code)) {
        return DatabaseFailure::of_the_connection(pooled().because(error));
    }
    if let Some(why) = mistake(&error) {
        return DatabaseFailure::of_client(error, Sort::Lasting, why);
    }
    let sort = SORTS.iter().find(|(code, _)| error.code() == Some(code));
    // The client's own words around the server's message repeat that it is an error of the
    // database.
    let message = match (error.as_db_error(), error.source()) {
        (Some(reply), _) => reply.message().to_owned(),
        (None, Some(cause)) => format!("{error}: {cause}"),
        (None, None) => error.to_string(),
    };
    DatabaseFailure::of_client(
        error,
        sort.map_or(Sort::Passing, |(_, sort)| *sort),
        message,
    )
}

/// Failure of a login.
pub(crate) fn of_login(error: Error) -> DatabaseFailure {
    match error
        .as_db_error()
        .map(|reply| (reply.code(), reply.message()))
    {
        // Of an operation, the same code may pass; here it is `template0`, or `ALLOW_CONNECTIONS`
        // is off.
        Some((code, message)) if *code == SqlState::OBJECT_NOT_IN_PREREQUISITE_STATE => {
            let message = message.to_owned();
            DatabaseFailure::of_client(error, Sort::Lasting, message)
        }
        _ => failure(error),
    }
}

/// What somebody has to change in the URL or the server, where their words do not say it.
fn mistake(error: &Error) -> Option<String> {
    if let Some(reply) = error.as_db_error() {
        // What servers lack that are older, or only speak the protocol.
        let lacks_setting = *reply.code() == SqlState::UNDEFINED_OBJECT
            && reply.message().contains("configuration parameter");
        return lacks_setting.then(|| {
            format!(
                "{}: PostgreSQL 12 or later is needed; other databases that speak its protocol, such as CockroachDB and \
                 Redshift, cannot be used",
                reply.message()
            )
        });
    }
    // The client has no codes for its own errors.
    let cause = error.source().map(ToString::to_string).unwrap_or_default();
    match (&*error.to_string(), &*cause) {
        ("invalid configuration", "password missing") => Some(
            "the server asks for a password, and the URL has none: postgres://USER:PASSWORD@HOST/DATABASE".to_owned(),
        ),
        ("error performing TLS handshake", "server does not support TLS") => Some(
            "the server takes no encrypted connections: set ssl=on in its configuration, or write sslmode=disable for a \
             plain connection"
                .to_owned(),
        ),
        ("authentication error", cause) => Some(format!(
            "{cause}: the store logs in with a password (scram-sha-256, md5) or a certificate; GSSAPI, SSPI and Kerberos \
             are not supported: change the line of this user in pg_hba.conf"
        )),
        _ => None,
    }
}
