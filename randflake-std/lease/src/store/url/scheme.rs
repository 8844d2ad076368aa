//! Schemes of URLs, and what is allowed behind them.

use crate::types::StoreError;

/// A scheme, and what is allowed behind it.
#[derive(Debug, PartialEq, Eq)]
pub struct Scheme {
    /// Scheme, before the colon.
    pub name: &'static str,
    /// Whether connections are encrypted without `sslmode`.
    pub is_encrypted: bool,
    /// How to get an encrypted connection.
    pub encrypts_by: &'static str,
    /// What the URL names.
    pub place: AddressKind,
    /// Every other option is refused: clients have some that switch verification off.
    pub options: &'static [&'static str],
    /// The URL as an error shows it.
    pub form: &'static str,
}

/// Kind of the [`Address`](super::Address) behind a scheme.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AddressKind {
    /// A file. Its path is taken as it is written, and `//` before it makes no difference.
    File,
    /// A host, with the port that it has unless the URL names one.
    Host {
        /// Port of a host without one.
        port: u16,
    },
    /// One or more hosts.
    Hosts {
        /// Port of a host without one.
        port: u16,
    },
    /// The same, each of which may be the directory of a Unix socket, `%2F...`.
    HostsOrSockets {
        /// Port of a host without one.
        port: u16,
    },
    /// The path of a Unix socket.
    Socket,
}

/// Options for the files of certificates, where the scheme says whether connections are encrypted.
pub const CERTIFICATES: &[&str] = &["sslrootcert", "sslcert", "sslkey"];

/// An encrypted connection, where an option says so.
pub const ENCRYPTS_BY_MODE: &str = "sslmode=verify-full";

impl Scheme {
    /// One that names a file.
    #[must_use]
    pub const fn of_file(
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
    #[must_use]
    pub fn refused(&self, why: &str) -> StoreError {
        super::text::refused(why, self.form)
    }
}
