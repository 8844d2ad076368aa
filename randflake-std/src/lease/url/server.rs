//! The URL of a server, in parts.

use core::fmt::{self, Debug, Display, Formatter};
use core::net::Ipv6Addr;

use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};
use zeroize::Zeroizing;

use super::rules::{Engine, Place, SCHEMES, Scheme};
use super::text::{decoded, number, refused};
use crate::lease::StoreError;

/// Left as they are where a URL is shown.
const SHOWN: &AsciiSet = &NON_ALPHANUMERIC
    .remove(b'-')
    .remove(b'.')
    .remove(b'_')
    .remove(b'~');
const SHOWN_PATH: &AsciiSet = &SHOWN.remove(b'/');

/// A server, or the members of one cluster. Nothing is percent-encoded in it.
#[derive(Clone)]
pub(crate) struct Server {
    pub(crate) scheme: &'static Scheme,
    pub(crate) address: Address,
    pub(crate) user: Option<String>,
    pub(crate) password: Option<Zeroizing<String>>,
    pub(crate) database: Option<String>,
    options: Vec<(&'static str, String)>,
}

#[derive(Clone)]
pub(crate) enum Address {
    /// At least one.
    Hosts(Vec<Host>),
    Socket(String),
}

/// A host's name or address, the latter without brackets; or, for PostgreSQL, the directory of its socket.
#[derive(Clone)]
pub(crate) struct Host {
    pub(crate) name: String,
    pub(crate) port: u16,
}

impl Server {
    /// What follows `://`.
    pub(super) fn parsed(scheme: &'static Scheme, rest: &str) -> Result<Self, StoreError> {
        let refused = |why: &str| refused(why, scheme.form);
        let end = rest.find(['/', '?', '#']).unwrap_or(rest.len());
        let (authority, rest) = rest.split_at(end);
        // In a password these look like the end of the host, and its rest like a path or an option.
        if rest.contains('@') {
            return Err(refused(
                "has a /, ? or # before an @: write %2F, %3F and %23 in user and password, and %40 for an \
                 @ behind the host",
            ));
        }
        if rest.contains('#') {
            return Err(refused("has a #: write %23"));
        }
        let (user, hosts) = match authority.rsplit_once('@') {
            Some((user, hosts)) => (Some(user), hosts),
            None => (None, authority),
        };
        let (path, query) = rest.split_once('?').unwrap_or((rest, ""));
        let (address, database) = scheme.located(hosts, path)?;
        let (user, password) = match user.map(|user| user.split_once(':').ok_or(user)) {
            Some(Ok((user, password))) => (user, Some(decoded(password, scheme.form)?)),
            Some(Err(user)) => (user, None),
            None => ("", None),
        };
        let mut server = Self {
            scheme,
            address,
            user: some(user, scheme)?,
            password: password.map(Zeroizing::new),
            database,
            options: Vec::new(),
        };
        for option in query.split('&').filter(|_| !query.is_empty()) {
            server.add(option)?;
        }
        let is_login = match scheme.engine {
            Engine::Redis => server.user.is_none() || server.password.is_some(),
            Engine::Etcd => server.user.is_some() == server.password.is_some(),
            Engine::Postgres | Engine::Mysql => true,
        };
        if !is_login {
            return Err(refused(
                "has a user without a password, or a password alone",
            ));
        }
        if let Some(at) = server.options.iter().position(|(name, _)| *name == "db") {
            server.database = Some(server.options.remove(at).1);
        }
        Ok(server)
    }

    fn add(&mut self, option: &str) -> Result<(), StoreError> {
        let refused = |why: String| refused(&why, self.scheme.form);
        let (name, value) = option.split_once('=').unwrap_or((option, ""));
        let allowed = self.scheme.options;
        let Some(&name) = allowed.iter().find(|allowed| **allowed == name) else {
            let is_name = |c: char| c.is_ascii_alphanumeric() || "-_".contains(c);
            let shown = match name {
                "" => "an option without a name".to_owned(),
                _ if name.len() <= 64 && name.chars().all(is_name) => {
                    format!("the option {name:?}")
                }
                _ => "an option that is not known".to_owned(),
            };
            let allowed = allowed.join(", ");
            return Err(refused(format!(
                "has {shown}: the allowed options are {allowed}"
            )));
        };
        if self.option(name).is_some() {
            return Err(refused(format!("has the option {name} twice")));
        }
        self.options.push((name, decoded(value, self.scheme.form)?));
        Ok(())
    }

