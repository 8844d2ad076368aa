//! TLS by rustls, with the certificates that the operating system trusts.

use std::sync::Arc;

use rustls::crypto::ring;
use rustls::{ClientConfig, RootCertStore};
use tokio::task::JoinHandle;
use tokio_postgres::{Client, Config};
use tokio_postgres_rustls::MakeRustlsConnect;

use crate::lease::StoreError;
use crate::lease::postgres::failure::Failure;

pub(super) async fn connect_encrypted(
    config: &Config,
) -> Result<(Client, JoinHandle<()>), Failure> {
    let mut roots = RootCertStore::empty();
    roots.add_parsable_certificates(rustls_native_certs::load_native_certs().certs);
    if roots.is_empty() {
        let sentence = "no trusted certificates were found on this machine: install them, or name a \
                        file of them in SSL_CERT_FILE";
        return Err(StoreError::Unusable(sentence.to_owned()).into());
    }
    let tls = ClientConfig::builder_with_provider(Arc::new(ring::default_provider()))
        .with_safe_default_protocol_versions()
        .map_err(StoreError::unavailable)?
        .with_root_certificates(roots)
        .with_no_client_auth();
    let (client, connection) = config.connect(MakeRustlsConnect::new(tls)).await?;
    Ok((client, tokio::spawn(async move { _ = connection.await })))
}
