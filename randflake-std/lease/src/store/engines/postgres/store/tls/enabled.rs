//! Encrypted connections to PostgreSQL, by rustls.

use tokio_postgres_rustls::MakeRustlsConnect;

use crate::store::encryption::Files;
use crate::vocabulary::EngineError;

/// The files are read for each connection: certificates are replaced before they expire.
pub(in super::super) fn connector(files: &Files) -> Result<MakeRustlsConnect, EngineError> {
    Ok(MakeRustlsConnect::new(files.client_config()?))
}
