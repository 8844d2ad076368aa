//! URLs of stores: the engine's scheme, and what stands behind it. Parsed here once, for all
//! engines.

mod location;

use core::str::FromStr;
use std::borrow::Cow;

use percent_encoding::percent_decode_str;

pub use self::location::{Address, Host, Location, mistake_in_ipv6};
use crate::store::{Engine, LeaseStore};
use crate::types::{Namespace, StoreError};

/// The option of every URL that sets the longest TTL of a namespace. It is taken out of a URL
/// before an engine sees it.
pub const MAX_TTL_OPTION: &str = "max_ttl";

/// An engine that URLs lead to.
#[derive(Debug)]
pub struct Registration {
    /// Name of the engine in messages.
    pub name: &'static str,
    /// Schemes of its URLs; the first one is the usual one.
    pub schemes: &'static [Scheme],
    /// Whether it has room for counters.
    pub has_counters: bool,
    /// Refuses a URL that it cannot take although its scheme allows all parts of it.
    pub check: fn(&Location) -> Result<(), StoreError>,
    /// Opens the store of a namespace, and makes what is missing.
    pub open: fn(&Location, &Namespace) -> Result<LeaseStore, StoreError>,
    /// Makes the engine alone, which asks and makes nothing yet; `None` if its file is not there.
    pub open_existing: fn(&Location, &Namespace) -> ExistingEngine,
}

/// An engine for a look at what is there; `None` if its file is not there.
pub type ExistingEngine = Result<Option<Box<dyn Engine>>, StoreError>;

impl Registration {
    /// Parses a URL, which must have a scheme of this engine.
    ///
    /// # Errors
    ///
    /// [`StoreError::Invalid`] says what is wrong, and which form the URL must have. It shows no
    /// password.
    pub fn location(&'static self, url: &str) -> Result<Location, StoreError> {
        // Errors and logs show hosts and paths: a line break would look like another entry there.
        if url.contains(char::is_control) {
            return Err(refused("has control characters", self.schemes[0].form));
        }
        let Some((name, rest)) = url.split_once(':') else {
            return Err(refused("has no scheme", self.schemes[0].form));
        };
        match self.scheme(name) {
            Some(scheme) => Location::parsed(self, scheme, rest),
            None => Err(self.refused_other()),
        }
    }

    /// Refuses the location of another engine.
    ///
    /// # Errors
    ///
    /// [`StoreError::Invalid`].
    pub fn expect(&self, location: &Location) -> Result<(), StoreError> {
        if location.engine().name == self.name {
            Ok(())
        } else {
            Err(self.refused_other())
        }
    }

    /// The scheme of a name.
    #[must_use]
    pub fn scheme(&self, name: &str) -> Option<&'static Scheme> {
        self.schemes.iter().find(|scheme| scheme.name == name)
    }

    fn refused_other(&self) -> StoreError {
        refused("is for another store", self.schemes[0].form)
    }
}

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

/// Kind of the [`Address`](self::Address) behind a scheme.
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
        refused(why, self.form)
    }
}

/// What is wrong with a URL, and which form it must have.
#[must_use]
pub fn refused(why: &str, form: &str) -> StoreError {
    StoreError::Invalid(format!("the lease store's URL {why}: take {form}"))
}

/// Parses a number of digits alone, without a sign.
#[must_use]
pub fn number<N: FromStr>(text: &str) -> Option<N> {
    // `parse` alone would take a plus sign.
    let is_plain = text.bytes().all(|byte| byte.is_ascii_digit());
    is_plain.then(|| text.parse().ok()).flatten()
}

impl Scheme {
    /// Replaces each `%XX` by its byte.
    ///
    /// # Errors
    ///
    /// [`StoreError::Invalid`] for a `%` without two digits behind it, or bytes that are not UTF-8.
    pub fn decoded(&self, text: &str) -> Result<String, StoreError> {
        let is_encoded = |rest: &str| {
            let digits = rest.as_bytes().get(..2);
            digits.is_some_and(|digits| digits.iter().all(u8::is_ascii_hexdigit))
        };
        // Left alone, such a % would be kept as it is, and a mistake would pass as a part of a
        // password.
        if !text.split('%').skip(1).all(is_encoded) {
            let why = "has a % without two hexadecimal digits behind it: write %25";
            return Err(self.refused(why));
        }
        match percent_decode_str(text).decode_utf8() {
            Err(_) => Err(self.refused("is not in UTF-8 where its %XX are decoded")),
            // Once more: `%0A` hides one from the look at the URL.
            Ok(text) if text.contains(char::is_control) => {
                Err(self.refused("has control characters"))
            }
            Ok(text) => Ok(text.into_owned()),
        }
    }
}

/// Quotes a text for a shell, unless it has only characters that no shell takes for its own.
#[must_use]
pub fn quoted(text: &str) -> Cow<'_, str> {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "-_./:@%+,=".contains(c);
    if !text.is_empty() && text.chars().all(is_plain) {
        return text.into();
    }
    // Within single quotes nothing has a meaning but the quote itself.
    format!("'{}'", text.replace('\'', r"'\''")).into()
}

#[cfg(test)]
mod tests {
    use super::quoted;

    #[test]
    fn a_shell_takes_a_quoted_text_as_it_is() {
        for (text, expected) in [
            ("sqlite:/srv/ids/leases.db", "sqlite:/srv/ids/leases.db"),
            (
                "sqlite:/srv/my ids/leases.db",
                "'sqlite:/srv/my ids/leases.db'",
            ),
            (
                "postgres://h/d?owner=a&sslmode=x",
                "'postgres://h/d?owner=a&sslmode=x'",
            ),
            ("it's", r"'it'\''s'"),
            ("$(reboot)", "'$(reboot)'"),
            ("~/ids", "'~/ids'"),
            ("", "''"),
        ] {
            assert_eq!(quoted(text), expected);
        }
    }
}
