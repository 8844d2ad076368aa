//! Options of encryption in a store's URL, in the words of PostgreSQL's clients, the same for all
//! stores.

#[cfg(feature = "tls")]
mod tls;

#[cfg(not(feature = "tls"))]
use core::error::Error;
use std::path::{Path, PathBuf};

#[cfg(feature = "tls")]
pub use self::tls::{choose_provider, refusal};
use super::url::Location;
use crate::types::{EngineError, StoreError};

/// Options that name files: the trusted authorities, the client's certificate, and its key.
const FILES: [&str; 3] = ["sslrootcert", "sslcert", "sslkey"];

/// Error of an engine that was built without encryption, where the URL asks for it. Here also if
/// another engine can encrypt.
#[must_use]
pub fn without_tls() -> EngineError {
    EngineError::failed_precondition(
        "this build cannot encrypt connections: build it with the cargo feature `tls`",
    )
}

/// None: without encryption no error is of it.
#[cfg(not(feature = "tls"))]
#[must_use]
pub fn refusal(_: &(dyn Error + 'static)) -> Option<String> {
    None
}

/// The files of certificates that a URL names, by its options.
#[derive(Clone, Debug, Default)]
pub struct Files(Vec<(&'static str, PathBuf)>);

impl Files {
    /// The files for an encrypted connection; none for a plain one. Which it is, the URL's scheme
    /// says for some stores, its `sslmode` for the others.
    ///
    /// # Errors
    ///
    /// [`StoreError::Invalid`] for an `sslmode` that does not verify the server, or files without
    /// encryption.
    pub fn asked_by(location: &Location) -> Result<Option<Self>, StoreError> {
        let is_encrypted = match location.option("sslmode") {
            None | Some("require" | "verify-full" | "disable") => location.is_encrypted(),
            Some(known @ ("allow" | "prefer" | "verify-ca")) => {
                let why = match known {
                    "verify-ca" => "takes a certificate of another host for the server's",
                    _ => "is plain wherever an attacker or a mistake asks for it",
                };
                return Err(location.refused(&format!(
                    "has sslmode={known}, which {why}: write sslmode=verify-full to encrypt, or sslmode=disable for a \
                     plain connection"
                )));
            }
            Some(_) => {
                return Err(location.refused(
                    "has an sslmode that is not known: the allowed ones are verify-full, require and disable",
                ));
            }
        };
        let named = FILES
            .into_iter()
            .filter_map(|name| Some((name, PathBuf::from(location.option(name)?))));
        let files = Self(named.collect());
        match files.0.first() {
            // A user who names certificates believes that the connection is encrypted.
            Some((name, _)) if !is_encrypted => Err(location.refused(&format!(
                "names {name}, and its connection is not encrypted: encrypt it ({})",
                location.scheme.encrypts_by
            ))),
            _ if files.named("sslcert").is_some() != files.named("sslkey").is_some() => {
                Err(StoreError::Invalid(
                    "the lease store's URL names one of sslcert and sslkey: both are needed"
                        .to_owned(),
                ))
            }
            _ => Ok(is_encrypted.then_some(files)),
        }
    }

    fn named(&self, name: &str) -> Option<&Path> {
        let named = self.0.iter().find(|(known, _)| *known == name);
        named.map(|(_, path)| path.as_path())
    }
}
