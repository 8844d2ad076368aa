//! A build without encryption.

use tokio_postgres::NoTls;

use crate::store::encryption::{Files, without_tls};
use crate::vocabulary::EngineError;

pub(in super::super) fn connector(_: &Files) -> Result<NoTls, EngineError> {
    Err(without_tls())
}
