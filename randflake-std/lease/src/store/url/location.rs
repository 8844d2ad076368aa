//! Parts of a URL: scheme, address, user and options.

use core::fmt::{self, Debug, Display, Formatter};
use core::net::Ipv6Addr;
use std::path::Path;

use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};
use zeroize::Zeroizing;

use super::number;
use super::{AddressKind, MAX_TTL_OPTION, Registration, Scheme};
use crate::types::StoreError;

/// Characters that are percent-encoded where a URL is shown.
const SHOWN: &AsciiSet = &NON_ALPHANUMERIC
    .remove(b'-')
    .remove(b'.')
    .remove(b'_')
    .remove(b'~');
const SHOWN_PATH: &AsciiSet = &SHOWN.remove(b'/');

/// A file, a server, or the members of one cluster. Nothing is percent-encoded in it.
#[derive(Clone)]
pub struct Location {
    engine: &'static Registration,
    /// Scheme of the URL, which says what else it may have.
    pub scheme: &'static Scheme,
    /// File, hosts or socket.
    pub address: Address,
    /// User name.
    pub user: Option<String>,
    /// Password; wiped when dropped.
    pub password: Option<Zeroizing<String>>,
    /// Name of the database, or its number.
    pub database: Option<String>,
    options: Vec<(&'static str, String)>,
}

/// What a URL names behind its scheme.
#[derive(Clone, Debug)]
pub enum Address {
    /// Path of a file.
    File(String),
    /// One or more hosts.
    Hosts(Vec<Host>),
    /// Path of a Unix socket.
    Socket(String),
}

/// A host's name or address, the latter without brackets; or, for PostgreSQL, the directory of its
/// socket.
#[derive(Clone, Debug)]
pub struct Host {
    /// Name or address.
    pub name: String,
    /// TCP port.
    pub port: u16,
}

impl Location {
    /// Parses the part of a URL after `:`.
    ///
    /// # Errors
    ///
    /// [`StoreError::Invalid`] for a part that the scheme does not allow.
    pub fn parsed(
        engine: &'static Registration,
        scheme: &'static Scheme,
        rest: &str,
    ) -> Result<Self, StoreError> {
        let empty = Self {
            engine,
            scheme,
            address: Address::File(String::new()),
            user: None,
            password: None,
            database: None,
            options: Vec::new(),
        };
        // For a file two slashes make no difference; the third of `sqlite:///PATH` begins its path.
        let path = rest.strip_prefix("//");
        let location = match (scheme.place, path) {
            (AddressKind::File, path) => empty.with_path(path.unwrap_or(rest))?,
            (_, Some(rest)) => empty.with_authority(rest)?,
            (_, None) => return Err(scheme.refused("has no // behind its scheme")),
        };
        // Also without the feature of the engine: a URL means the same in every build.
        (engine.check)(&location)?;
        Ok(location)
    }

    /// Takes what stands behind the scheme of a file.
    fn with_path(mut self, rest: &str) -> Result<Self, StoreError> {
        let (path, query) = rest.split_once('?').unwrap_or((rest, ""));
        if path.is_empty() {
            return Err(self.scheme.refused("has no path"));
        }
        // As it is written: a % in the name of a file is a %.
        self.address = Address::File(path.to_owned());
        self.with_options(query)
    }

    /// Takes what stands behind `://` of a server.
    fn with_authority(mut self, rest: &str) -> Result<Self, StoreError> {
        let scheme = self.scheme;
        // The authority ends at the first of these, as in every URL: RFC 3986, section 3.2.
        let end = rest.find(['/', '?', '#']).unwrap_or(rest.len());
        let (authority, rest) = rest.split_at(end);
        // In a password these look like the end of the host, and its rest like a path or an option.
        if rest.contains('@') {
            return Err(scheme.refused(
                "has a /, ? or # before an @: write %2F, %3F and %23 in user and password, and %40 for an \
                 @ behind the host",
            ));
        }
        if rest.contains('#') {
            return Err(scheme.refused("has a #: write %23"));
        }
        // The last one: a password may have others, where people forget to encode them.
        let (login, hosts) = authority.rsplit_once('@').unwrap_or(("", authority));
        // The first colon: others are of the password, where people forget to encode them.
        let (user, password) = match login.split_once(':') {
            Some((user, password)) => (user, Some(scheme.decoded(password)?)),
            None => (login, None),
        };
        let (path, query) = rest.split_once('?').unwrap_or((rest, ""));
        (self.address, self.database) = scheme.located(hosts, path)?;
        // `:PASSWORD@` has an empty user, which is none.
        self.user = scheme.some(user)?;
        self.password = password.map(Zeroizing::new);
        self.with_options(query)
    }

