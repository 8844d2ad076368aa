//! Encrypted connections to MySQL and MariaDB, by rustls.

use mysql_async::{ClientIdentity, SslOpts};
use rustls::RootCertStore;

use crate::store::encryption::{Files, choose_provider};
use crate::vocabulary::EngineError;

/// The files are read for each connection: certificates are replaced before they expire.
pub(in super::super) fn options(files: &Files) -> Result<SslOpts, EngineError> {
    choose_provider();
    // The crate refuses all certificates where it cannot read one of them, and the operating system may have such.
    let is_readable = |certificate: &_| {
        let certificate = Clone::clone(certificate);
        RootCertStore::empty().add(certificate).is_ok()
    };
    let trusted = files.trusted()?.into_iter().filter(is_readable);
    let trusted = trusted.map(|certificate| certificate.to_vec().into());
    let options = SslOpts::default()
        .with_disable_built_in_roots(true)
        .with_root_certs(trusted.collect());
    // By content: a path the crate would read in a thread of its own.
    let identity = files.identity_pem()?;
    let identity =
        identity.map(|(certificate, key)| ClientIdentity::new(certificate.into(), key.into()));
    Ok(options.with_client_identity(identity))
}
