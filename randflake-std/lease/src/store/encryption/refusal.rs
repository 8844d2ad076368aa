//! Reasons why an encrypted connection was not made.

use core::error::Error;
use std::io;
use std::sync::Arc;

use rustls::{AlertDescription, CertificateError, Error as TlsError, OtherError};

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
