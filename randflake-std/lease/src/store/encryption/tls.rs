//! Encryption by rustls: trusted certificates, the client's own, and why a connection was refused.

use core::error::Error;
use core::fmt::Display;
use std::io;
use std::path::Path;
use std::sync::Arc;

use rustls::crypto::{CryptoProvider, ring};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::sign::CertifiedKey;
use rustls::{
    AlertDescription, CertificateError, ClientConfig, Error as TlsError, OtherError, RootCertStore,
};

use super::Files;
use crate::types::EngineError;

/// Certificates and key by which the client shows who it is, if the server asks.
pub(super) type TlsIdentity = (Vec<CertificateDer<'static>>, PrivateKeyDer<'static>);

/// The same as PEM: the certificates and the key.
type IdentityPem = (Vec<u8>, Vec<u8>);

impl Files {
    /// Authorities that the server's certificate may come from: those of the URL, or else of the
    /// operating system.
    ///
    /// # Errors
    ///
    /// A file that cannot be read, or holds no certificates.
    pub fn trusted(&self) -> Result<Vec<CertificateDer<'static>>, EngineError> {
        if let Some(named) = self.read_root()? {
            return Ok(named);
        }
        // Certificates of the system that cannot be read are left out: the others count.
        let found = rustls_native_certs::load_native_certs().certs;
        // Else every server would be refused, with an error that blames the server.
        if found.is_empty() {
            return Err(EngineError::failed_precondition(
                "no trusted certificates were found on this machine: install them, or name a file of them \
                 with sslrootcert=FILE",
            ));
        }
        Ok(found)
    }

    /// How a connection is encrypted, by the certificates of now.
    ///
    /// # Errors
    ///
    /// As for [`trusted`](Self::trusted) and [`identity`](Self::identity).
    pub fn client_config(&self) -> Result<ClientConfig, EngineError> {
        let mut roots = RootCertStore::empty();
        // An operating system may trust a certificate that rustls cannot read: the others count.
        roots.add_parsable_certificates(self.trusted()?);
        // A provider by name: the choice for the process is the application's.
        let config = ClientConfig::builder_with_provider(Arc::new(ring::default_provider()))
            .with_safe_default_protocol_versions()
            .map_err(EngineError::unavailable)?
            .with_root_certificates(roots);
        match self.identity()? {
            Some((certificates, key)) => {
                config
                    .with_client_auth_cert(certificates, key)
                    .map_err(|error| {
                        EngineError::failed_precondition(format!("sslcert and sslkey: {error}"))
                    })
            }
            None => Ok(config.with_no_client_auth()),
        }
    }

    fn read_root(&self) -> Result<Option<Vec<CertificateDer<'static>>>, EngineError> {
        self.named("sslrootcert").map(certificates).transpose()
    }

    /// The client's certificates and key.
    ///
    /// # Errors
    ///
    /// A file that cannot be read, or holds no certificate or key.
    pub fn identity(&self) -> Result<Option<TlsIdentity>, EngineError> {
        let Some((certificate, key)) = self.client() else {
            return Ok(None);
        };
        let read = PrivateKeyDer::from_pem_file(key)
            .map_err(|error| failed_precondition(key, "a private key", error))?;
        let certificates = certificates(certificate)?;
        // Before a client does, one of which panics where the two do not fit.
        let provider = ring::default_provider();
        CertifiedKey::from_der(certificates.clone(), read.clone_key(), &provider).map_err(
            |error| EngineError::failed_precondition(format!("sslcert and sslkey: {error}")),
        )?;
        Ok(Some((certificates, read)))
    }

    /// The client's certificates and key, as PEM.
    ///
    /// # Errors
    ///
    /// As for [`identity`](Self::identity).
    pub fn identity_pem(&self) -> Result<Option<IdentityPem>, EngineError> {
        // Parsed first: the client's own error would not name the file.
        self.identity()?;
        let Some((certificate, key)) = self.client() else {
            return Ok(None);
        };
        Ok(Some((content(certificate)?, content(key)?)))
    }

    fn client(&self) -> Option<(&Path, &Path)> {
        // Both or none: `asked_by` has refused one alone.
        self.named("sslcert").zip(self.named("sslkey"))
    }
}

/// Chooses the cryptography of the process if it has not: some clients take it from there, and fail
/// where a program has two to choose from.
pub fn choose_provider() {
    if CryptoProvider::get_default().is_none() {
        // It fails if another thread was faster, and then there is a choice.
        let _chosen_meanwhile = ring::default_provider().install_default();
    }
}

fn certificates(path: &Path) -> Result<Vec<CertificateDer<'static>>, EngineError> {
    let problem = |error: &dyn Display| failed_precondition(path, "certificates", error);
    let read = CertificateDer::pem_file_iter(path)
        .and_then(Iterator::collect::<Result<Vec<_>, _>>)
        .map_err(|error| problem(&error))?;
    // A file of another format has no certificate, which is no error of the reader.
    if read.is_empty() {
        return Err(problem(&"there is none in it"));
    }
    Ok(read)
}

fn content(path: &Path) -> Result<Vec<u8>, EngineError> {
    std::fs::read(path).map_err(EngineError::unavailable)
}

fn failed_precondition(path: &Path, what: &str, why: impl Display) -> EngineError {
    EngineError::failed_precondition(format!(
        "the file {} cannot be used for {what} (PEM): {why}",
        path.display()
    ))
}

/// Sentence on why encryption failed, if an error is of that: trying again cannot help, somebody
/// must change something first.
pub fn refusal(error: &(dyn Error + 'static)) -> Option<String> {
    let error = cause(error)?;
    Some(match error {
        // The second one: an authority that has a new key under its old name.
        TlsError::InvalidCertificate(
            CertificateError::UnknownIssuer | CertificateError::BadSignature,
        ) => "the server's certificate comes from nobody who is trusted here: name a file of its \
             authority's certificate with sslrootcert=FILE"
            .to_owned(),
        // The library has no kinds for these: only their names are told.
        TlsError::InvalidCertificate(CertificateError::Other(OtherError(other))) => {
            match &*other.to_string() {
                "CaUsedAsEndEntity" => {
                    "the server's certificate is an authority's (CA:TRUE), which no \
                     server may use: it needs one with CA:FALSE (openssl req -x509 -addext \
                     basicConstraints=critical,CA:FALSE)"
                        .to_owned()
                }
                "UnsupportedCertVersion" => "the server's certificate is of X.509 version 1: it \
                     needs one of version 3, with a subjectAltName"
                    .to_owned(),
                other => format!("the server's certificate cannot be used: {other}"),
            }
        }
        TlsError::InvalidMessage(_) => "the server does not speak TLS there".to_owned(),
        TlsError::AlertReceived(
            AlertDescription::CertificateRequired
            | AlertDescription::BadCertificate
            | AlertDescription::UnknownCA
            | AlertDescription::HandshakeFailure,
        ) => format!(
            "the server refuses this client ({error}): it may ask for a certificate, \
             sslcert=FILE and sslkey=FILE"
        ),
        _ => error.to_string(),
    })
}

/// The error of TLS in what the crates make of it.
fn cause<'e>(error: &'e (dyn Error + 'static)) -> Option<&'e TlsError> {
    if let Some(found) = error.downcast_ref() {
        return Some(found);
    }
    // These two tell the source of what they hold, and not what they hold.
    if let Some(error) = error.downcast_ref::<io::Error>() {
        return cause(error.get_ref()?);
    }
    if let Some(error) = error.downcast_ref::<Arc<dyn Error + Send + Sync>>() {
        return cause(&**error);
    }
    cause(error.source()?)
}
