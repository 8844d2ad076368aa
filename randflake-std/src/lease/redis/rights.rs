//! What the server's user may do.

use redis::{FromRedisValue, Pipeline, RedisError, RedisResult, Script};

use super::connection::Connection;
use crate::lease::StoreError;

/// Finds out whether the user may run what is run beside the scripts, which look for themselves.
pub(super) fn check(connection: &mut Connection, script: &Script) -> Result<(), StoreError> {
    // A script that the server knows is not loaded, until it has forgotten it.
    connection.run(|redis| script.prepare_invoke().load(redis))?;
    connection.run(|redis| {
        let mut one = transaction();
        one.cmd("TIME").ignore();
        ended::<((u64, u64),)>(one, redis)
    })?;
    Ok(())
}

/// The client's own transactions panic where `MULTI` is refused.
pub(super) fn transaction() -> Pipeline {
    let mut transaction = redis::pipe();
    transaction.cmd("MULTI").ignore();
    transaction
}

/// What its commands have answered.
pub(super) fn ended<T: FromRedisValue>(
    mut transaction: Pipeline,
    redis: &mut redis::Connection,
) -> RedisResult<T> {
    let (answers,) = transaction.cmd("EXEC").query(redis)?;
    Ok(answers)
}

/// The rights that the user lacks, by the names of commands.
pub(super) fn lacking(commands: &[impl AsRef<str>]) -> StoreError {
    let rights: Vec<_> = commands
        .iter()
        .map(|command| format!("+{}", command.as_ref()))
        .collect();
    StoreError::Unusable(format!(
        "the Redis user lacks the rights {}: the documentation of RedisStore has the line ACL SETUSER with \
         all of them",
        rights.join(" ")
    ))
}

/// What the server has refused the user, if it is that.
pub(super) fn refused(error: &RedisError) -> Option<StoreError> {
    // In a transaction the error is of another kind.
    let message = error.to_string();
    // "... no permissions to run the 'script|load' command"
    let (_, command) = message.split_once("no permissions to run the '")?;
    let (command, _) = command.split_once('\'')?;
    Some(lacking(&[command]))
}
