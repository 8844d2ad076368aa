//! Stores by URL: parsed here once, for all engines.

mod catalog;
#[cfg(any(
    feature = "redis",
    feature = "etcd",
    feature = "postgres",
    feature = "mysql"
))]
mod engine;
mod longest;
mod open;
mod rules;
mod server;
#[cfg(test)]
mod tests;
mod text;

use core::fmt::{self, Debug, Display, Formatter};
use core::str::FromStr;
use core::time::Duration;

pub use self::catalog::{find, namespaces, stored};
pub use self::open::{open, open_counter};
pub(crate) use self::rules::Engine;
use self::rules::{KNOWN, Scheme};
#[cfg(feature = "redis")]
pub(crate) use self::server::Address;
#[cfg(any(feature = "redis", feature = "postgres"))]
pub(crate) use self::server::Host;
pub(crate) use self::server::Server;
#[cfg(feature = "redis")]
pub(crate) use self::text::number;
use self::text::refused;
use super::engines::NodeIdSource;
use crate::vocabulary::StoreError;

/// A store's URL, parsed, as [`open`] takes it.
///
/// It is shown, by `Debug` too, with scheme, hosts, ports and database or path: never with user, password or
/// options.
///
/// ```
/// use randflake_std::lease::StoreUrl;
///
/// let url: StoreUrl = "postgres://me:pa%2Fss@db.internal/ids?sslmode=verify-full".parse()?;
/// assert_eq!(url.to_string(), "postgres://db.internal:5432/ids");
///
/// let error = "postgres://me:pa/ss@db.internal/ids".parse::<StoreUrl>().unwrap_err();
/// assert!(error.to_string().contains("%2F") && !error.to_string().contains("ss@"));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone)]
pub struct StoreUrl {
    form: Form,
    max_ttl: Option<Duration>,
}

#[derive(Clone)]
enum Form {
    Sqlite { path: String },
    Static { path: String, node: NodeIdSource },
    Server(Server),
}

/// # Errors
///
/// [`StoreError::Invalid`] says what is wrong, which options are allowed, and which form the URL must have. Of
/// the URL it shows an unknown scheme, or the name of an unknown option.
impl FromStr for StoreUrl {
    type Err = StoreError;

    fn from_str(url: &str) -> Result<Self, StoreError> {
        if url.contains(char::is_control) {
            return Err(refused("has control characters", KNOWN));
        }
        let (url, max_ttl) = longest::split(url)?;
        let Some((scheme, rest)) = url.split_once(':') else {
            return Err(refused("has no scheme", KNOWN));
        };
        let path = rest.strip_prefix("//");
        let form = match (scheme, path, Scheme::named(scheme)) {
            ("sqlite", ..) => sqlite(path.unwrap_or(rest)),
            ("static", ..) => assigned(path.unwrap_or(rest)),
            (_, Some(rest), Some(scheme)) => Server::parsed(scheme, rest).map(Form::Server),
            (_, None, Some(scheme)) => Err(refused("has no // behind its scheme", scheme.form)),
            // Without `//` it may be a user's name.
            (_, Some(_), None) if is_scheme(scheme) => Err(StoreError::Invalid(format!(
                "lease stores of scheme {scheme:?} are not known: take {KNOWN}"
            ))),
            _ => Err(refused("has no scheme", KNOWN)),
        };
        form.map(|form| Self { form, max_ttl })
    }
}

fn is_scheme(scheme: &str) -> bool {
    let allowed = |c: char| c.is_ascii_alphanumeric() || "+-.".contains(c);
    !scheme.is_empty() && scheme.chars().all(allowed)
}

/// A path is taken as it is written.
fn sqlite(path: &str) -> Result<Form, StoreError> {
    let refused = |why| Err(refused(why, "sqlite:PATH"));
    match path {
        "" => refused("has no path"),
        ":memory:" => refused("names no file"),
        _ if path.contains('?') => refused("has parameters, and SQLite's takes none but max_ttl"),
        _ => Ok(Form::Sqlite {
            path: path.to_owned(),
        }),
    }
}

fn assigned(rest: &str) -> Result<Form, StoreError> {
    let refused = |why| refused(why, "static:PATH?node=N");
    let (path, options) = rest.split_once('?').unwrap_or((rest, ""));
    if path.is_empty() {
        return Err(refused("has no path"));
    }
    let node = options
        .strip_prefix("node=")
        .ok_or_else(|| refused("has no `node`, or other options"))?;
    Ok(Form::Static {
        path: path.to_owned(),
        node: node.parse()?,
    })
}

impl Display for StoreUrl {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match &self.form {
            Form::Sqlite { path } => write!(f, "sqlite:{path}"),
            Form::Static { path, .. } => write!(f, "static:{path}"),
            Form::Server(server) => Display::fmt(server, f),
        }
    }
}

impl Debug for StoreUrl {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        Display::fmt(self, f)
    }
}
