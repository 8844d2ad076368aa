//! What the URL of an engine may have.

use crate::vocabulary::StoreError;

/// A scheme, and what is allowed behind it.
#[derive(Debug, PartialEq, Eq)]
pub(in crate::store) struct Scheme {
    pub(in crate::store) name: &'static str,
    /// Whether connections are encrypted without `sslmode`.
    pub(in crate::store) is_encrypted: bool,
    /// How to get an encrypted connection.
    pub(in crate::store) encrypts_by: &'static str,
    pub(in crate::store) place: AddressKind,
    /// Every other option is refused: clients have some that switch verification off.
    pub(in crate::store) options: &'static [&'static str],
    /// The URL as an error shows it.
    pub(in crate::store) form: &'static str,
}

/// What a URL names behind its scheme.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::store) enum AddressKind {
    /// A file. Its path is taken as it is written, and `//` before it makes no difference.
    File,
    /// A host, with the port that it has unless the URL names one.
    Host { port: u16 },
    /// One or more hosts.
    Hosts { port: u16 },
    /// The same, each of which may be the directory of a Unix socket, `%2F...`.
    HostsOrSockets { port: u16 },
    /// The path of a Unix socket.
    Socket,
}

/// Options for the files of certificates, where the scheme says whether connections are encrypted.
pub(in crate::store) const CERTIFICATES: &[&str] = &["sslrootcert", "sslcert", "sslkey"];

/// An encrypted connection, where an option says so.
pub(in crate::store) const ENCRYPTS_BY_MODE: &str = "sslmode=verify-full";

impl Scheme {
    /// One that names a file.
    pub(in crate::store) const fn of_file(
        name: &'static str,
        options: &'static [&'static str],
        form: &'static str,
    ) -> Self {
        Self {
            name,
            is_encrypted: false,
            encrypts_by: "",
            place: AddressKind::File,
            options,
            form,
        }
    }

    /// An error that says what is wrong with the URL, and which form it must have.
    pub(in crate::store) fn refused(&self, why: &str) -> StoreError {
        super::text::refused(why, self.form)
    }
}
