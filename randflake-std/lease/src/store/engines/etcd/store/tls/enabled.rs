//! Encrypted connections to etcd.

use core::error::Error;
use std::sync::Arc;

use rustls::crypto::ring;
use ureq::config::ConfigBuilder;
use ureq::tls::{Certificate, ClientCert, PrivateKey, RootCerts, TlsConfig};
use ureq::typestate::AgentScope;

use crate::store::encryption::{self, Files};
use crate::vocabulary::EngineError;

pub(in super::super) fn encrypted(
    config: ConfigBuilder<AgentScope>,
    files: &Files,
) -> Result<ConfigBuilder<AgentScope>, EngineError> {
    let trusted = files.trusted()?;
    let trusted = trusted
        .iter()
        .map(|certificate| Certificate::from_der(certificate).to_owned());
    let tls = TlsConfig::builder()
        .root_certs(RootCerts::Specific(Arc::new(trusted.collect())))
        .client_cert(client(files)?)
        // By name: the choice for the process is the application's.
        .unversioned_rustls_crypto_provider(Arc::new(ring::default_provider()))
        .build();
    Ok(config.tls_config(tls))
}

fn client(files: &Files) -> Result<Option<ClientCert>, EngineError> {
    let (Some((certificates, _)), Some((_, key))) = (files.identity()?, files.identity_pem()?)
    else {
        return Ok(None);
    };
    let certificates: Vec<_> = certificates
        .iter()
        .map(|certificate| Certificate::from_der(certificate).to_owned())
        .collect();
    let key = PrivateKey::from_pem(&key)
        .map_err(|error| EngineError::unusable(format!("sslcert and sslkey: {error}")))?;
    Ok(Some(ClientCert::new_with_certs(&certificates, key)))
}

pub(in super::super) fn refusal(error: &ureq::Error) -> Option<String> {
    let cause: &(dyn Error + 'static) = match error {
        ureq::Error::Io(error) => error,
        ureq::Error::Rustls(error) => error,
        _ => return None,
    };
    encryption::refusal(cause)
}
