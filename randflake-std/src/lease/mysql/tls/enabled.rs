//! TLS by rustls.

use core::error::Error;

use mysql::{ClientIdentity, SslOpts};
use rustls::crypto::{CryptoProvider, ring};

use crate::lease::StoreError;
use crate::lease::encryption::{self, Files};

/// As the URL says. The crate reads the files for each connection: certificates are replaced before they
/// expire.
pub(in crate::lease::mysql) fn options(files: &Files) -> Result<SslOpts, StoreError> {
    // The crate takes the process's provider, and cannot choose where a program has two.
    if CryptoProvider::get_default().is_none() {
        let _somebody_was_first = ring::default_provider().install_default();
    }
    let mut told = SslOpts::default();
    // Here what is wrong with a file is told with its name.
    files.read_root()?;
    files.read_client()?;
    if let Some(path) = files.root() {
        told = told.with_root_cert_path(Some(path.to_owned()));
    }
    if let Some((certificate, key)) = files.client()? {
        let identity = ClientIdentity::new(certificate.to_owned(), key.to_owned());
        told = told.with_client_identity(Some(identity));
    }
    Ok(told)
}

pub(in crate::lease::mysql) fn refusal(error: &mysql::Error) -> Option<String> {
    // It has no `source`.
    let cause: &(dyn Error + 'static) = match error {
        mysql::Error::IoError(error) => error,
        mysql::Error::CodecError(error) => error,
        mysql::Error::TlsError(error) => error,
        _ => return None,
    };
    encryption::refusal(cause)
}
