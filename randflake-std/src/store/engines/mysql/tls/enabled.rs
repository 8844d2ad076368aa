//! Encrypted connections to MySQL and MariaDB, by rustls.

use std::fs;
use std::path::Path;

use mysql_async::{ClientIdentity, SslOpts};
use rustls::RootCertStore;
use rustls::crypto::{CryptoProvider, ring};

use crate::store::encryption::Files;
use crate::vocabulary::EngineError;

/// The files are read for each connection: certificates are replaced before they expire.
pub(in crate::store::engines::mysql) fn options(files: &Files) -> Result<SslOpts, EngineError> {
    // The crate takes the process's provider, and cannot choose where a program has two.
    if CryptoProvider::get_default().is_none() {
        let _somebody_was_first = ring::default_provider().install_default();
    }
    // One that it cannot read would be the end of all of them.
    let is_readable = |certificate: &_| {
        let certificate = Clone::clone(certificate);
        RootCertStore::empty().add(certificate).is_ok()
    };
    let trusted = files.trusted()?.into_iter().filter(is_readable);
    let trusted = trusted.map(|certificate| certificate.to_vec().into());
    let options = SslOpts::default()
        .with_disable_built_in_roots(true)
        .with_root_certs(trusted.collect());
    // Here what is wrong with a file is told with its name.
    files.read_client()?;
    let Some((certificate, key)) = files.client() else {
        return Ok(options);
    };
    let identity = ClientIdentity::new(content(certificate)?.into(), content(key)?.into());
    Ok(options.with_client_identity(Some(identity)))
}

/// A path the crate would read in a thread of its own.
fn content(path: &Path) -> Result<Vec<u8>, EngineError> {
    fs::read(path).map_err(EngineError::unavailable)
}
