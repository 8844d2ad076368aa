//! Whose certificates are trusted.

use rustls::pki_types::CertificateDer;

use super::Files;
use crate::vocabulary::EngineError;

impl Files {
    /// Those of the URL, or else those that the operating system trusts.
    pub(in crate::store) fn trusted(&self) -> Result<Vec<CertificateDer<'static>>, EngineError> {
        if let Some(named) = self.read_root()? {
            return Ok(named);
        }
        let found = rustls_native_certs::load_native_certs().certs;
        if found.is_empty() {
            return Err(EngineError::unusable(
                "no trusted certificates were found on this machine: install them, or name a file of them \
                 with sslrootcert=FILE",
            ));
        }
        Ok(found)
    }
}
