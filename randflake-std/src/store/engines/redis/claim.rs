//! Which namespace took a secret first.

use redis::{ErrorKind, RedisError, RedisResult, Script, ServerErrorKind};

use super::connection::{Connection, RedisSession};
use crate::vocabulary::EngineError;

/// Puts the claim of a check value unless there is one; returns the one that is there then.
///
/// In a cluster the key may be another node's. That one is asked: two namespaces on two nodes meet only there.
pub(super) fn claim(
    connection: &mut Connection,
    check: u32,
    text: &str,
) -> Result<String, EngineError> {
    let script = Script::new(include_str!("claim.lua"));
    let mut call = script.key(format!("randflake:key:{check:08x}"));
    call.arg(text);
    let invoke = |open: &mut RedisSession| call.invoke(&mut open.redis);
    let there = connection.run(|open| match invoke(open) {
        Err(error) => moved_to(error).map(Err),
        claim => claim.map(Ok),
    })?;
    match there {
        Ok(claim) => Ok(claim),
        Err(node) => connection.elsewhere(&node)?.run(invoke),
    }
}

/// The node that has the key.
fn moved_to(error: RedisError) -> RedisResult<String> {
    let is_moved = error.kind() == ErrorKind::Server(ServerErrorKind::Moved);
    match error.redirect_node().filter(|_| is_moved) {
        Some((node, _)) => Ok(node.to_owned()),
        None => Err(error),
    }
}