    /// An option's value.
    pub(crate) fn option(&self, name: &str) -> Option<&str> {
        let found = self.options.iter().find(|(known, _)| *known == name);
        found.map(|(_, value)| value.as_str())
    }
}

impl Scheme {
    pub(super) fn named(name: &str) -> Option<&'static Self> {
        SCHEMES.iter().find(|scheme| scheme.name == name)
    }

    /// Address and database.
    fn located(&self, hosts: &str, path: &str) -> Result<(Address, Option<String>), StoreError> {
        let refused = |why| Err(refused(why, self.form));
        let has_database = self.engine != Engine::Etcd;
        let (port, has_many) = match self.place {
            Place::Socket if hosts.is_empty() && path.len() > 1 => {
                return Ok((Address::Socket(decoded(path, self.form)?), None));
            }
            Place::Socket => return refused("has a host, or no path"),
            Place::Host { port } => (port, false),
            Place::Hosts { port } => (port, true),
        };
        let hosts: Result<Vec<_>, _> = hosts.split(',').map(|host| self.host(host, port)).collect();
        let hosts = hosts?;
        if hosts.len() > 1 && !has_many {
            return refused("has several hosts: this store takes one");
        }
        let database = path.strip_prefix('/').unwrap_or(path);
        if !has_database && !database.is_empty() {
            return refused("has a path: this store takes none");
        }
        if database.contains('/') {
            return refused("has a / in the name of the database: write %2F");
        }
        Ok((Address::Hosts(hosts), some(database, self)?))
    }

    fn host(&self, text: &str, default_port: u16) -> Result<Host, StoreError> {
        let refused = |why| refused(why, self.form);
        let (name, port) = match text.rsplit_once(':') {
            Some((name, port)) if !port.ends_with(']') => {
                let port = number(port).filter(|port| *port > 0);
                let port = port.ok_or_else(|| refused("has a port that is not 1 to 65535"))?;
                (name, port)
            }
            _ => (text, default_port),
        };
        let name = match name.strip_prefix('[').map(|name| name.strip_suffix(']')) {
            Some(address) => {
                let address = address.filter(|address| address.parse::<Ipv6Addr>().is_ok());
                address
                    .ok_or_else(|| refused("has an address in brackets that is not one of IPv6"))?
                    .to_owned()
            }
            None => decoded(name, self.form)?,
        };
        let is_socket = self.engine == Engine::Postgres && name.starts_with('/');
        let is_of_names = |c: char| c.is_ascii_alphanumeric() || "-._".contains(c);
        match name.parse::<Ipv6Addr>() {
            Err(_) if name.is_empty() => Err(refused("has no host")),
            Err(_) if !is_socket && !name.chars().all(is_of_names) => Err(refused(
                "has a host with other characters than a-z, A-Z, 0-9, '-', '.' and '_'; an IPv6 address \
                 stands in brackets",
            )),
            _ => Ok(Host { name, port }),
        }
    }
}

/// Nothing where there is no text.
fn some(text: &str, scheme: &Scheme) -> Result<Option<String>, StoreError> {
    match text {
        "" => Ok(None),
        _ => decoded(text, scheme.form).map(Some),
    }
}

impl Host {
    /// With brackets around an IPv6 address.
    pub(crate) fn bracketed(&self) -> String {
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

/// Hosts and ports, or the socket's path.
impl Display for Address {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match self {
            Self::Hosts(hosts) => {
                let hosts: Vec<_> = hosts.iter().map(ToString::to_string).collect();
                f.write_str(&hosts.join(","))
            }
            Self::Socket(path) => write!(f, "{}", utf8_percent_encode(path, SHOWN_PATH)),
        }
    }
}

/// Without user, password and options.
impl Display for Server {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        write!(f, "{}://{}", self.scheme.name, self.address)?;
        let Some(database) = &self.database else {
            return Ok(());
        };
        let before = match self.address {
            Address::Hosts(_) => "/",
            Address::Socket(_) => "?db=",
        };
        write!(f, "{before}{}", utf8_percent_encode(database, SHOWN))
    }
}

impl Debug for Server {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        Display::fmt(self, f)
    }
}
