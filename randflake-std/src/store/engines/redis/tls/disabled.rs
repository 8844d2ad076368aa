//! No encrypted connections in this build.

use redis::{Client, ConnectionInfo};

use crate::store::encryption::Files;
use crate::vocabulary::EngineError;

pub(in super::super) fn client(_: ConnectionInfo, _: &Files) -> Result<Client, EngineError> {
    Err(EngineError::unusable(
        "this build has no TLS for Redis: build it with the cargo feature `redis-tls`",
    ))
}
