//! Encrypted connections to PostgreSQL, by rustls.

use randflake_lease::EngineError;
use randflake_lease::unstable::tls::Files;
#[cfg(not(feature = "tls"))]
use tokio_postgres::NoTls;
#[cfg(feature = "tls")]
use tokio_postgres_rustls::MakeRustlsConnect;

/// The files are read for each connection: certificates are replaced before they expire.
#[cfg(feature = "tls")]
pub(crate) fn connector(files: &Files) -> Result<MakeRustlsConnect, EngineError> {
    Ok(MakeRustlsConnect::new(files.client_config()?))
}

#[cfg(not(feature = "tls"))]
pub(crate) fn connector(_: &Files) -> Result<NoTls, EngineError> {
    Err(randflake_lease::unstable::tls::without_tls())
}
