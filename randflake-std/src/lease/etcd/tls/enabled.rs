//! Encrypted connections, with the certificates that the operating system trusts.

use std::sync::Arc;

use rustls::crypto::ring;
use ureq::config::ConfigBuilder;
use ureq::tls::{Certificate, RootCerts, TlsConfig};
use ureq::typestate::AgentScope;

use crate::lease::StoreError;

#[expect(clippy::unnecessary_wraps, reason = "its twin refuses")]
pub(in super::super) fn encrypted(
    config: ConfigBuilder<AgentScope>,
) -> Result<ConfigBuilder<AgentScope>, StoreError> {
    let trusted = rustls_native_certs::load_native_certs().certs;
    let trusted = trusted
        .iter()
        .map(|certificate| Certificate::from_der(certificate).to_owned());
    let tls = TlsConfig::builder()
        .root_certs(RootCerts::Specific(Arc::new(trusted.collect())))
        .unversioned_rustls_crypto_provider(Arc::new(ring::default_provider()))
        .build();
    Ok(config.tls_config(tls))
}
