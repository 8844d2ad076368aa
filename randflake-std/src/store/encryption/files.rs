//! The files of certificates that a URL names.

use core::fmt::Display;
use std::path::Path;

use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};

use super::Files;
use crate::vocabulary::EngineError;

/// Whom the client says that it is, if the server asks.
pub(in crate::store) type Identity = (Vec<CertificateDer<'static>>, PrivateKeyDer<'static>);

impl Files {
    pub(in crate::store) fn root(&self) -> Option<&Path> {
        self.named("sslrootcert")
    }

    /// The client's certificate and its key.
    pub(in crate::store) fn client(&self) -> Option<(&Path, &Path)> {
        self.named("sslcert").zip(self.named("sslkey"))
    }

    /// The authorities that the server's certificate may come from, if the URL names them.
    pub(in crate::store) fn read_root(
        &self,
    ) -> Result<Option<Vec<CertificateDer<'static>>>, EngineError> {
        self.root().map(certificates).transpose()
    }

    pub(in crate::store) fn read_client(&self) -> Result<Option<Identity>, EngineError> {
        let Some((certificate, key)) = self.client() else {
            return Ok(None);
        };
        let read = PrivateKeyDer::from_pem_file(key);
        let read = read.map_err(|error| unusable(key, "a private key", error))?;
        Ok(Some((certificates(certificate)?, read)))
    }
}

fn certificates(path: &Path) -> Result<Vec<CertificateDer<'static>>, EngineError> {
    let problem = |error: &dyn Display| unusable(path, "certificates", error);
    let read = CertificateDer::pem_file_iter(path).and_then(Iterator::collect::<Result<Vec<_>, _>>);
    let read = read.map_err(|error| problem(&error))?;
    if read.is_empty() {
        return Err(problem(&"there is none in it"));
    }
    Ok(read)
}

fn unusable(path: &Path, what: &str, why: impl Display) -> EngineError {
    EngineError::unusable(format!(
        "the file {} cannot be used for {what} (PEM): {why}",
        path.display()
    ))
}
