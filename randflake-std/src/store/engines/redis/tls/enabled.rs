//! Encrypted connections to Redis.

use std::fs;
use std::path::Path;

use redis::{Client, ClientTlsConfig, ConnectionInfo, TlsCertificates};
use rustls::crypto::{CryptoProvider, ring};

use crate::store::encryption::Files;
use crate::vocabulary::EngineError;

/// The client takes the cryptography that the process has chosen; so this chooses, if nobody has.
pub(in super::super) fn client(
    server: ConnectionInfo,
    files: &Files,
) -> Result<Client, EngineError> {
    if CryptoProvider::get_default().is_none() {
        let _chosen_meanwhile = ring::default_provider().install_default();
    }
    // It takes the files' text: here what is wrong with a file is told with its name.
    files.read_root()?;
    files.read_client()?;
    let text = |path: &Path| fs::read(path).map_err(EngineError::unavailable);
    let root_cert = files.root().map(text).transpose()?;
    let client_tls = match files.client() {
        Some((certificate, key)) => Some(ClientTlsConfig {
            client_cert: text(certificate)?,
            client_key: text(key)?,
        }),
        None => None,
    };
    let certificates = TlsCertificates {
        client_tls,
        root_cert,
    };
    Client::build_with_tls(server, certificates)
        .map_err(|error| EngineError::unusable(format!("TLS for Redis: {error}")))
}
