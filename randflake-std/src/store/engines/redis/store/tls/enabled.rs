//! Encrypted connections to Redis.

use redis::{Client, ClientTlsConfig, ConnectionInfo, TlsCertificates};

use crate::store::encryption::{Files, choose_provider};
use crate::vocabulary::EngineError;

pub(in super::super) fn client(
    server: ConnectionInfo,
    files: &Files,
) -> Result<Client, EngineError> {
    choose_provider();
    let identity = files.identity_pem()?;
    let certificates = TlsCertificates {
        client_tls: identity.map(|(client_cert, client_key)| ClientTlsConfig {
            client_cert,
            client_key,
        }),
        root_cert: files.root_pem()?,
    };
    Client::build_with_tls(server, certificates)
        .map_err(|error| EngineError::unusable(format!("TLS for Redis: {error}")))
}
