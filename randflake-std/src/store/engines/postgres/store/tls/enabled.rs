//! Encrypted connections to PostgreSQL, by rustls.

use std::sync::Arc;

use rustls::crypto::ring;
use rustls::{ClientConfig, RootCertStore};
use tokio_postgres_rustls::MakeRustlsConnect;

use crate::store::encryption::Files;
use crate::vocabulary::EngineError;

/// The files are read for each connection: certificates are replaced before they expire.
pub(in super::super) fn connector(files: &Files) -> Result<MakeRustlsConnect, EngineError> {
    let mut roots = RootCertStore::empty();
    // An operating system may trust a certificate that rustls cannot read: the others count.
    roots.add_parsable_certificates(files.trusted()?);
    // A provider by name: the choice for the process is the application's.
    let tls = ClientConfig::builder_with_provider(Arc::new(ring::default_provider()))
        .with_safe_default_protocol_versions()
        .map_err(EngineError::unavailable)?
        .with_root_certificates(roots);
    let tls = match files.identity()? {
        Some((certificates, key)) => tls
            .with_client_auth_cert(certificates, key)
            .map_err(|error| EngineError::unusable(format!("sslcert and sslkey: {error}")))?,
        None => tls.with_no_client_auth(),
    };
    Ok(MakeRustlsConnect::new(tls))
}
