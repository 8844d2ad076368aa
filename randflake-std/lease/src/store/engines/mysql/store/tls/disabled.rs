//! A build without encryption.

use mysql_async::SslOpts;

use crate::store::encryption::{Files, without_tls};
use crate::vocabulary::EngineError;

pub(in super::super) fn options(_: &Files) -> Result<SslOpts, EngineError> {
    Err(without_tls())
}
