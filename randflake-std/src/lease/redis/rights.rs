//! What the server's user may do.

use redis::{RedisError, Script};

use super::connection::Connection;
use crate::lease::StoreError;

/// Finds out whether the user may load scripts, which look for the other rights themselves.
pub(super) fn check(connection: &mut Connection, scripts: [&Script; 2]) -> Result<(), StoreError> {
    // A script that the server knows is not loaded, until it has forgotten it.
    for script in scripts {
        connection.run(|redis| script.prepare_invoke().load(redis))?;
    }
    Ok(())
}

/// The rights that the user lacks, if that is what the server or a script has refused.
pub(super) fn refused(error: &RedisError) -> Option<StoreError> {
    let message = error.to_string();
    let lacking = if error.code() == Some("RIGHTS") {
        error.detail().unwrap_or_default()
    } else {
        // "... no permissions to run the 'script|load' command"
        let (_, command) = message.split_once("no permissions to run the '")?;
        command.split_once('\'')?.0
    };
    let rights: Vec<_> = lacking
        .split(' ')
        .map(|command| format!("+{command}"))
        .collect();
    Some(StoreError::Unusable(format!(
        "the Redis user lacks the rights {}: the documentation of RedisStore has the line ACL SETUSER with \
         all of them",
        rights.join(" ")
    )))
}
