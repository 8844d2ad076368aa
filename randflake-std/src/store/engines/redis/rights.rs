//! What the server's user may do.

use redis::{Cmd, ErrorKind, RedisError, RedisResult, Script, ServerErrorKind, Value, cmd};

use crate::vocabulary::EngineError;

/// Finds out whether the user may run each command, by calls that change nothing.
pub(super) fn check(redis: &mut redis::Connection, script: &Script, hash: &str) -> RedisResult<()> {
    // One that the server knows is not loaded, until it has forgotten it.
    script.load(redis)?;
    let call = |name, arguments: &[&str]| cmd(name).arg(arguments).to_owned();
    let calls: [Cmd; 6] = [
        call("INFO", &["replication"]),
        call("TIME", &[]),
        call("HMGET", &[hash, "-"]),
        call("HSCAN", &[hash, "0"]),
        // The first lacks a value, and the second's script is none: both are refused once the right is there.
        call("HSET", &[hash, "-", "-", "-"]),
        call("EVALSHA", &[&"0".repeat(40), "0"]),
    ];
    for call in calls {
        match call.query::<Value>(redis) {
            Err(error) if is_lacking(&error) || error.code().is_none() => return Err(error),
            _ => {}
        }
    }
    Ok(())
}

fn is_lacking(error: &RedisError) -> bool {
    error.kind() == ErrorKind::Server(ServerErrorKind::NoPerm)
}

/// A script was refused, without a word on what it lacks.
pub(super) fn is_unnamed(error: &RedisError) -> bool {
    error
        .detail()
        .is_some_and(|detail| detail.contains("can't run this command"))
}

/// The right that the user lacks, if that is what the server has refused.
pub(super) fn refused(error: &RedisError) -> Option<EngineError> {
    let message = error.to_string();
    if message.contains("permissions to access") {
        return Some(EngineError::unusable(
            "the Redis user has no right to a key of the store: those of a namespace and of its secret are \
             ~randflake:{NAME} and ~randflake:key:*",
        ));
    }
    // "... no permissions to run the 'script|load' command"
    let (_, command) = message.split_once("no permissions to run the '")?;
    let (command, _) = command.split_once('\'')?;
    Some(EngineError::unusable(format!(
        "the Redis user lacks the right +{command}: the documentation of RedisStore has the line ACL SETUSER with \
         all of them"
    )))
}
