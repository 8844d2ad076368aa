//! Refusals of the server: sentences that name the right or the setting that is missing.

use redis::{ErrorKind, RedisError, ServerErrorKind};

use randflake_lease::EngineError;

/// The user may not run a command, or the server has none of that name.
pub(crate) fn is_lacking(error: &RedisError) -> bool {
    error.kind() == ErrorKind::Server(ServerErrorKind::NoPerm) || is_unknown(error)
}

/// The server has no such command, by whatever name a script or a client has called it.
fn is_unknown(error: &RedisError) -> bool {
    error.detail().is_some_and(|detail| {
        let detail = detail.to_ascii_lowercase();
        // A script says `Unknown Redis command called from script`.
        [
            "unknown command",
            "unknown redis command",
            "unknown subcommand",
        ]
        .iter()
        .any(|words| detail.contains(words))
    })
}

/// A script was refused, without a word on what it lacks.
pub(crate) fn is_unnamed(error: &RedisError) -> bool {
    error
        .detail()
        .is_some_and(|detail| detail.contains("can't run this command"))
        || is_unknown(error)
}

/// What somebody has to change, where the server or the URL does not fit.
pub(crate) fn mistake(error: &RedisError, database: u32) -> Option<String> {
    let detail = error.detail().unwrap_or_default();
    match (error.kind(), error.code()) {
        (ErrorKind::InvalidClientConfig, _) => return Some(detail.to_owned()),
        (ErrorKind::AuthenticationFailed, _) => {
            return Some(format!("the server refuses user and password: {detail}"));
        }
        (_, Some("NOAUTH")) => {
            return Some("the server asks for a password: redis://[USER]:PASSWORD@HOST".to_owned());
        }
        _ => {}
    }
    if is_unknown(error) {
        // "unknown command 'TIME', with args beginning with: "; before Redis 7 in backticks.
        let named = detail.split(['\'', '`']).nth(1).map_or_else(
            || "a command".to_owned(),
            |name| format!("the command {name}"),
        );
        return Some(format!(
            "the server does not know {named}: do not rename or disable commands of the store (`rename-command`; \
             the documentation of RedisStore lists them), and name a Redis server, not a proxy or a Sentinel"
        ));
    }
    // A number above 2^31 is none of a database either.
    if detail.contains("DB index") || detail.contains("value is out of range") {
        return Some(format!(
            "the server has no database {database}: it has as many as its setting `databases` says, 16 unless set, \
             which begin with 0"
        ));
    }
    detail.contains("not allowed in cluster mode").then(|| {
        "the server is a node of a cluster, which has database 0 alone: name no other in the URL".to_owned()
    })
}

/// The right that the user lacks, if that is what the server has refused.
pub(crate) fn refused(error: &RedisError) -> Option<EngineError> {
    let message = error.to_string();
    if message.contains("permissions to access") {
        return Some(EngineError::failed_precondition(
            "the Redis user has no right to a key of the store: those of a namespace and of its secret are \
             ~randflake:{NAME}* and ~randflake:key:*",
        ));
    }
    // "... no permissions to run the 'script|load' command"
    let (_, command) = message.split_once("no permissions to run the '")?;
    let (command, _) = command.split_once('\'')?;
    Some(EngineError::failed_precondition(format!(
        "the Redis user lacks the right +{command}: give it by ACL SETUSER NAME +{command}; the documentation of RedisStore \
         lists all rights, and what needs each"
    )))
}