    fn with_options(mut self, query: &str) -> Result<Self, StoreError> {
        for option in query.split('&').filter(|_| !query.is_empty()) {
            self.add(option)?;
        }
        // A socket's path leaves no place for it.
        if let (AddressKind::Socket, Some(database)) = (self.scheme.place, self.option("db")) {
            self.database = Some(database.to_owned());
        }
        Ok(self)
    }

    fn add(&mut self, option: &str) -> Result<(), StoreError> {
        let (scheme, (name, value)) = (self.scheme, option.split_once('=').unwrap_or((option, "")));
        let allowed = scheme.options;
        if name == MAX_TTL_OPTION {
            // Here it would not come to the namespace.
            return Err(StoreError::Invalid(
                "the lease store's URL has max_ttl, which only `lease::open` takes: use Namespace::with_max_ttl".to_owned(),
            ));
        }
        let Some(&name) = allowed.iter().find(|allowed| **allowed == name) else {
            let is_name = |c: char| c.is_ascii_alphanumeric() || "-_".contains(c);
            let shown = match name {
                "" => "an option without a name".to_owned(),
                // Longer or other text may be a password that was put in the wrong place.
                _ if name.len() <= 64 && name.chars().all(is_name) => {
                    format!("the option {name:?}")
                }
                _ => "an option that is not known".to_owned(),
            };
            // That one has been taken out of the URL before, and no scheme lists it.
            let allowed = [allowed, &[MAX_TTL_OPTION]].concat().join(", ");
            return Err(scheme.refused(&format!("has {shown}: the allowed options are {allowed}")));
        };
        // With two of `sslmode` it would be a guess whether the connection is encrypted.
        if self.option(name).is_some() {
            return Err(scheme.refused(&format!("has the option {name} twice")));
        }
        self.options.push((name, scheme.decoded(value)?));
        Ok(())
    }

    /// The engine whose URL it is.
    #[must_use]
    pub const fn engine(&self) -> &'static Registration {
        self.engine
    }

    /// Value of an option of the URL.
    #[must_use]
    pub fn option(&self, name: &str) -> Option<&str> {
        let found = self.options.iter().find(|(known, _)| *known == name);
        found.map(|(_, value)| value.as_str())
    }

    /// Whether its connection is encrypted, and the server's certificate verified.
    #[must_use]
    pub fn is_encrypted(&self) -> bool {
        match self.option("sslmode") {
            None => self.scheme.is_encrypted,
            // Whatever is encrypted is verified too.
            Some(mode) => ["require", "verify-full"].contains(&mode),
        }
    }

    /// The file; the empty path if it leads to none.
    #[must_use]
    pub fn path(&self) -> &Path {
        match &self.address {
            Address::File(path) => path.as_ref(),
            Address::Hosts(_) | Address::Socket(_) => "".as_ref(),
        }
    }

    /// Hosts of the URL; none where it is a file or a socket.
    #[must_use]
    pub fn hosts(&self) -> &[Host] {
        match &self.address {
            Address::Hosts(hosts) => hosts,
            Address::File(_) | Address::Socket(_) => &[],
        }
    }

    /// An error that says what is wrong with the URL, and which form it must have.
    #[must_use]
    pub fn refused(&self, why: &str) -> StoreError {
        self.scheme.refused(why)
    }
}

