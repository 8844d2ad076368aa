//! A build without encryption.

use redis::{Client, ConnectionInfo};

use crate::store::encryption::{Files, without_tls};
use crate::vocabulary::EngineError;

pub(in super::super) fn client(_: ConnectionInfo, _: &Files) -> Result<Client, EngineError> {
    Err(without_tls())
}
