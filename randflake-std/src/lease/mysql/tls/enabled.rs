//! TLS by rustls.

use mysql::{Opts, SslOpts};
use rustls::crypto::{CryptoProvider, ring};

use crate::lease::StoreError;

/// As the URL's parameters say, if there are any.
pub(in crate::lease::mysql) fn options(options: &Opts) -> Result<SslOpts, StoreError> {
    // The crate takes the process's provider, and cannot choose where a program has two.
    if CryptoProvider::get_default().is_none() {
        let _somebody_was_first = ring::default_provider().install_default();
    }
    let told = options.get_ssl_opts().cloned().unwrap_or_default();
    match told.root_cert_path() {
        Some(path) if !path.is_file() => Err(StoreError::Unusable(format!(
            "the file of certificates, {}, is not there",
            path.display()
        ))),
        _ => Ok(told),
    }
}