impl Scheme {
    /// Splits the location into address and database.
    fn located(&self, hosts: &str, path: &str) -> Result<(Address, Option<String>), StoreError> {
        let (port, has_many) = match self.place {
            // `redis+unix:///PATH` has no host between its slashes.
            AddressKind::Socket if hosts.is_empty() && path.len() > 1 => {
                return Ok((Address::Socket(self.decoded(path)?), None));
            }
            AddressKind::Socket | AddressKind::File => {
                return Err(self.refused("has a host, or no path"));
            }
            AddressKind::Host { port } => (port, false),
            AddressKind::Hosts { port } | AddressKind::HostsOrSockets { port } => (port, true),
        };
        // PostgreSQL's own clients and etcd's write several hosts so.
        let hosts: Result<Vec<_>, _> = hosts.split(',').map(|host| self.host(host, port)).collect();
        let hosts = hosts?;
        let database = path.strip_prefix('/').unwrap_or(path);
        let why = if hosts.len() > 1 && !has_many {
            "has several hosts: this store takes one"
        } else if database.contains('/') {
            "has a / in the name of the database: write %2F"
        } else {
            return Ok((Address::Hosts(hosts), self.some(database)?));
        };
        Err(self.refused(why))
    }

    fn host(&self, text: &str, default_port: u16) -> Result<Host, StoreError> {
        if let Some(mistake) = mistake_in_ipv6(text) {
            return Err(self.refused(&mistake));
        }
        let (name, port) = match text.rsplit_once(':') {
            // Of an IPv6 address in brackets, the last colon is a part.
            Some((name, port)) if !port.ends_with(']') => {
                let port = number(port).filter(|port| *port > 0);
                let port = port.ok_or_else(|| self.refused("has a port that is not 1 to 65535"))?;
                (name, port)
            }
            _ => (text, default_port),
        };
        let name = match name.strip_prefix('[').map(|name| name.strip_suffix(']')) {
            Some(Some(address)) if address.parse::<Ipv6Addr>().is_ok() => address.to_owned(),
            Some(_) => {
                return Err(self.refused("has an address in brackets that is not one of IPv6"));
            }
            None => self.decoded(name)?,
        };
        let may_be_socket = matches!(self.place, AddressKind::HostsOrSockets { .. });
        let is_socket = may_be_socket && name.starts_with('/');
        let is_of_names = |c: char| c.is_ascii_alphanumeric() || "-._".contains(c);
        // An address first: it has colons, which a name may not have.
        match name.parse::<Ipv6Addr>() {
            Err(_) if name.is_empty() => Err(self.refused("has no host")),
            Err(_) if !is_socket && !name.chars().all(is_of_names) => Err(self.refused(
                "has a host with other characters than a-z, A-Z, 0-9, '-', '.' and '_'; an IPv6 address \
                 stands in brackets",
            )),
            _ => Ok(Host { name, port }),
        }
    }

    /// Decodes a text; none where it is empty.
    fn some(&self, text: &str) -> Result<Option<String>, StoreError> {
        let text = Some(text).filter(|text| !text.is_empty());
        text.map(|text| self.decoded(text)).transpose()
    }
}

impl Host {
    /// Name of the host, with brackets around an IPv6 address.
    fn bracketed(&self) -> String {
        // Without them the port would look like a part of the address.
        match self.name.parse::<Ipv6Addr>() {
            Ok(_) => format!("[{}]", self.name),
            Err(_) => utf8_percent_encode(&self.name, SHOWN).to_string(),
        }
    }
}

impl Display for Host {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.bracketed(), self.port)
    }
}

/// The path of a file or a socket, or hosts and ports.
impl Display for Address {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match self {
            Self::File(path) => f.write_str(path),
            Self::Hosts(hosts) => {
                let hosts: Vec<_> = hosts.iter().map(ToString::to_string).collect();
                f.write_str(&hosts.join(","))
            }
            Self::Socket(path) => write!(f, "{}", utf8_percent_encode(path, SHOWN_PATH)),
        }
    }
}

