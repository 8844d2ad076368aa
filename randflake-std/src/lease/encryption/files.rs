//! The files of certificates that a URL names.

use core::fmt::Display;
use std::path::Path;

use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};

use super::{Files, StoreError};

/// Whom the client says that it is, if the server asks.
pub(in crate::lease) type Identity = (Vec<CertificateDer<'static>>, PrivateKeyDer<'static>);

impl Files {
    pub(in crate::lease) fn root(&self) -> Option<&Path> {
        self.named("sslrootcert")
    }

    /// The client's certificate and its key.
    pub(in crate::lease) fn client(&self) -> Result<Option<(&Path, &Path)>, StoreError> {
        match (self.named("sslcert"), self.named("sslkey")) {
            (Some(certificate), Some(key)) => Ok(Some((certificate, key))),
            (None, None) => Ok(None),
            _ => Err(StoreError::Invalid(
                "the lease store's URL names one of sslcert and sslkey: both are needed".to_owned(),
            )),
        }
    }

    /// The authorities that the server's certificate may come from, if the URL names them.
    pub(in crate::lease) fn read_root(
        &self,
    ) -> Result<Option<Vec<CertificateDer<'static>>>, StoreError> {
        self.root().map(certificates).transpose()
    }

    pub(in crate::lease) fn read_client(&self) -> Result<Option<Identity>, StoreError> {
        let Some((certificate, key)) = self.client()? else {
            return Ok(None);
        };
        let read = PrivateKeyDer::from_pem_file(key);
        let read = read.map_err(|error| unusable(key, "a private key", error))?;
        Ok(Some((certificates(certificate)?, read)))
    }

    fn named(&self, name: &str) -> Option<&Path> {
        let named = self.0.iter().find(|(known, _)| *known == name);
        named.map(|(_, path)| path.as_path())
    }
}

fn certificates(path: &Path) -> Result<Vec<CertificateDer<'static>>, StoreError> {
    let problem = |error: &dyn Display| unusable(path, "certificates", error);
    let read = CertificateDer::pem_file_iter(path).and_then(Iterator::collect::<Result<Vec<_>, _>>);
    let read = read.map_err(|error| problem(&error))?;
    if read.is_empty() {
        return Err(problem(&"there is none in it"));
    }
    Ok(read)
}

fn unusable(path: &Path, what: &str, why: impl Display) -> StoreError {
    StoreError::unusable(format!(
        "the file {} cannot be used for {what} (PEM): {why}",
        path.display()
    ))
}
