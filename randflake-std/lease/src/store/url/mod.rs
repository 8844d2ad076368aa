//! Stores by URL: parsed here once, for all engines.

mod catalog;
mod confined;
mod ipv6;
mod location;
mod longest;
mod open;
mod scheme;
#[cfg(test)]
mod tests;
mod text;

use core::fmt::{self, Debug, Display, Formatter};
use core::str::FromStr;
use core::time::Duration;

pub use self::catalog::{find, namespaces, stored};
pub use self::ipv6::mistake_in_ipv6;
#[cfg(feature = "redis")]
pub(super) use self::location::Address;
#[cfg(any(
    feature = "redis",
    feature = "etcd",
    feature = "postgres",
    feature = "mysql"
))]
pub(super) use self::location::Host;
pub(super) use self::location::Location;
pub use self::open::{open, open_counter};
pub(super) use self::scheme::{AddressKind, CERTIFICATES, ENCRYPTS_BY_MODE, Scheme};
#[cfg(feature = "redis")]
pub(super) use self::text::number;
use self::text::refused;
use super::engines;
use crate::vocabulary::StoreError;

/// A store's URL, parsed, as [`open`] takes it.
///
/// It is shown, by `Debug` too, with scheme, hosts, ports and database or path: never with user, password or
/// options.
///
/// ```
/// use randflake_lease::StoreUrl;
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
    location: Location,
    max_ttl: Option<Duration>,
}

/// # Errors
///
/// [`StoreError::Invalid`] says what is wrong, which options are allowed, and which form the URL must have. Of
/// the URL it shows an unknown scheme, or the name of an unknown option.
impl FromStr for StoreUrl {
    type Err = StoreError;

    fn from_str(url: &str) -> Result<Self, StoreError> {
        // Errors and logs show hosts and paths: a line break would look like another entry there.
        if url.contains(char::is_control) {
            return Err(refused("has control characters", &engines::forms()));
        }
        let (url, max_ttl) = longest::split(url)?;
        let Some((name, rest)) = url.split_once(':') else {
            return Err(refused("has no scheme", &engines::forms()));
        };
        let Some((engine, scheme)) = engines::of_scheme(name) else {
            // Without `//` it may be a user's name.
            if !is_scheme(name) || !rest.starts_with("//") {
                return Err(refused("has no scheme", &engines::forms()));
            }
            return Err(StoreError::Invalid(format!(
                "lease stores of scheme {name:?} are not known: take {}",
                engines::forms()
            )));
        };
        let location = Location::parsed(engine, scheme, rest)?;
        Ok(Self { location, max_ttl })
    }
}

#[cfg(any(
    feature = "redis",
    feature = "etcd",
    feature = "postgres",
    feature = "mysql"
))]
impl StoreUrl {
    /// Where a URL leads, which must be a store of this engine.
    pub(super) fn location_for(
        url: &str,
        engine: &'static engines::Registration,
    ) -> Result<Location, StoreError> {
        url.parse::<Self>()?.into_location(engine)
    }

    /// Where it leads, which must be a store of this engine.
    pub(super) fn into_location(
        self,
        engine: &'static engines::Registration,
    ) -> Result<Location, StoreError> {
        let Self { location, max_ttl } = self;
        if max_ttl.is_some() {
            // Here it would not come to the namespace.
            return Err(StoreError::Invalid(
                "the lease store's URL has max_ttl, which only `lease::open` takes: use Namespace::with_max_ttl".to_owned(),
            ));
        }
        if location.engine.name != engine.name {
            return Err(refused("is for another store", engine.schemes[0].form));
        }
        Ok(location)
    }
}

fn is_scheme(scheme: &str) -> bool {
    // The characters of RFC 3986, section 3.1.
    let allowed = |c: char| c.is_ascii_alphanumeric() || "+-.".contains(c);
    !scheme.is_empty() && scheme.chars().all(allowed)
}

impl Display for StoreUrl {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        Display::fmt(&self.location, f)
    }
}

impl Debug for StoreUrl {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        Display::fmt(self, f)
    }
}