/// Without user, password and options.
impl Display for Location {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let (name, address) = (self.scheme.name, &self.address);
        let before = match address {
            Address::File(_) => return write!(f, "{name}:{address}"),
            Address::Hosts(_) => "/",
            Address::Socket(_) => "?db=",
        };
        write!(f, "{name}://{address}")?;
        let Some(database) = &self.database else {
            return Ok(());
        };
        write!(f, "{before}{}", utf8_percent_encode(database, SHOWN))
    }
}

impl Debug for Location {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        Display::fmt(self, f)
    }
}

/// What is wrong with a `HOST` or `HOST:PORT` whose host is an IPv6 address: no brackets, or a zone
/// id. `None` if nothing is.
///
/// Nothing of a text that is no such address is shown: it may be a password in the wrong place.
#[must_use]
pub fn mistake_in_ipv6(text: &str) -> Option<String> {
    let is_bracketed = text.starts_with('[');
    let inner = text.strip_prefix('[').unwrap_or(text);
    // The zone stands behind the address: `fe80::1%eth0`, in a URL `fe80::1%25eth0`.
    if let Some((address, _)) = inner.split_once('%')
        && address.parse::<Ipv6Addr>().is_ok()
    {
        return Some(format!(
            "has a zone id behind the IPv6 address {address}: zone ids are not allowed, since each machine has its \
             own; take another address, or a name"
        ));
    }
    if is_bracketed {
        return None;
    }
    if let Ok(address) = text.parse::<Ipv6Addr>() {
        return Some(format!(
            "has an IPv6 address without brackets: write [{address}]{}",
            as_port(text)
        ));
    }
    // An address of all eight groups, and a port behind it.
    let (address, port) = text.rsplit_once(':')?;
    let address: Ipv6Addr = address.parse().ok()?;
    let port: u16 = port.parse().ok()?;
    Some(format!(
        "has an IPv6 address without brackets: write [{address}]:{port}"
    ))
}

/// The other meaning of an address whose last group may be a port.
fn as_port(text: &str) -> String {
    let other = text.rsplit_once(':').and_then(|(address, port)| {
        let address: Ipv6Addr = address.parse().ok()?;
        Some((address, port.parse::<u16>().ok()?))
    });
    other.map_or_else(String::new, |(address, port)| {
        format!(", or [{address}]:{port} if {port} is the port")
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn address_without_brackets_is_named_by_its_meanings() {
        for (text, form) in [
            (
                "2001:db8::10:20",
                "write [2001:db8::10:20], or [2001:db8::10]:20 if 20 is the port",
            ),
            ("::1", "write [::1]"),
            (
                "::1:6380",
                "write [::1:6380], or [::1]:6380 if 6380 is the port",
            ),
            ("2001:db8::beef", "write [2001:db8::beef]"),
            ("1:2:3:4:5:6:7:8:6379", "write [1:2:3:4:5:6:7:8]:6379"),
            ("::ffff:10.0.0.1", "write [::ffff:10.0.0.1]"),
            ("::ffff:10.0.0.1:6379", "write [::ffff:10.0.0.1]:6379"),
        ] {
            let mistake = mistake_in_ipv6(text).unwrap_or_default();
            assert!(mistake.ends_with(form), "{text}: {mistake}");
        }
    }

    #[test]
    fn a_zone_id_is_named() {
        for text in [
            "fe80::1%eth0",
            "fe80::1%25eth0:6379",
            "[fe80::1%eth0]:6379",
            "[fe80::1%25eth0]",
            "[fe80::1%1",
        ] {
            let mistake = mistake_in_ipv6(text).unwrap_or_default();
            assert!(
                mistake.contains("zone id") && mistake.contains("fe80::1:"),
                "{text}: {mistake}"
            );
        }
    }

    #[test]
    fn names_and_right_addresses_are_left_alone() {
        for text in [
            "",
            ":",
            "host",
            "host:1",
            "10.0.0.1:5",
            "[::1]",
            "[::1]:6379",
            "ids:hunter2",
            "a:b:c",
            "::hunter2",
            "%2Frun%2Fpg:5432",
        ] {
            assert_eq!(mistake_in_ipv6(text), None, "{text}");
        }
    }
}
