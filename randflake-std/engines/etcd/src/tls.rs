//! Encrypted connections to etcd, by rustls.

#[cfg(feature = "tls")]
use core::error::Error;

use randflake_lease::EngineError;
use randflake_lease::unstable::tls::{self, Files};
use ureq::config::ConfigBuilder;
use ureq::typestate::AgentScope;

/// The settings of a client that encrypts.
#[cfg(feature = "tls")]
pub(crate) fn encrypted(
    config: ConfigBuilder<AgentScope>,
    files: &Files,
) -> Result<ConfigBuilder<AgentScope>, EngineError> {
    use std::sync::Arc;

    use rustls::crypto::ring;
    use ureq::tls::{Certificate, RootCerts, TlsConfig};

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

#[cfg(feature = "tls")]
fn client(files: &Files) -> Result<Option<ureq::tls::ClientCert>, EngineError> {
    use ureq::tls::{Certificate, ClientCert, PrivateKey};

    let (Some((certificates, _)), Some((_, key))) = (files.identity()?, files.identity_pem()?)
    else {
        return Ok(None);
    };
    let certificates: Vec<_> = certificates
        .iter()
        .map(|certificate| Certificate::from_der(certificate).to_owned())
        .collect();
    let key = PrivateKey::from_pem(&key).map_err(|error| {
        EngineError::failed_precondition(format!("sslcert and sslkey: {error}"))
    })?;
    Ok(Some(ClientCert::new_with_certs(&certificates, key)))
}

#[cfg(not(feature = "tls"))]
pub(crate) fn encrypted(
    _: ConfigBuilder<AgentScope>,
    _: &Files,
) -> Result<ConfigBuilder<AgentScope>, EngineError> {
    Err(tls::without_tls())
}

/// Sentence on why encryption failed, if an error is of that.
#[cfg(feature = "tls")]
pub(crate) fn refusal(error: &ureq::Error) -> Option<String> {
    let cause: &(dyn Error + 'static) = match error {
        ureq::Error::Io(error) => error,
        ureq::Error::Rustls(error) => error,
        _ => return None,
    };
    tls::refusal(cause)
}

#[cfg(not(feature = "tls"))]
pub(crate) fn refusal(_: &ureq::Error) -> Option<String> {
    None
}
