//! Encrypted connections to MySQL and MariaDB, by rustls.

use mysql_async::SslOpts;
use randflake_lease::EngineError;
use randflake_lease::unstable::tls::Files;

/// The files are read for each connection: certificates are replaced before they expire.
#[cfg(feature = "tls")]
pub(crate) fn options(files: &Files) -> Result<SslOpts, EngineError> {
    use mysql_async::ClientIdentity;
    use randflake_lease::unstable::tls::choose_provider;
    use rustls::RootCertStore;

    choose_provider();
    // The crate refuses all certificates if it cannot read one of them, and the operating system
    // may have such.
    let trusted = files
        .trusted()?
        .into_iter()
        .filter(|certificate: &_| {
            let certificate = Clone::clone(certificate);
            RootCertStore::empty().add(certificate).is_ok()
        })
        .map(|certificate| certificate.to_vec().into());
    let options = SslOpts::default()
        .with_disable_built_in_roots(true)
        .with_root_certs(trusted.collect());
    // By content: a path the crate would read in a thread of its own.
    let identity = files
        .identity_pem()?
        .map(|(certificate, key)| ClientIdentity::new(certificate.into(), key.into()));
    Ok(options.with_client_identity(identity))
}

#[cfg(not(feature = "tls"))]
pub(crate) fn options(_: &Files) -> Result<SslOpts, EngineError> {
    Err(randflake_lease::unstable::tls::without_tls())
}
